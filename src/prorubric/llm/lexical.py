"""No model at all: a lenient check whether the words of a statement occur close together in a response.

This is word overlap, not understanding. It rewards mentioning terms: a response that copies the words of a criterion
gets the criterion, whether what it says about them is right, wrong or nothing. It cannot read form ("uses a table"),
order, tone, synonyms or a contradiction in the same words. It exists so that everything runs on a fresh machine
without a network, a key or a download, and every report has to label what came from it (`identity` is `lexical/1`).

How it reads:

- Words are lower-cased and crudely stemmed; stop words and the verbs of rubrics ("mentions", "explains", "the
  response") say nothing of the content and are dropped. East Asian text is read character by character.
- The share of a statement's distinct words that occur within the best `WINDOW` neighbouring sentences becomes a
  probability by one fixed logistic (see `MIDPOINT` and `STEEPNESS`).
- A statement that *opens* with a negation ("does not mention …", "fails to …", "avoids …", "contains no …") gets the
  opposite probability of the rest; two of them ("does not fail to …") cancel out. A negation further in ("states that
  antibiotics do not help") is part of what has to be said and, being a stop word, is not looked for: the response that
  says the contrary in the same words passes too. "Does not mention A but explains B" is turned around as a whole.
- A statement without any content word cannot be looked for and gets 0.5.

Nothing here fails: any text gets a number, the same one every time.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

WINDOW = 3
"""Neighbouring sentences that are read as one place: a point is rarely made in one sentence, and all sentences at once
would find the words of a long answer in places that have nothing to do with each other."""
MIDPOINT = 0.4
"""The share of words at which yes and no are equally likely: half the words are enough, a third is not. It is low
because an answer that makes a point in its own words shares less than half of them with the statement; on the sample
pack shares from 0.34 to 0.45 agree best with the verdicts given by hand, and 0.6 would miss half of what is there. The
price is that of "stop ibuprofen" any ibuprofen is enough."""
STEEPNESS = 10.0
"""How fast the share decides. With 10, all words give 0.998, half 0.73, a third 0.34 and none 0.02: certain only where
everything or nothing is there."""

_CANNOT_TELL = 0.5

# One East Asian character, or a run of letters and digits that may hold a decimal point: "38.5", "1,000".
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+(?:[.,]\d+)*"
)
_SENTENCE_END = re.compile(r"(?<=[.!?;:])\s+|[\r\n\u2028\u2029]+|(?<=[。！？；])")

_STOP_WORDS = frozenset(
    """a about above after again all also am among an and any are as at be because been before being below between both
    but by can cannot could did do does doing done down during each either else etc even ever every few for from further
    get gets given had has have having he her here hers him his how i if in into is it its itself just least let like
    made make makes making many may me might more most much must my near need needs neither no nor not of off on once
    one only onto or other others our out over own per quite rather s same shall she should since so some such t than
    that the their them then there these they this those through thus to too under until up upon us use used user uses
    using very via was we were what when where whether which while who whom whose why will with within without would
    yet you your don doesn didn isn aren wasn shouldn mustn won wouldn couldn ll re ve eg ie""".split()
)
# What a rubric says about a response and not about its subject. Dropped from statements only.
_RUBRIC_WORDS = frozenset(
    """accurately acknowledge acknowledges acknowledging address addresses addressing advise advises advising answer
    answers appropriately assistant briefly cite cites clarifies clarify clear clearly conclude concludes contain
    contains correctly criterion demonstrate demonstrates describe describes describing directly discuss discusses
    discussing emphasize emphasizes ensure ensures example examples explain explains explaining explanation explicit
    explicitly fact following give gives giving highlight highlights identifies identify include includes including
    indicate indicates information least list lists mention mentioned mentions mentioning model name names naming note
    notes noting offer offers offering output point points present presents properly provide provides providing
    recognize recognizes recommend recommends recommending refer reference references refers reply response responses
    say says saying show shows specific specifically specifies specify state stated statement states stating suggest
    suggests suggesting summarize summarizes tell tells telling text the warn warns""".split()
)
_DROPPED = _STOP_WORDS | _RUBRIC_WORDS

# Longest first: the first that fits is cut. Crude on purpose; both sides are cut the same way.
_SUFFIXES = """ization isation ational ations ation ments ment ingly ness ions ily ing ies ied ion ers est ed es er ly
    al s e y""".split()
_SHORTEST_STEM = 3
_LONGEST_WORD = 30

_SUBJECT = re.compile(
    r"\W*(?:(?:(?:the|this|an?|your)\s+)?(?:response|answer|reply|output|text|model|assistant|author|it)\s+)?"
)
_PASSED_OVER = re.compile(
    r"(?:should|must|shall|will|needs?\s+to|ha(?:s|ve)\s+to|also|clearly|explicitly|correctly|appropriately|directly"
    r"|specifically|at\s+any\s+point)\s+"
)
_NEGATION = re.compile(
    r"(?:(?:do(?:es)?|did|is|are|was|has|have|can|could|should|must|shall|will)(?:\s+not|n['’]t)|cannot|can['’]t|won['’]t"
    r"|shan['’]t|not|never|fail(?:s|ed|ing|ure)?\s+to|neglect(?:s|ed|ing)?(?:\s+to)?|forget(?:s|ting)?\s+to|forgot\s+to"
    r"|omit(?:s|ted|ting)?|avoid(?:s|ed|ing)?|refrain(?:s|ed|ing)?\s+from|leaves?\s+out|left\s+out|lack(?:s|ed|ing)?"
    r"|ignor(?:es?|ed|ing)|overlook(?:s|ed|ing)?|without|is\s+free\s+(?:of|from)|no"
    r"|(?:contain|include|give|provide|offer|make|show|leave|ha)(?:s|ve)?\s+no)\s+"
)

_FEW_WORDS = 8
_ENGLISH_SHARE = 0.05
LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# No word here is a common one of another language in Latin letters: "a", "no", "in", "so" and "was" would be.
_ENGLISH = frozenset(
    """the and of to it you your with this that not be are from by can have they he she were but should one more than
    when what which there their would any if or my who how because these those then them her his could before after
    about into""".split()
)

_Places = Mapping[str, Sequence[int]]


class LexicalModel:
    """Word overlap behind the interface of a yes/no model; see the module for what it cannot do."""

    @property
    def name(self) -> str:
        """What every report has to show."""
        return "lexical/1"

    @property
    def identity(self) -> str:
        """Changes with anything in this module that changes a number."""
        return "lexical/1"

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:  # noqa: ARG002
        """One probability for each statement; the conversation is not read."""
        places = _find_places(response)
        return [_judge(statement, places) for statement in statements]

    async def close(self) -> None:
        """There is nothing to let go of."""


def _judge(statement: str, places: _Places) -> float:
    rest, negated = _split_negation(statement.lower())
    words = {stem(word) for word in _WORD.findall(rest) if word not in _DROPPED}
    if not words:
        return _CANNOT_TELL
    present = _logistic(_count_best(words, places) / len(words))
    return 1.0 - present if negated else present


def is_english(text: str) -> bool:
    """True where enough of the small words are English ones, and for texts too short to tell in Latin letters."""
    words = LETTERS.findall(text[:2_000].lower())
    if not words or sum(map(str.isascii, words)) < 0.8 * len(words):
        return False
    return len(words) < _FEW_WORDS or sum(word in _ENGLISH for word in words) >= _ENGLISH_SHARE * len(words)


def is_content(word: str) -> bool:
    """True where a lower-case word says something of its subject: no stop word, no verb of rubrics."""
    return word not in _DROPPED


def find_content_words(text: str) -> Iterator[str]:
    """The stems of a text's words that say something of its subject."""
    return (stem(word) for word in _WORD.findall(text.lower()) if is_content(word))


