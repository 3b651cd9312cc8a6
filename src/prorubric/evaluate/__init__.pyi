# The public names, each once; `prorubric/evaluate/__init__.py` imports them on first use.
from .statistics import paired_difference as paired_difference
