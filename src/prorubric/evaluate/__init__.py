"""How benchmarks are judged, their scores, paired statistics, and what happened in trainings.

Only `instruments.py` calls models, through the judge that it is given; everything else is plain arithmetic.

`__init__.pyi` lists the public names. Each is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