def stem(word: str) -> str:
    """A lower-case word without its most usual English ending. What is too long to be a word stays as it is."""
    return _cut_ending(word) if _SHORTEST_STEM < len(word) <= _LONGEST_WORD else word


@lru_cache(maxsize=65_536)
def _cut_ending(word: str) -> str:
    if word.endswith(("ss", "eed")):
        return word
    for suffix in _SUFFIXES:
        rest = word.removesuffix(suffix)
        if rest != word and len(rest) >= _SHORTEST_STEM:
            return _undouble(rest)
    return word


def _undouble(rest: str) -> str:
    """Let "stopping" meet "stop"; "passing" and "calling" keep what "pass" and "call" have."""
    doubled = len(rest) > _SHORTEST_STEM and rest[-1] == rest[-2] and rest[-1] not in "sl"
    return rest[:-1] if doubled else rest


def _find_places(response: str) -> _Places:
    """For each word, the windows that hold it. Window i is made of sentences i .. i + WINDOW - 1."""
    places: dict[str, list[int]] = {}
    for number, sentence in enumerate(_SENTENCE_END.split(response.lower())):
        for word in {stem(word) for word in _WORD.findall(sentence) if word not in _STOP_WORDS}:
            known = places.setdefault(word, [])
            first = max(number - WINDOW + 1, 0, known[-1] + 1 if known else 0)
            known.extend(range(first, number + 1))
    return places


def _count_best(words: set[str], places: _Places) -> int:
    """How many of the words the best window holds."""
    counts: dict[int, int] = {}
    for word in words:
        for window in places.get(word, ()):
            counts[window] = counts.get(window, 0) + 1
    return max(counts.values(), default=0)


def _split_negation(statement: str) -> tuple[str, bool]:
    """What a lower-case statement is about, and whether it opens by denying it."""
    position = _end_of(_SUBJECT, statement, 0)
    negated = False
    while True:
        after = _end_of(_NEGATION, statement, position)
        if after == position:
            after = _end_of(_PASSED_OVER, statement, position)
            if after == position:
                return statement[position:], negated
        else:
            negated = not negated
        position = after


def _end_of(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return match.end() if match else position


def _logistic(share: float) -> float:
    return 1.0 / (1.0 + math.exp(-STEEPNESS * (share - MIDPOINT)))
