"""A taskset for verifiers with a rubric in every row; run it from this folder with `vf-eval @ eval.toml`."""

from prorubric.train.verifiers import RubricTaskset

__all__ = ["RubricTaskset"]
