"""ProRubric: rubric rewards that a policy cannot buy.

`__init__.pyi` lists the public names. Each is imported on first use, so `import prorubric` costs nothing.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
