"""Labels that say how much a criterion matters, as tags, and what they do to its weight under `weighted`.

`label:required` and `label:optional` are apart from these: they may stand next to one of them, change no weight, and
say which criteria others depend on (`licensed`, `required-first`, `veto`).
"""

from prorubric.errors import SchemeError
from prorubric.rubric.records import Criterion, Task

LABELS = ("critical", "normal", "formatting", "duplicate", "needless")
LABEL_TAG = "label:"
NEEDS = ("required", "optional")
NEED_TAGS = (REQUIRED, OPTIONAL) = tuple(LABEL_TAG + need for need in NEEDS)

# A penalty that is called needless stays a penalty: turning it into a bonus would pay for the bad behaviour.
_FACTORS = {"critical": 3.0, "normal": 1.0, "formatting": 0.0, "duplicate": 0.0}


def find_label(criterion: Criterion, place: str) -> str:
    """The one label of a criterion; raises `SchemeError` if there is none, or several."""
    labels = [tag.removeprefix(LABEL_TAG) for tag in criterion.tags if is_label(tag)]
    if len(labels) != 1 or labels[0] not in LABELS:
        raise SchemeError(
            "weighted needs one label on every criterion",
            f"found {labels}",
            remedy=f"tag it {LABEL_TAG}X with X one of {', '.join(LABELS)}",
            place=place,
        )
    return labels[0]


def relabel(criterion: Criterion, place: str) -> float:
    """The weight under `weighted`: critical ×3, normal ×1, formatting and duplicate 0, needless `-|w|`."""
    label = find_label(criterion, place)
    return -abs(criterion.weight) if label == "needless" else criterion.weight * _FACTORS[label]


def is_labelled(criterion: Criterion) -> bool:
    """True if a criterion has a label that says what it weighs."""
    return any(map(is_label, criterion.tags))


def is_label(tag: str) -> bool:
    """True for a tag that says what a criterion weighs under `weighted`."""
    return tag.startswith(LABEL_TAG) and tag not in NEED_TAGS


def list_required(task: Task) -> list[int]:
    """The 0-based places of the criteria that are labelled required; `SchemeError` if one is also optional."""
    for index, criterion in enumerate(task.rubric.criteria, 1):
        if set(NEED_TAGS) <= set(criterion.tags):
            place = f"task {task.id!r}, criterion {index}"
            raise SchemeError("a criterion is labelled required and optional", remedy="keep one", place=place)
    return [place for place, criterion in enumerate(task.rubric.criteria) if REQUIRED in criterion.tags]
