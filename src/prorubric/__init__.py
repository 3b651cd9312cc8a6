"""ProRubric: rubric rewards that a policy cannot buy.

Names are imported when first used, so that `import prorubric` costs nothing. `from prorubric import *` gives what works
without an optional part; a name that needs one is imported by name.
"""

from importlib import import_module

TYPE_CHECKING = False  # type checkers take it for true; `typing` takes longer to load than all the rest of this
if TYPE_CHECKING:
    from prorubric.aggregate.advantages import Advantages as Advantages
    from prorubric.aggregate.advantages import group_advantages as group_advantages
    from prorubric.aggregate.arithmetic import overlong_penalty as overlong_penalty
    from prorubric.aggregate.batch import BatchScore as BatchScore
    from prorubric.aggregate.batch import PlanTable as PlanTable
    from prorubric.aggregate.batch import score_batch as score_batch
    from prorubric.aggregate.plan import Plan as Plan
    from prorubric.aggregate.plan import make_plan as make_plan
    from prorubric.aggregate.prices import Prices as Prices
    from prorubric.aggregate.prices import measure_compliance as measure_compliance
    from prorubric.aggregate.prices import price_criteria as price_criteria
    from prorubric.aggregate.schemes import SCHEMES as SCHEMES
    from prorubric.aggregate.schemes import Scheme as Scheme
    from prorubric.aggregate.schemes import find_scheme as find_scheme
    from prorubric.aggregate.score import Score as Score
    from prorubric.aggregate.score import score as score
    from prorubric.aggregate.score import score_plan as score_plan
    from prorubric.audit.config import AuditConfig as AuditConfig
    from prorubric.audit.records import AuditResult as AuditResult
    from prorubric.compile.compare import CompareConfig as CompareConfig
    from prorubric.compile.compare import CompareResult as CompareResult
    from prorubric.compile.compare import compare_tasks as compare_tasks
    from prorubric.compile.compiler import Compiled as Compiled
    from prorubric.compile.compiler import Compiler as Compiler
    from prorubric.compile.compiler import GeneratorConfig as GeneratorConfig
    from prorubric.datasets.export import export_tasks as export_tasks
    from prorubric.datasets.load import Reject as Reject
    from prorubric.datasets.load import Stream as Stream
    from prorubric.datasets.load import load_responses as load_responses
    from prorubric.datasets.load import load_tasks as load_tasks
    from prorubric.datasets.samples import SAMPLE_TASKS as SAMPLE_TASKS
    from prorubric.datasets.samples import SampleAnswer as SampleAnswer
    from prorubric.datasets.samples import load_samples as load_samples
    from prorubric.errors import BreakerError as BreakerError
    from prorubric.errors import ConfigError as ConfigError
    from prorubric.errors import MissingExtraError as MissingExtraError
    from prorubric.errors import ModelError as ModelError
    from prorubric.errors import ProRubricError as ProRubricError
    from prorubric.errors import RowError as RowError
    from prorubric.errors import RubricError as RubricError
    from prorubric.errors import SchemeError as SchemeError
    from prorubric.errors import SourceError as SourceError
    from prorubric.judge.judge import Judge as Judge
    from prorubric.judge.judge import JudgeConfig as JudgeConfig
    from prorubric.judge.judge import Judgement as Judgement
    from prorubric.lab.engine import LabConfig as LabConfig
    from prorubric.lab.summary import LabResult as LabResult
    from prorubric.llm.http import HttpConfig as HttpConfig
    from prorubric.llm.make import make_model as make_model
    from prorubric.llm.scripted import ScriptedModel as ScriptedModel
    from prorubric.reward.monitor import Monitor as Monitor
    from prorubric.reward.monitor import MonitorConfig as MonitorConfig
    from prorubric.reward.reward import Case as Case
    from prorubric.reward.reward import Overlong as Overlong
    from prorubric.reward.reward import Reward as Reward
    from prorubric.reward.reward import RewardConfig as RewardConfig
    from prorubric.reward.reward import RewardParts as RewardParts
    from prorubric.reward.reward import RubricReward as RubricReward
    from prorubric.reward.reward import make_reward as make_reward
    from prorubric.reward.server.config import ServeConfig as ServeConfig
    from prorubric.reward.server.config import Serving as Serving
    from prorubric.reward.server.run import serve_rewards as serve_rewards
    from prorubric.rubric.lint import Finding as Finding
    from prorubric.rubric.lint import TaskLint as TaskLint
    from prorubric.rubric.lint import lint_task as lint_task
    from prorubric.rubric.records import Criterion as Criterion
    from prorubric.rubric.records import Dimension as Dimension
    from prorubric.rubric.records import Message as Message
    from prorubric.rubric.records import ProtocolRubric as ProtocolRubric
    from prorubric.rubric.records import Response as Response
    from prorubric.rubric.records import Rubric as Rubric
    from prorubric.rubric.records import Task as Task
    from prorubric.rubric.save import save_responses as save_responses
    from prorubric.rubric.save import save_tasks as save_tasks
    from prorubric.rubric.verdict import Unknown as Unknown
    from prorubric.rubric.verdict import Verdict as Verdict
    from prorubric.verbs.audit import audit_rewards as audit_rewards
    from prorubric.verbs.audit_estimate import AuditEstimate as AuditEstimate
    from prorubric.verbs.audit_estimate import estimate_audit as estimate_audit
    from prorubric.verbs.calibrate import CalibrateConfig as CalibrateConfig
    from prorubric.verbs.calibrate import CalibrateResult as CalibrateResult
    from prorubric.verbs.calibrate import calibrate_judge as calibrate_judge
    from prorubric.verbs.compile import CompileResult as CompileResult
    from prorubric.verbs.compile import compile_rubrics as compile_rubrics
    from prorubric.verbs.compile_config import CompileConfig as CompileConfig
    from prorubric.verbs.compile_estimate import CompileEstimate as CompileEstimate
    from prorubric.verbs.compile_estimate import estimate_compile as estimate_compile
    from prorubric.verbs.convert import ConvertConfig as ConvertConfig
    from prorubric.verbs.convert import ConvertResult as ConvertResult
    from prorubric.verbs.convert import convert_tasks as convert_tasks
    from prorubric.verbs.demo import DemoConfig as DemoConfig
    from prorubric.verbs.demo import DemoResult as DemoResult
    from prorubric.verbs.demo import run_demo as run_demo
    from prorubric.verbs.judge import JudgeResult as JudgeResult
    from prorubric.verbs.judge import JudgeRunConfig as JudgeRunConfig
    from prorubric.verbs.judge import judge_responses as judge_responses
    from prorubric.verbs.judge_estimate import JudgeEstimate as JudgeEstimate
    from prorubric.verbs.judge_estimate import estimate_judging as estimate_judging
    from prorubric.verbs.lab import compare_schemes as compare_schemes
    from prorubric.verbs.lab import run_lab as run_lab
    from prorubric.verbs.lint import LintConfig as LintConfig
    from prorubric.verbs.lint import LintResult as LintResult
    from prorubric.verbs.lint import lint_tasks as lint_tasks
    from prorubric.verbs.score import ScoreConfig as ScoreConfig
    from prorubric.verbs.score import ScoreResult as ScoreResult
    from prorubric.verbs.score import score_run as score_run

