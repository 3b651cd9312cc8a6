# The public names, each once; `prorubric/evaluate/__init__.py` imports them on first use.
from .scores import arena_score as arena_score
from .scores import balanced_f1 as balanced_f1
from .scores import choice_accuracy as choice_accuracy
from .scores import creative_score as creative_score
from .scores import healthbench_score as healthbench_score
from .statistics import paired_difference as paired_difference
