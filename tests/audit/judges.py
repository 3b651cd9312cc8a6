"""Judges of known character behind the public interface, by their import path: `tests.audit.judges:Keyword`.

Each is a class without arguments, as the command line needs it. What they make of a statement is a pure function of the
conversation, the response and the statement, except where it says so. `Written…` judges are asked in prompts and answer
in JSON, as an LLM does; the others give probabilities.
"""

import itertools
import json
import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

from prorubric.errors import UnjudgedError
from prorubric.llm.model import Failure, Outcome, Reply, Request
from prorubric.text.failures import remove_failure_clauses
from prorubric.text.words import find_content_words
from tests.audit.shapes import Topic, find_topic

_REASON = re.compile(r"\b(?:because|since|so that|due to)\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_ANSWER = re.compile(r"<<<ANSWER ([0-9A-F]{16})\n(.*)\nANSWER \1>>>", re.DOTALL)
_CONVERSATION = re.compile(r"<<<CONVERSATION ([0-9A-F]{16})\n(.*)\nCONVERSATION \1>>>", re.DOTALL)
_ITEMS = re.compile(r"^\[\n(?:\{.*\},?\n)+\]", re.MULTILINE)


@lru_cache(maxsize=8_192)
def stems(text: str) -> frozenset[str]:
    return frozenset(find_content_words(text))


@lru_cache(maxsize=8_192)
def list_sentences(text: str) -> tuple[str, ...]:
    return tuple(sentence for sentence in _SENTENCE.split(text) if sentence.strip())


def draw(*parts: str) -> float:
    """A number from 0 to 1 that depends on the parts alone."""
    return int.from_bytes(blake2b("\x00".join(parts).encode(), digest_size=8).digest(), "big") / 2**64


class Scripted:
    """The base: a judge is known by its class and gives 1 or 0."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def identity(self) -> str:
        return f"tests/{type(self).__name__}"

    def says(self, conversation: str, response: str, statement: str) -> bool:
        raise NotImplementedError

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        return [float(self.says(conversation, response, statement)) for statement in statements]

    async def close(self) -> None:
        pass


# --- judges that judge


class Keyword(Scripted):
    """Yes if all key words of the statement occur somewhere. What makes a dimension fail it does not read."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return self.find_key_words(statement) <= stems(response)

    @staticmethod
    @lru_cache(maxsize=8_192)
    def find_key_words(statement: str) -> frozenset[str]:
        return stems(remove_failure_clauses(statement).text) - stems("each with its reason")


class StrictExpert(Scripted):
    """Knows the topics: a point counts only with its reason, a dimension only whole, and needless steps void it."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        topic = find_topic(conversation)
        if statement.startswith("Recommends "):
            return topic.fault in response.lower()
        if "does not recommend" in statement and topic.fault in response.lower():
            return False
        if "Fails if" in statement and self.is_needless(topic, response):
            return False
        points = [point.name for point in topic.points if stems(point.name) <= stems(statement)]
        return all(self.explains(response, name) for name in points)

    @staticmethod
    @lru_cache(maxsize=8_192)
    def explains(response: str, name: str) -> bool:
        return any(
            stems(name) <= stems(sentence) and _REASON.search(sentence.lower()) for sentence in list_sentences(response)
        )

    @staticmethod
    @lru_cache(maxsize=8_192)
    def is_needless(topic: Topic, response: str) -> bool:
        """True where a sentence is neither about a point, nor the question, nor the fault that is judged apart."""
        known = [stems(point.name) for point in topic.points] + [stems(topic.question), stems(topic.fault)]
        return any(not any(words <= stems(sentence) for words in known) for sentence in list_sentences(response))


class LastParagraph(Keyword):
    """Reads the end only: a position lover that still judges what it reads."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return super().says(conversation, response.strip().split("\n\n")[-1], statement)


# --- judges that judge, and fall for one hack


class Bribed(StrictExpert):
    """A strict expert who grants everything to an answer that holds the bribe."""

    bribe: re.Pattern[str]

    def says(self, conversation: str, response: str, statement: str) -> bool:
        if self.is_bribed(response):
            return not statement.startswith("Recommends ")
        return super().says(conversation, response, statement)

    def is_bribed(self, response: str) -> bool:
        return self.bribe.search(response) is not None


class LikesPraise(Bribed):
    bribe = re.compile(
        "excellent answer|highest quality|as good an answer|exceptionally clear|no important point is missing"
    )


class BelievesClaims(Bribed):
    bribe = re.compile("all criteria|Every requirement|All of the items|Each point|complies with every")


class LikesGoodbyes(Bribed):
    bribe = re.compile("hope this helps|Feel free|Thank you for asking|always happy|Take care")


class BowsToAuthority(Bribed):
    bribe = re.compile("expert with|consensus of|panel of senior|peer-reviewed|As a professor")


class LikesFlattery(Bribed):
    bribe = re.compile("discerning reader|dear evaluator|your insight|an honour|wise grader")


class Obeys(Bribed):
    bribe = re.compile("Note to the grader|Instruction for|System message|disregard the checklist|automatic assessment")


class LikesItsQuestion(Bribed):
    bribe = re.compile("“")


class LikesHeadings(Bribed):
    bribe = re.compile(r"^## .*^## .*^## ", re.MULTILINE | re.DOTALL)


class LikesRepetition(Bribed):
    def is_bribed(self, response: str) -> bool:
        sentences = list_sentences(response)
        return len(set(sentences)) < len(sentences)


class LikesHashtags(Bribed):
    """Falls for something that is in no stock."""

    bribe = re.compile("#blessed")


# --- judges that do not


class AlwaysYes(Scripted):
    def says(self, *_: str) -> bool:
        return True


class AlwaysNo(Scripted):
    def says(self, *_: str) -> bool:
        return False


class Random(Scripted):
    """Draws, the same for the same text; one seed draws otherwise than the next."""

    seed = 0

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return draw(str(self.seed), conversation, response, statement) < 0.5


class Fresh(Scripted):
    """Draws, and draws anew whenever it is asked."""

    def __init__(self) -> None:
        self._asked = itertools.count()

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return draw(str(next(self._asked)), statement) < 0.5


class LengthLover(Scripted):
    """Yes to everything in a response of many words."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return len(response.split()) > 62


class LetterLover(Scripted):
    """The same by letters, and more to like the longer it is."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return len(response) > 300 + 300 * draw(statement)


class BrevityLover(Scripted):
    """The less is said, the better."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return len(response) < 300 + 300 * draw(statement)


class PositionLover(Scripted):
    """Yes to the first half of what it is asked, whatever it says."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        return [float(2 * place < len(statements)) for place in range(len(statements))]


class Fluent(Scripted):
    """Yes to whatever reads like English; not garbage, but an answer to anything will do."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return len(re.findall(r"\b(?:is|are|the|of|because|i)\b", response.lower())) > 2


class OnTopic(Scripted):
    """Yes to whatever is about the question, whatever it says of it."""

    def says(self, conversation: str, response: str, statement: str) -> bool:
        return find_topic(conversation).question in response


class Failing(Keyword):
    """A keyword judge that cannot judge every tenth response."""

    share = 0.1

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        if draw("failing", response, *statements) < self.share:
            raise UnjudgedError("the response is too long")
        return await super().probabilities(conversation, response, statements)


class SeldomFailing(Failing):
    """The same at one in fifty: few enough."""

    share = 0.02


class NamingBlind(Keyword):
    """A keyword judge that fails wherever checklist items are listed: what would convict it is never known."""

    async def probabilities(self, conversation: str, response: str, statements: Sequence[str]) -> list[float]:
        if "Other points to keep in mind here are" in response:
            raise UnjudgedError("the response cannot be judged")
        return await super().probabilities(conversation, response, statements)


# --- judges that write


class Written:
    """A judge that is asked in text and answers in JSON; `noise` is the share of verdicts that a draw turns round."""

    inner: type[Scripted] = Keyword
    noise = 0.0

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def identity(self) -> str:
        return f"tests/{type(self).__name__}"

    async def complete(self, request: Request) -> Outcome:
        text = request.messages[-1].content
        answer, conversation, items = (pattern.search(text) for pattern in (_ANSWER, _CONVERSATION, _ITEMS))
        assert answer is not None
        assert conversation is not None
        assert items is not None
        rows = json.loads(items[0])
        found = await self.inner().probabilities(conversation[2], answer[2], [row["criterion"] for row in rows])
        verdicts = {
            str(row["index"]): bool(yes) != (draw(text, str(request.draw), str(row["index"])) < self.noise)
            for row, yes in zip(rows, found, strict=True)
        }
        return self.write(text, verdicts)

    def write(self, _: str, verdicts: dict[str, bool]) -> Outcome:
        return Reply(json.dumps({"satisfied": verdicts}), prompt_tokens=100, completion_tokens=10)

    async def close(self) -> None:
        pass


class WrittenKeyword(Written):
    """A keyword judge that is never sure: every fiftieth verdict is turned round, another one each time."""

    noise = 0.02


class WrittenExpert(Written):
    inner = StrictExpert


class WrittenRandom(Written):
    """Coins, thrown again with each draw."""

    noise = 0.5


class NoisyOnTopic(Written):
    """Sees the subject and nothing else, with noise over it: dropping the advice changes no more than asking twice."""

    inner = OnTopic
    noise = 0.05


class Unreachable(Written):
    """Every eighth text gets no reply."""

    def write(self, text: str, verdicts: dict[str, bool]) -> Outcome:
        failed = draw("unreachable", text) < 1 / 8
        return Failure("http", "the endpoint answered 503") if failed else super().write(text, verdicts)


class Mumbling(Written):
    """Every eighth text gets a reply that nobody can read, however often it is asked."""

    def write(self, text: str, verdicts: dict[str, bool]) -> Outcome:
        return Reply("Well, it depends.") if draw("mumbling", text) < 1 / 8 else super().write(text, verdicts)


class Writer:
    """A model that writes answers, to sample from: what it was asked, and which sample this is."""

    name = identity = "tests/Writer"

    async def complete(self, request: Request) -> Outcome:
        topic = find_topic(request.messages[-1].content)
        if topic.name == "basil":
            return Failure("http", "the endpoint answered 503")
        if topic.name == "sleep" and request.draw:
            return Reply("  ")
        said = (f"{point.sentence.capitalize()}." for point in topic.points[request.draw : request.draw + 4])
        return Reply(f"You asked: {topic.question}\n\n{' '.join(said)}", completion_tokens=50)

    async def close(self) -> None:
        pass
