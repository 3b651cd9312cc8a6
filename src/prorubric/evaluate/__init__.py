"""Scores of benchmarks, paired statistics, and what happened in trainings; pure functions, no calls to models.

`__init__.pyi` lists the public names. Each is imported on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
