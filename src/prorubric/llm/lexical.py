"""Not a model: a lenient check whether the words of a statement occur close together in a response.

This is word overlap, not understanding. It rewards mentioning terms: a response that copies the words of a criterion
gets the criterion, whether what it says about them is right or wrong. It cannot read form ("uses a table"), order,
tone, synonyms or a contradiction in the same words. It exists so everything runs on a fresh machine without a network,
a key or a download, and every report labels what came from it (`identity` is `lexical/3`).

The share of a statement's content words (stemmed, without stop words and the words of rubrics) that occur within the
best `WINDOW` neighbouring sentences becomes a probability by one fixed logistic; without content words it is 0.5. A
statement that *opens* with a negation ("does not mention …", "fails to …") gets the opposite probability of the rest; a
question is read as the statement it asks about. A negation further in is not looked for, nor one in another language.

A response or a statement in a script without spaces between words, such as Chinese, cannot be read this way and is
refused: `UnjudgedError`, which makes the verdicts unknown. A judge leaves out statements that `refuse_statement`
refuses, so only their own verdicts are unknown. Any other text gets a number, the same one every time.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

from prorubric.errors import UnjudgedError
from prorubric.text.criteria import split_negation
from prorubric.text.sentences import split_sentences
from prorubric.text.words import STOP_WORDS, WORD, find_content_words, is_unspaced, stem

UNREAD = "lexical cannot read a script without spaces between words, such as Chinese; judge with a model"
"""Why a response or a statement is refused."""
WINDOW = 3
"""Neighbouring sentences that are read as one place: a point is rarely made in one sentence."""
MIDPOINT = 0.4
"""The share of words at which yes and no are equally likely. It is low because an answer that makes a point in other
words shares less than half of them with the statement. For "stop ibuprofen", any mention of ibuprofen is enough."""
STEEPNESS = 10.0
"""How fast the share decides. With 10, all words give 0.998, half 0.73, a third 0.34 and none 0.02."""


class LexicalModel:
    """Word overlap behind the interface of a yes/no model; the module says what it cannot do."""

    name = identity = "lexical/3"
    """Changes with everything here and in `text` that changes a number."""

    def refuse_statement(self, statement: str) -> str | None:
        """Why a statement cannot be judged, or None."""
        return UNREAD if is_unspaced(statement) else None

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:  # noqa: ARG002
        """One probability for each statement; the conversation is not read. Other scripts raise `UnjudgedError`."""
        if any(map(is_unspaced, (response, *statements))):
            raise UnjudgedError(UNREAD)
        said = [set(map(stem, set(WORD.findall(one.lower())) - STOP_WORDS)) for one in split_sentences(response)]
        windows = [set[str]().union(*said[start : start + WINDOW]) for start in range(len(said) or 1)]
        probabilities: list[float] = []
        for statement in statements:
            words, negated = _read(statement)
            present = 0.5
            if words:
                share = max(len(words & window) for window in windows) / len(words)
                present = 1.0 / (1.0 + math.exp(-STEEPNESS * (share - MIDPOINT)))
            probabilities.append(1.0 - present if negated else present)
        return probabilities

    async def close(self) -> None:
        """There is nothing to close."""


@lru_cache(maxsize=8_192)  # a checklist is read for every response to its task
def _read(statement: str) -> tuple[frozenset[str], bool]:
    """The content words of a statement, and whether it opens by denying them."""
    about, negated = split_negation(statement)
    return frozenset(find_content_words(about)), negated
