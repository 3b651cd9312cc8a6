"""The folder of a small study, made by hand: three methods, two seeds, two judges, two items."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from prorubric.evaluate.compare import COMPARISONS, compare_scores
from prorubric.evaluate.judges import CriterionVerdict, LabelledVerdict
from prorubric.evaluate.records import Game, ItemScore, Policy
from prorubric.files.write import write_json
from prorubric.report.study_registry import GENERATORS
from prorubric.report.study_results import DomainPlace, Made, PaperName, StudyResults, load_study_results

POLICIES = [
    Policy(name="base", spec="base.jsonl"),
    *(
        Policy(name=f"{arm} {seed}", spec="x.jsonl", group=arm, seed=seed)
        for arm in ("Rubric-RL", "ProRubric")
        for seed in (42, 43)
    ),
]
NAMES = [policy.name for policy in POLICIES]
ARMS = ("Rubric-RL", "ProRubric", "Graded")
JUDGES = ("lite", "pro")
Values = Mapping[tuple[str, str], Sequence[float]]
"""By benchmark and judge, the mean of each policy in points."""


def write_evaluation(
    folder: Path,
    values: Values,
    *,
    games: Sequence[Game] = (),
    verdicts: Sequence[CriterionVerdict] = (),
    labelled: Sequence[LabelledVerdict] = (),
    characters: int = 0,
) -> None:
    """An evaluation in which every policy has two items, one 10 points above its mean and one 10 below.

    Their answers have 100 characters, 200 and so on, and these besides.
    """
    scores = [
        ItemScore(
            benchmark=benchmark, judge=judge, policy=name, item=item, value=value, low=value, high=value
        ).model_copy(update={"characters": 100 * (1 + place) + characters})
        for (benchmark, judge), means in values.items()
        for place, (name, mean) in enumerate(zip(NAMES, means, strict=True))
        for item, value in (("one", mean / 100 + 0.1), ("two", mean / 100 - 0.1))
    ]
    found = compare_scores(
        scores, POLICIES, baseline="base", resamples=20, games=games, verdicts=verdicts, labelled=labelled
    )
    (folder / "evaluate").mkdir(parents=True)
    write_json(folder / "evaluate" / COMPARISONS, found.model_dump(mode="json"))
    rows = (score.model_dump_json() for score in scores)
    (folder / "evaluate" / "scores.jsonl").write_text("".join(f"{row}\n" for row in rows))


def load(
    folder: Path, paper: PaperName | None = "Qwen3-4B", name: str = "medical", judges: Sequence[str] = JUDGES
) -> StudyResults:
    place = DomainPlace(name, folder, ARMS, "healthbench", "healthbench-consensus", judges)
    return load_study_results("Small", paper, [place])


def make(name: str, results: StudyResults) -> Made:
    [generator] = [one for one in GENERATORS if one.name == name]
    return generator.make(results)


def pick(made: Made, **wanted: object) -> dict[str, object]:
    """The one row with these cells; figures are rounded to six digits."""
    found = [row for row in made.sheet.rows if all(row[head] == cell for head, cell in wanted.items())]
    assert len(found) == 1, (wanted, found)
    return {head: round(cell, 6) if isinstance(cell, float) else cell for head, cell in found[0].items()}


def choose(row: Mapping[str, object], heads: str) -> list[object]:
    return [row[head.strip()] for head in heads.split(",")]
