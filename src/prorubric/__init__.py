"""ProRubric: rubric rewards that a policy cannot buy.

Names are imported when first used, so that `import prorubric` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prorubric.aggregate.advantages import Advantages, group_advantages
    from prorubric.aggregate.arithmetic import overlong_penalty
    from prorubric.aggregate.batch import BatchScore, PlanTable, score_batch
    from prorubric.aggregate.plan import Plan, make_plan
    from prorubric.aggregate.prices import Prices, measure_compliance, price_criteria
    from prorubric.aggregate.schemes import SCHEMES, Scheme, find_scheme
    from prorubric.aggregate.score import Score, score, score_plan
    from prorubric.datasets.convert import ConvertConfig, ConvertResult, convert_tasks
    from prorubric.datasets.lint_file import LintConfig, LintResult, lint_tasks
    from prorubric.datasets.load import Reject, Stream, load_responses, load_tasks
    from prorubric.datasets.samples import SAMPLE_TASKS, SampleAnswer, load_samples
    from prorubric.errors import (
        ConfigError,
        MissingExtraError,
        ProRubricError,
        RowError,
        RubricError,
        SchemeError,
        SourceError,
    )
    from prorubric.report.demo import DemoConfig, DemoResult, run_demo
    from prorubric.rubric.lint import Finding, TaskLint, lint_task
    from prorubric.rubric.records import (
        Criterion,
        Dimension,
        Message,
        ProtocolRubric,
        Response,
        Rubric,
        Task,
    )
    from prorubric.rubric.save import save_responses, save_tasks
    from prorubric.rubric.verdict import Unknown, Verdict

_HOMES = {
    "aggregate.advantages": ("Advantages", "group_advantages"),
    "aggregate.arithmetic": ("overlong_penalty",),
    "aggregate.batch": ("BatchScore", "PlanTable", "score_batch"),
    "aggregate.plan": ("Plan", "make_plan"),
    "aggregate.prices": ("Prices", "measure_compliance", "price_criteria"),
    "aggregate.schemes": ("SCHEMES", "Scheme", "find_scheme"),
    "aggregate.score": ("Score", "score", "score_plan"),
    "datasets.convert": ("ConvertConfig", "ConvertResult", "convert_tasks"),
    "datasets.lint_file": ("LintConfig", "LintResult", "lint_tasks"),
    "datasets.load": ("Reject", "Stream", "load_responses", "load_tasks"),
    "datasets.samples": ("SAMPLE_TASKS", "SampleAnswer", "load_samples"),
    "errors": (
        "ConfigError",
        "MissingExtraError",
        "ProRubricError",
        "RowError",
        "RubricError",
        "SchemeError",
        "SourceError",
    ),
    "report.demo": ("DemoConfig", "DemoResult", "run_demo"),
    "rubric.lint": ("Finding", "TaskLint", "lint_task"),
    "rubric.records": ("Criterion", "Dimension", "Message", "ProtocolRubric", "Response", "Rubric", "Task"),
    "rubric.save": ("save_responses", "save_tasks"),
    "rubric.verdict": ("Unknown", "Verdict"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)  # noqa: PLE0605 - computed from the table above
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'prorubric' has no attribute {name!r}")
    return getattr(import_module(f"prorubric.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
