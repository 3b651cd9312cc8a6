"""Labels that say how much a criterion matters, as tags, and what they do to its weight under `weighted`."""

from prorubric.errors import SchemeError
from prorubric.rubric.records import Criterion

LABELS = ("critical", "normal", "formatting", "duplicate", "needless")
LABEL_TAG = "label:"

# A penalty that is called needless stays a penalty: turning it into a bonus would pay for the bad behaviour.
_FACTORS = {"critical": 3.0, "normal": 1.0, "formatting": 0.0, "duplicate": 0.0}


def find_label(criterion: Criterion, place: str) -> str:
    """The one label of a criterion; raises `SchemeError` if there is none, or several."""
    labels = [tag.removeprefix(LABEL_TAG) for tag in criterion.tags if tag.startswith(LABEL_TAG)]
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
    """True if a criterion has a label."""
    return any(tag.startswith(LABEL_TAG) for tag in criterion.tags)
