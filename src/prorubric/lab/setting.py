"""How many cases there are and from which seeds: for training, which needs torch, and reading, which does not."""

TRAINING_CASES, HELD_OUT_CASES = 4096, 1000
KEPT_ANSWERS = 64
"""How many held-out cases a run keeps its answers to."""
TRAINING_SEED, HELD_OUT_SEED, DEMO_SEED = 0, 1, 2
