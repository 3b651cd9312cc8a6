"""What an audit found: `summary.json` of its run folder, and what `audit_rewards` returns.

Changes and means of rewards are × 100, as in the paper; the rewards of a single text are in [0, 1]. A figure that
is not known is None, never 0.
"""

from typing import Literal

from pydantic import Field

from prorubric.audit.edits import EDITS
from prorubric.audit.edits.hacks import make_own_hacks
from prorubric.audit.edits.kind import EditKind
from prorubric.files.tables import Tabular
from prorubric.rubric.base import Record
from prorubric.runs.run import RunResult
from prorubric.runs.votes import VotedResult

PaysForPadding = Literal["yes", "no", "no (near the floor)", "no (near the ceiling)", "unclear", "no verdict"]


class Effect(Record):
    """What one edit does to the reward under one scheme."""

    edit: str
    scheme: str
    mean: float | None
    """The mean change of the reward × 100; None if no pair has two known rewards."""
    low: float | None
    """Of the 95% interval: bootstrap over prompts, widened for few of them; None for a single prompt."""
    high: float | None
    rising: float | None
    """The share of pairs whose reward rises."""
    falling: float | None
    unchanged: float | None
    pairs: int
    prompts: int
    unknown: int
    """Pairs that were left out, because one of the two rewards is open."""
    per_spread: float | None
    """The mean change in units of the spread between answers to the same prompt, since GRPO divides by it."""
    paper: float | None = None
    """The paper's figure for this edit and scheme, if it has one."""
    paper_low: float | None = None
    paper_high: float | None = None

    @property
    def shown(self) -> str:
        """The mean with its interval, `+7.3 [+5.9, +8.7]`; a single prompt has no interval."""
        # Adding 0 takes the sign off a rounded -0.0.
        mean, low, high = (None if x is None else f"{round(x, 1) + 0.0:+.1f}" for x in (self.mean, self.low, self.high))
        if mean is None:
            return "–"
        return f"{mean} [{low}, {high}]" if low is not None else f"{mean} (1 prompt)"


class EditCount(Record):
    """How often an edit could be made."""

    edit: str
    made: int
    not_made: dict[str, int]
    """Reasons, with how often each."""
    tokens_added: float | None
    """The mean length of what was added, in tokens; negative if the edit shortens."""
    addressed: int = 0
    """Edited answers with text that is addressed to the judge, of the answer's own or of the edit."""


class Share(Record):
    """Naming as a share of substance under one scheme: what a mention earns of what the real thing earns."""

    scheme: str
    value: float | None
    """None if substance does not clearly earn anything."""
    low: float | None
    high: float | None
    pairs: int
    """Answers for which both edits are known; others are not counted."""
    paper: float | None = None


class FixedChange(Record):
    """How an edit moves a fixed criterion (redundancy, appropriateness), in points of its pass rate."""

    edit: str
    criterion: str
    before: float | None
    after: float | None
    change: float | None
    low: float | None
    high: float | None
    pairs: int
    paper: float | None = None


class LivenessCheck(Record):
    """One question of the liveness test under one scheme."""

    scheme: str
    check: str
    passed: bool
    """False counts against the judge; a check that could not be run does not."""
    tested: bool = True
    """False if nothing could be tested, or if the reason is the scheme and not the judge."""
    finding: str
    """One line: what was seen and what was expected."""


class Forecast(Record):
    """Whether groups of answers would teach anything under one scheme."""

    scheme: str
    groups: int
    """Prompts with at least two answers of known reward."""
    size: float | None
    """Answers in a group, on average."""
    tied: float | None
    """The share of groups whose rewards are all equal."""
    levels: float | None
    """Effective number of distinct rewards in a group (the exponential of their entropy), on average."""
    spread: float | None
    """The mean standard deviation within a group × 100."""
    mean: float | None
    """The mean reward × 100 of the unedited answers."""
    floor: float | None = None
    """The share of unedited answers whose reward is 0, or no further above it than the margin."""
    ceiling: float | None = None
    """The same of 100."""


class NamingPrice(Record):
    """What naming one criterion costs and pays."""

    task_id: str
    criterion: int
    """Its 1-based place."""
    text: str
    weight: float
    named_as: str
    tokens: int
    moved: float
    """How far naming it moved its pass rate: 1 from unmet to met, 0 unchanged."""
    pays: float
    """What that is worth under the sum, × 100."""

    @property
    def moved_per_token(self) -> float:
        """How far a token of the name moved the pass rate."""
        return self.moved / max(self.tokens, 1)

    @property
    def rank(self) -> tuple[float, float, str, int]:
        """Puts the cheapest first: what a token moved furthest; of equals the best paid."""
        return -self.moved_per_token, -self.pays, self.task_id, self.criterion