_HOMES = {
    "aggregate.advantages": ("Advantages", "group_advantages"),
    "aggregate.arithmetic": ("overlong_penalty",),
    "aggregate.batch": ("BatchScore", "PlanTable", "score_batch"),
    "aggregate.plan": ("Plan", "make_plan"),
    "aggregate.prices": ("Prices", "measure_compliance", "price_criteria"),
    "aggregate.schemes": ("SCHEMES", "Scheme", "find_scheme"),
    "aggregate.score": ("Score", "score", "score_plan"),
    "audit.config": ("AuditConfig",),
    "audit.estimate": ("AuditEstimate", "estimate_audit"),
    "audit.records": ("AuditResult",),
    "compile.compare": ("CompareConfig", "CompareResult", "compare_tasks"),
    "compile.compiler": ("Compiled", "Compiler", "GeneratorConfig"),
    "compile.estimate": ("CompileEstimate", "estimate_compile"),
    "compile.config": ("CompileConfig",),
    "compile.run": ("CompileResult", "compile_rubrics"),
    "datasets.convert": ("ConvertConfig", "ConvertResult", "convert_tasks"),
    "datasets.export": ("export_tasks",),
    "datasets.lint_file": ("LintConfig", "LintResult", "lint_tasks"),
    "datasets.load": ("Reject", "Stream", "load_responses", "load_tasks"),
    "datasets.samples": ("SAMPLE_TASKS", "SampleAnswer", "load_samples"),
    "errors": (
        "BreakerError",
        "ConfigError",
        "MissingExtraError",
        "ModelError",
        "ProRubricError",
        "RowError",
        "RubricError",
        "SchemeError",
        "SourceError",
    ),
    "judge.calibrate": ("CalibrateConfig", "CalibrateResult", "calibrate_judge"),
    "judge.judge": ("Judge", "JudgeConfig", "Judgement"),
    "lab.compare": ("compare_schemes", "run_lab"),
    "lab.engine": ("LabConfig",),
    "lab.summary": ("LabResult",),
    "llm.http": ("HttpConfig",),
    "llm.make": ("make_model",),
    "llm.scripted": ("ScriptedModel",),
    "report.audit": ("audit_rewards",),
    "report.demo": ("DemoConfig", "DemoResult", "run_demo"),
    "reward.estimate": ("JudgeEstimate", "estimate_judging"),
    "reward.monitor": ("Monitor", "MonitorConfig"),
    "reward.rescore": ("ScoreConfig", "ScoreResult", "score_run"),
    "reward.reward": ("Case", "Overlong", "Reward", "RewardConfig", "RewardParts", "RubricReward", "make_reward"),
    "reward.run": ("JudgeResult", "JudgeRunConfig", "judge_responses"),
    "reward.server.config": ("ServeConfig", "Serving"),
    "reward.server.run": ("serve_rewards",),
    "rubric.lint": ("Finding", "TaskLint", "lint_task"),
    "rubric.records": ("Criterion", "Dimension", "Message", "ProtocolRubric", "Response", "Rubric", "Task"),
    "rubric.save": ("save_responses", "save_tasks"),
    "rubric.verdict": ("Unknown", "Verdict"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

_NEED_AN_EXTRA = {"serve_rewards"}

__all__ = sorted(_HOME_OF.keys() - _NEED_AN_EXTRA)  # noqa: PLE0605 - computed from the table above
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'prorubric' has no attribute {name!r}")
    return getattr(import_module(f"prorubric.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return [*sorted(_HOME_OF), "__version__"]
