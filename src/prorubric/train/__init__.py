"""Thin adapters: the one reward object inside each trainer. Each needs its trainer only when it is used.

`__init__.pyi` lists what is imported from here, on first use.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
