"""Hypothesis strategies for records: rubrics of every size and sign, with and without dimensions."""

from hypothesis import strategies as st

from prorubric.rubric.checks import Check
from prorubric.rubric.labels import LABEL_TAG, LABELS, NEED_TAGS
from prorubric.rubric.records import Criterion, Message, ProtocolRubric, Response, Rubric, Task, ToolCall, Turn
from prorubric.text.pitfalls import UNDECIDED_TAG
from prorubric.text.show import is_blank

texts = st.text(min_size=1, max_size=40).filter(lambda text: not is_blank(text))
# A second label is a fault, and so are undecided criteria in strict loading; hypothesis finds the words in our source.
tags = texts.filter(lambda text: not text.startswith(LABEL_TAG) and text != UNDECIDED_TAG)
weights = st.one_of(
    st.integers(-10, 10).filter(bool).map(float),
    st.floats(-1e6, 1e6, allow_subnormal=False).filter(lambda weight: abs(weight) > 1e-6),
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63) + 1, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


checks = st.one_of(
    st.builds(Check, contains=texts | st.lists(texts, min_size=1, max_size=2).map(tuple)),
    st.builds(
        Check, regex=st.sampled_from(["(?i)dose", r"\bno\b", "^[A-Z]"]), python=st.sampled_from(["a:b", "a.b:c"])
    ),
    st.builds(Check, max_words=st.integers(5, 9), min_words=st.integers(0, 5), max_sentences=st.integers(0, 3)),
    st.builds(Check, json=st.just(True) | st.fixed_dictionaries({"const": json_values, "type": st.just("object")})),
)


# Made once: a strategy that is made while an example is drawn is checked and labelled again every time.
_labels, _some_tags, _maybe_check = st.sampled_from(LABELS), st.lists(tags, max_size=2), st.none() | checks
_needs = st.sampled_from([(), (), (), *((tag,) for tag in NEED_TAGS)])
_maybe_text, _short_texts = st.none() | texts, st.text(max_size=20)
_later_messages = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=_short_texts), max_size=2
)
_meta = st.dictionaries(st.text(max_size=8), json_values, max_size=3)


@st.composite
def criteria(draw: st.DrawFn, penalties: bool = True) -> Criterion:
    label = f"label:{draw(_labels)}"
    weight = draw(weights)
    others, check = draw(_some_tags), draw(_maybe_check)
    need = draw(_needs)
    weight = weight if penalties else abs(weight)
    return Criterion(text=draw(texts), weight=weight, tags=(*others, label, *need), check=check)


_some_criteria = {penalties: st.lists(criteria(penalties), min_size=1, max_size=12) for penalties in (False, True)}


@st.composite
def rubrics(draw: st.DrawFn, positive: bool = False, penalties: bool = True) -> Rubric:
    """A rubric; with `positive` at least one criterion adds, whatever the scheme does with labels."""
    drawn = [*draw(_some_criteria[penalties])]
    if positive:
        drawn.insert(
            draw(st.integers(0, len(drawn))),
            Criterion(text=draw(texts), weight=abs(draw(weights)), tags=("label:normal",)),
        )
    return Rubric(criteria=tuple(drawn))


@st.composite
def protocols(draw: st.DrawFn, rubric: Rubric) -> ProtocolRubric:
    count = draw(st.integers(1, min(5, len(rubric))))
    # Every group gets one criterion first, so that none is empty; the rest go anywhere.
    order = draw(st.permutations(range(1, len(rubric) + 1)))
    groups = [[index] for index in order[:count]]
    for index in order[count:]:
        groups[draw(st.integers(0, count - 1))].append(index)
    return ProtocolRubric.of(
        rubric, [{"name": draw(texts), "description": draw(texts), "indices": group} for group in groups]
    )


@st.composite
def tasks(draw: st.DrawFn, positive: bool = True, with_protocol: bool | None = True, penalties: bool = True) -> Task:
    """A task with dimensions; with_protocol=None draws whether it has any."""
    rubric = draw(rubrics(positive=positive, penalties=penalties))
    compiled = draw(st.booleans()) if with_protocol is None else with_protocol
    first = Message(role="user", content=draw(texts))
    later = draw(_later_messages)
    return Task(
        id=draw(texts),
        messages=(first, *later),
        rubric=rubric,
        protocol=draw(protocols(rubric)) if compiled else None,
        domain=draw(_maybe_text),
        source=draw(_maybe_text),
        reference=draw(_maybe_text),
        meta=draw(_meta),
    )


tool_calls = st.builds(ToolCall, name=texts, arguments=st.text(max_size=20), id=st.none() | texts)
turns = st.builds(
    Turn,
    role=st.sampled_from(["system", "developer", "user", "assistant"]),
    content=st.text(max_size=20),
    tool_calls=st.lists(tool_calls, max_size=2).map(tuple),
) | st.builds(
    Turn,
    role=st.just("tool"),
    content=st.text(max_size=20),
    tool_name=st.none() | texts,
    tool_call_id=st.none() | texts,
)
transcripts = st.lists(turns, max_size=4).map(tuple)
_last_turns = st.builds(Turn, role=st.just("assistant"), content=st.text(max_size=20))
_answered = st.tuples(transcripts, _last_turns).map(lambda parts: (*parts[0], parts[1]))  # files refuse any other
_answers = st.fixed_dictionaries({"text": st.text(max_size=60)}) | st.fixed_dictionaries({"messages": _answered})


@st.composite
def _responses(draw: st.DrawFn) -> Response:
    return Response(
        task_id=draw(texts),
        sample=draw(st.integers(0, 9)),
        model=draw(st.none() | texts),
        tokens=draw(st.none() | st.integers(0, 10_000)),
        meta=draw(st.dictionaries(st.text(max_size=8), json_values, max_size=2)),
        **draw(_answers),
    )


responses = _responses()
"""A text or a transcript."""
