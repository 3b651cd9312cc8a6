"""The generator `rules`: a baseline without a model.

If every criterion has a tag `dimension:NAME` or `group:NAME`, those groups are the dimensions; if there are more than
five, neighbouring groups are merged. Otherwise the checklist is cut in order into runs of equal length: 2 for up to 5
criteria, 3 up to 12, 4 up to 30 and 5 for more. One fixed text is filled with the words that set each group apart, in
any language with spaces between words; others, such as Chinese, are refused. Nothing is understood: no contradiction
is resolved and no priority is set. `rules` exists so everything else runs on a fresh machine, and as a floor for real
generators. The same task always gives the same dimensions.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain, pairwise

from prorubric.compile.draft import Draft, DraftDimension, Fault
from prorubric.errors import RubricError
from prorubric.rubric.records import Criterion, Task
from prorubric.text.questions import to_statement
from prorubric.text.words import UNINFORMATIVE, is_english, is_unspaced, load_words

LABEL = "rules (a baseline without a model)"
"""What a reader is shown wherever these dimensions appear."""

FEWEST, MOST = 2, 5
"""How many dimensions there can be."""

_COUNTS = ((5, 2), (12, 3), (30, 4))
_GROUP_TAGS = ("dimension:", "group:")
_NAME_WORDS, _NAME_CHARACTERS = 6, 80
_CRITERION_CHARACTERS, _QUESTION_CHARACTERS = 200, 1_200
_TOPICS, _LONGEST_WORD = 3, 30
_TEXT = (
    "The answer to the question about {question} is right for this case in what it says on {topics}. What it says "
    "there fits together, and the reader can act on it. Fails if any part of that is wrong, missing or contradicted "
    "further on, however much else is said about {first}{faults}."
)
_FAULTS = ", or if it makes a mistake that the checklist warns of, as with {}"

# Anything between white space and punctuation is a word: letters of any script, with their marks, and emoji.
_WORD = re.compile(r"[^\s.,;:!?…。，、；：！？()（）\[\]{}<>\"“”„«»「」/\\|*_`#=+~]+")
# A number alone does not name anything.
_NAMING = re.compile(r"[^\W\d_]{3}|[^\x00-\x7f]")
_EMPTY = UNINFORMATIVE | load_words("vague")
_FOREIGN = load_words("foreign")


def find_unread(task: Task) -> Fault | None:
    """Why the words of a task cannot be told apart, if they cannot."""
    unread = [i for i, criterion in enumerate(task.rubric.criteria, 1) if is_unspaced(criterion.text)]
    detail = f"rules cannot read criteria without spaces between words, such as criterion {unread[0]}" if unread else ""
    return (
        Fault("rules cannot read a script without spaces between words", f"{detail}; compile with a model")
        if unread
        else None
    )


def draft_by_rules(task: Task) -> Draft:
    """The dimensions of a task with at least two criteria, in a script with spaces between words."""
    criteria = task.rubric.criteria
    if len(criteria) < FEWEST:
        raise RubricError(
            f"task {task.id!r}: the rubric has 1 criterion, which cannot be grouped; rules needs at least {FEWEST}"
        )
    if fault := find_unread(task):
        raise RubricError(f"task {task.id!r}: {fault.detail}")
    empty = _EMPTY if is_english("\n".join(criterion.text for criterion in criteria)) else _EMPTY | _FOREIGN
    words = [_list_words(to_statement(criterion.text)[:_CRITERION_CHARACTERS], empty) for criterion in criteria]
    everywhere = Counter(chain.from_iterable(words))
    said = [message.content for message in reversed(task.messages) if message.role == "user"]
    asked = "\n".join(said or [message.content for message in task.messages])[:_QUESTION_CHARACTERS]
    named = [] if is_unspaced(asked) else _list_words(asked, empty)
    question = _join(sorted(named, key=lambda word: -everywhere[word])[:_TOPICS])
    drafted: list[DraftDimension] = []
    for name, positions in _find_groups(criteria):
        wanted = [words[i] for i in positions if criteria[i].weight > 0]
        avoided = [words[i] for i in positions if criteria[i].weight < 0]
        topics = _find_topics(wanted or avoided, everywhere) or ["this request"]
        faults = _join(_find_topics(avoided, everywhere))
        description = _TEXT.format(
            question=question or "this request",
            topics=_join(topics),
            first=topics[0],
            faults=_FAULTS.format(faults) if faults else "",
        )
        shown = name or f"Part {len(drafted) + 1}: {topics[0]}"
        drafted.append(DraftDimension(shown, description, tuple(i + 1 for i in positions)))
    return Draft(tuple(drafted))


def _find_groups(criteria: Sequence[Criterion]) -> list[tuple[str, list[int]]]:
    """The name, if it is given, and the positions of each group."""
    given: dict[str, list[int]] = {}
    for position, criterion in enumerate(criteria):
        names = [tag.partition(":")[2].strip() for tag in criterion.tags if tag.startswith(_GROUP_TAGS)]
        given.setdefault(next(filter(None, names), ""), []).append(position)
    if "" in given or len(given) < FEWEST:
        count = next((groups for most, groups in _COUNTS if len(criteria) <= most), MOST)
        return [("", [*range(start, end)]) for start, end in _cut(len(criteria), count)]
    groups = []
    for start, end in _cut(len(given), min(len(given), MOST)):
        names = [*given][start:end]
        shown = " and ".join(names).replace("_", " ").split()[:_NAME_WORDS]
        groups.append((" ".join(shown)[:_NAME_CHARACTERS], sorted(chain.from_iterable(map(given.__getitem__, names)))))
    return groups


def _cut(length: int, count: int) -> Iterable[tuple[int, int]]:
    """Where runs begin and end that are as equal in length as possible."""
    return pairwise(length * number // count for number in range(count + 1))


def _list_words(text: str, empty: Collection[str]) -> list[str]:
    """The words that say something, each once; without the capital letter that begins the text."""
    found = (word.strip("-–—'’") for word in _WORD.findall(text[:1].lower() + text[1:]) if word.isprintable())
    shown = (word for word in found if len(word) <= _LONGEST_WORD and word.lower() not in empty)
    return [*dict.fromkeys(filter(_NAMING.search, shown))]


def _find_topics(words: Sequence[Sequence[str]], everywhere: Mapping[str, int]) -> list[str]:
    """The words of a group that most of its criteria and few others have."""
    inside = Counter(chain.from_iterable(words))
    return sorted(inside, key=lambda word: -(inside[word] ** 2) / everywhere[word])[:_TOPICS]


def _join(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
