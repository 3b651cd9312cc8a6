# Each name once; `prorubric/train/__init__.py` imports them on first use.
from .plan import plan_training as plan_training
from .scaffold import scaffold_counts as scaffold_counts
from .self_distillation import self_distillation_loss as self_distillation_loss
