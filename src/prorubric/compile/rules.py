"""The generator `rules`: dimensions without a model. A weak baseline.

It does not understand a criterion. It cuts the checklist into runs of neighbours, since people tend to write related
criteria one after the other; names each run after the kind of its criteria and the words in which it differs from the
others; and fills a fixed text of that kind (`rules.toml`) with those words. The text is true of any good answer to such
a question and therefore says little. It resolves no contradictions and sets no priorities. It exists so everything else
runs on a fresh machine, and as a floor for real generators; whatever is made with it is labelled (`LABEL`, and
`compiler.RULES_IDENTITY` in every lineage).

There are 2 dimensions for up to 5 criteria, 3 up to 12, 4 up to 30 and 5 for more, as equal in size as possible. The
same task always gives the same text. Any text can be read: other languages are worded around their own words in
English. Only a rubric with a single criterion is refused.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from prorubric.errors import RubricError
from prorubric.rubric.records import Criterion, Task
from prorubric.text.criteria import split_negation
from prorubric.text.words import UNINFORMATIVE, is_english, load_words, stem

LABEL = "rules (runs of neighbouring criteria, no model; the weak baseline)"
"""What a reader is shown wherever these dimensions appear."""

FEWEST, MOST = 2, 5
"""How many dimensions there can be."""

_COUNTS = ((5, 2), (12, 3), (30, 4))
_CRITERION_CHARACTERS, _QUESTION_CHARACTERS = 200, 1_200
_PHRASE_WORDS, _LONGEST_WORD = 3, 30
_TOPICS, _QUESTION_TOPICS, _NEGATIVE_TOPICS = 3, 2, 2
_QUOTED = 12
_ASIDE = "(Justification"

# Chinese and Japanese words are runs of Han and katakana; hiragana and the signs of grammar separate them. Indic, Thai
# and Arabic marks are part of a word. Any other sign is a separate token and ends a phrase.
_HAN = r"\u30a1-\u30fa\u30fc\u3400-\u9fff\uf900-\ufaff"
_GRAMMAR = "的了是在我有和就不都也很吗呢吧啊这那你他她它们个一为与及或等到从对把被会能要可上下中请什么怎以之其"
_LETTERS = rf"[^\W_{_HAN}\u3040-\u309f]+"
_MARKS = r"[\u0300-\u036f\u064b-\u065f\u0900-\u0dff\u0e00-\u0eff]+"
_WORD = rf"{_LETTERS}(?:{_MARKS}(?:{_LETTERS})?)*"
_TOKEN = re.compile(rf"{_WORD}(?:[-'’]{_WORD}|[.,]\d+)*|(?:(?![{_GRAMMAR}])[{_HAN}]){{1,6}}|[^ ]")
_CUE = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
# A number alone does not name anything.
_NAMING = re.compile(r"[^\W\d_]{3}|[^\W\d_\x00-\x7f]")
_SHORT_NAME = re.compile(r"\W*(?:\w+\W+){0,5}\w+\W*$")
_MISSING = ", or if it takes no account of {}"
_OCCURRING = ", or if it falls into what is to be avoided here, as with {}"

_EMPTY = UNINFORMATIVE | load_words("vague")
_FOREIGN = load_words("foreign")


class _Phrase(NamedTuple):
    text: str
    stems: tuple[str, ...]


@cache
def _load_kinds() -> tuple[list[dict[str, str]], dict[str, int]]:
    """The kinds of dimension, and the kind of each cue; where two kinds share a cue, the first has it."""
    kinds = tomllib.loads(Path(__file__).with_name("rules.toml").read_text(encoding="utf-8"))["kind"]
    cues = {stem(cue): number for number, kind in reversed([*enumerate(kinds)]) for cue in kind["cues"].split()}
    return kinds, cues


def draft_by_rules(task: Task) -> list[dict[str, Any]]:
    """Dimensions for a task, as mappings that `ProtocolRubric.of` takes, in the order of their criteria."""
    criteria = task.rubric.criteria
    if len(criteria) < FEWEST:
        raise RubricError(
            f"task {task.id!r}: the rubric has 1 criterion, which cannot be grouped; rules needs at least {FEWEST}"
        )
    in_english = is_english("\n".join(criterion.text for criterion in criteria))
    demands = [criterion.text.split(_ASIDE, 1)[0] or criterion.text for criterion in criteria]
    phrases = [_list_phrases(demand, _CRITERION_CHARACTERS, in_english=in_english) for demand in demands]
    everywhere = _count_words(phrases)
    question = _find_subject(task, everywhere, in_english=in_english)
    count = next((groups for most, groups in _COUNTS if len(criteria) <= most), MOST)
    bounds = [len(criteria) * number // count for number in range(count + 1)]
    drafted: list[dict[str, Any]] = []
    for start, end in pairwise(bounds):
        kind = _find_kind(criteria[start:end])
        topics, negatives = _find_topics(criteria[start:end], phrases[start:end], everywhere)
        topics = topics or [_quote(criteria[start].text, "what is asked for here")]
        taken = {part["name"] for part in drafted}
        names = (f"{kind['name']}: {topic}" for topic in (*topics, *(f"part {n}" for n in range(1, MOST + 1))))
        text = " ".join(kind["text"].split())
        drafted.append(
            {
                "name": next(name for name in names if name not in taken and _SHORT_NAME.match(name)),
                "description": text.format(
                    question=question, topics=_join(topics), first=topics[0], negatives=negatives
                ),
                "indices": [*range(start + 1, end + 1)],
            }
        )
    return drafted


def _find_kind(criteria: Iterable[Criterion]) -> dict[str, str]:
    """The kind that most criteria are of; a tag or, without one, the first cue says which."""
    kinds, cues = _load_kinds()
    votes = Counter[int]()
    for criterion in criteria:
        words = _CUE.findall(" ".join((*criterion.tags, criterion.text[:_CRITERION_CHARACTERS])).lower())
        votes.update([cues[word] for word in map(stem, words) if word in cues][:1])
    return kinds[min(votes, key=lambda kind: (-votes[kind], kind), default=0)]


def _find_topics(
    criteria: Sequence[Criterion], phrases: Sequence[list[_Phrase]], everywhere: Mapping[str, int]
) -> tuple[list[str], str]:
    """What a run of criteria is about, and what its negative criteria add to the failure clause."""
    inside = _count_words(phrases)
    weights = {word: count * count / everywhere[word] for word, count in inside.items()}
    wanted: list[_Phrase] = []
    missing: list[_Phrase] = []
    occurring: list[_Phrase] = []
    for criterion, found in zip(criteria, phrases, strict=True):
        if criterion.weight > 0:
            wanted += found
        else:
            (missing if split_negation(criterion.text.lower())[1] else occurring).extend(found)
    topics = _choose(wanted or missing or occurring, weights, _TOPICS)
    taken = {word for phrase in topics for word in phrase.stems}
    negatives = ""
    for found, wording in ((missing, _MISSING), (occurring, _OCCURRING)):
        # What the group is about is named once, unless there is nothing else to name.
        chosen = _choose(found, weights, _NEGATIVE_TOPICS, taken) or _choose(found, weights, 1)
        taken = taken.union(*(phrase.stems for phrase in chosen))
        negatives += wording.format(_join([phrase.text for phrase in chosen])) if chosen else ""
    return [phrase.text for phrase in topics], negatives


def _find_subject(task: Task, everywhere: Mapping[str, int], *, in_english: bool) -> str:
    """What the user asked about, the last message first; without a user, what the conversation is about."""
    said = [message.content for message in reversed(task.messages) if message.role == "user"]
    asked = "\n".join(said if any(map(str.strip, said)) else [message.content for message in task.messages])
    phrases = _list_phrases(asked, _QUESTION_CHARACTERS, in_english=in_english and is_english(asked))
    weights = {word: 1.0 + min(everywhere.get(word, 0), 3) for phrase in phrases for word in phrase.stems}
    chosen = _choose(phrases, weights, _QUESTION_TOPICS)
    return _join([phrase.text for phrase in chosen]) or _quote(asked, "this request")


def _list_phrases(text: str, characters: int, *, in_english: bool) -> list[_Phrase]:
    """The runs of words that say something: of each the last three, in English the noun that the rest is about."""
    if len(text) > characters:
        text = text[: characters + 1].rpartition(" ")[0] or text[:characters]
    phrases: list[_Phrase] = []
    run: list[str] = []
    before = "."
    for token in [*_TOKEN.findall(text), "."]:  # the last one ends the last run
        if _says_something(token, in_english):
            run.append(token)
            continue
        words = run[-_PHRASE_WORDS:]
        if words and max(map(len, words)) <= _LONGEST_WORD and any(map(_NAMING.search, words)):
            # A capital at the beginning of a sentence is not part of the word.
            small = before in ".!?:\n" and len(words) == len(run) and words[0][1:].islower()
            shown = [words[0].lower() if small else words[0], *words[1:]]
            phrases.append(_Phrase(" ".join(shown), tuple(stem(word.lower()) for word in words)))
        run, before = [], token
    return phrases


@lru_cache(maxsize=65_536)
def _says_something(token: str, in_english: bool) -> bool:
    word = token.lower().replace("’", "'").removesuffix("'s")
    known = word in _EMPTY or (word in _FOREIGN and not in_english)
    return len(word) > 1 and not known and any(map(str.isalnum, word))


def _choose(
    phrases: Sequence[_Phrase], weights: Mapping[str, float], most: int, taken: Iterable[str] = ()
) -> list[_Phrase]:
    """The phrases that say most, best first, none of which shares a word with another."""
    # Two words say more than one, though not twice as much.
    scores = {phrase: sum(map(weights.__getitem__, phrase.stems)) / len(phrase.stems) ** 0.35 for phrase in phrases}
    used = set(taken)
    chosen: list[_Phrase] = []
    for phrase in sorted(scores, key=scores.__getitem__, reverse=True):
        if used.isdisjoint(phrase.stems) and len(chosen) < most:
            used.update(phrase.stems)
            chosen.append(phrase)
    return chosen


def _count_words(phrases: Iterable[Iterable[_Phrase]]) -> Counter[str]:
    """How many criteria have each word."""
    return Counter(
        word for found in phrases for word in dict.fromkeys(word for phrase in found for word in phrase.stems)
    )


def _quote(text: str, fallback: str) -> str:
    """Something to show of a text that has signs but no words."""
    signs = [sign for sign in text[:_QUESTION_CHARACTERS] if sign.isprintable() and sign not in ".!?。！？“”\"'’)("]
    shown = "".join(signs).strip()[:_QUOTED].rstrip()
    return f"“{shown}”" if shown and not any(map(str.isalpha, signs)) else fallback


def _join(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else "".join(words)