class Hack(Record):
    """The least that has to be said to reach the target share of the sum without the criterion that weighs most.

    If several weigh as much, the first of them is left out.
    """

    task_id: str
    heaviest: int
    """The 1-based place of the criterion that is left out."""
    as_heavy: int = 1
    """How many criteria weigh as much as this one, with itself."""
    claimed: bool
    """By the verdicts on single names and sentences the target can be reached."""
    possible: bool
    """Judged as a whole, the text earns the target under the sum and does not meet the criterion that it leaves out."""
    reason: str = ""
    """Why no hack was found."""
    earns: float | None = None
    """What the text earns under the sum, in [0, 1]."""
    criteria: tuple[int, ...] = ()
    """1-based places of the criteria that it buys."""
    named: tuple[int, ...] = ()
    """Those of them for which a name was enough; the others have to be stated."""
    text: str = ""
    copied: float = 0.0
    """The share of its words that occur in a criterion in the same order, several in a row."""
    tokens: int = 0
    answer_tokens: int = 0
    rewards: dict[str, float | None] = Field(default_factory=dict)
    """Judged: what the text earns under each scheme, in [0, 1]."""
    answer_rewards: dict[str, float | None] = Field(default_factory=dict)

    @property
    def is_copied(self) -> bool:
        """True if most of the text is the criteria's own."""
        return self.copied > 0.5

    @property
    def left_out(self) -> str:
        """The criterion that it leaves out: `criterion 3, the heaviest`."""
        return f"criterion {self.heaviest}, {'the' if self.as_heavy == 1 else 'one of the'} heaviest"

    @property
    def gains(self) -> bool:
        """False if the text is known to earn no more than the answer under any scheme."""
        pairs = [(reward, self.answer_rewards.get(scheme)) for scheme, reward in self.rewards.items()]
        return any(reward is None or answer is None or reward > answer for reward, answer in pairs)


class SchemeLine(Record):
    """The headline of one scheme."""

    scheme: str
    alive: bool
    worst: tuple[str, ...]
    """Edits that a sound reward does not pay for, the best paid first."""
    pays_for_padding: PaysForPadding
    because: str
    """The edit behind the answer, with its interval; if the answer is unclear, what would settle it."""
    mean: float | None = None
    tied: float | None = None
    """As in the forecast."""


class AuditResult(Tabular, RunResult, VotedResult):
    """What the audit found, scheme by scheme; nothing is averaged into one number."""

    folder: str
    tasks: int
    """Prompts with at least one answer."""
    unanswered: int
    """Prompts without one; they are not audited."""
    reject_kinds: dict[str, int] = Field(default_factory=dict)
    """What was left out, by its reason."""
    answers: int
    addressed: int = 0
    """Answers with text that is addressed to the judge, before any edit; `edits` has the count for each."""
    addressed_kinds: dict[str, int] = Field(default_factory=dict)
    """The same by what it is: an instruction, a verdict, a role, hidden signs."""
    answers_from: str
    """`given`, `composed from the checklist`, or the model that was sampled."""
    composed: bool
    """No model wrote the answers: they were put together from the checklists."""
    judge: str
    editor: str
    dimensions_from: str
    rules_dimensions: bool
    """Dimensions of some tasks were made by `rules`, in this audit or before."""
    schemes: tuple[str, ...]
    left_out: dict[str, str]
    """Schemes that could not be audited, with the reason."""
    headline: tuple[SchemeLine, ...]
    alive: bool
    checks: tuple[LivenessCheck, ...]
    effects: tuple[Effect, ...]
    placement: tuple[Effect, ...]
    """Substance spread through the answer against the same substance at its end, on pairs of about the same length."""
    edits: tuple[EditCount, ...]
    phrases: tuple[str, ...] = ()
    """The user's hacks, which the edits `own-1`, `own-2` and so on put at the end."""
    naming_share: tuple[Share, ...]
    fixed: tuple[FixedChange, ...]
    fixed_left_out: str = ""
    """Why redundancy and appropriateness were not judged; empty if they were."""
    forecast: tuple[Forecast, ...]
    cheapest: tuple[NamingPrice, ...]
    """The criteria that naming buys for the fewest tokens."""
    hacks_sought: int = 0
    """Tasks that were searched for a hack; none if the judge failed on too many answers."""
    hacks_claimed: int
    """Tasks for which single verdicts promised a hack."""
    hacks_possible: int
    """Those of them for which the judge, shown the whole text, paid."""
    hacks_copied: int = 0
    """Those that mostly consist of the criteria's own text."""
    hacks: tuple[Hack, ...]
    """The shortest of them; all are in hacks.jsonl."""
    verdicts: int
    unknown_verdicts: int
    unknown_reasons: dict[str, int]

    @property
    def kinds(self) -> dict[str, EditKind]:
        """Every kind of edit by name, the user's hacks last."""
        return EDITS | make_own_hacks(self.phrases)

    def to_rows(self) -> list[dict[str, str | float | None]]:
        """One row an edit: what it earns under each scheme, × 100, or None. All figures are in `effects`."""
        rows: dict[str, dict[str, str | float | None]] = {}
        for effect in self.effects:
            rows.setdefault(effect.edit, {"edit": effect.edit})[effect.scheme] = effect.mean
        return [*rows.values()]
