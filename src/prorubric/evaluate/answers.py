"""The answers of every policy, sampled or read from a file; all are collected before a judge sees the first one."""

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Coroutine, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from prorubric.datasets.load import load_responses
from prorubric.datasets.rejects import Reject, Rejects
from prorubric.errors import SourceError
from prorubric.evaluate.benchmarks.base import Loaded
from prorubric.evaluate.instruments import INSTRUMENTS
from prorubric.evaluate.records import BenchmarkItem, Policy, PolicyAnswer, Sampling
from prorubric.files.json import parse_json
from prorubric.llm.make import require_text
from prorubric.llm.model import Outcome, Reply, Request
from prorubric.rubric.records import Message
from prorubric.runs.models import AnyModel

REFUSED = "refused"
"""The finish of an answer that the policy's endpoint refused to give, for example because the prompt is too long."""

NO_ITEM, NOT_NEEDED = "no item has this id", "more answers than are needed"
"""Kinds of rows that can be read and are not used: with a limit, or of a file for several benchmarks, that is usual."""

_SHOWN_IDS = 3


class AnswerKey(NamedTuple):
    """Which answer it is."""

    policy: str
    item: str
    sample: int
    budget: int | None


@dataclass(frozen=True, slots=True)
class Wanted:
    """One answer to ask for."""

    key: AnswerKey
    messages: tuple[Message, ...]
    sampling: Sampling


class Answered(NamedTuple):
    """What came back."""

    key: AnswerKey
    outcome: Outcome


def list_keys(loaded: Loaded, policy: str, samples: int | None) -> Iterator[tuple[AnswerKey, BenchmarkItem]]:
    """The answers of one policy that a benchmark needs: one for a pair, and none if its items bring their own."""
    is_paired = INSTRUMENTS[loaded.benchmark.instrument].kind == "pairs"
    draws = 1 if is_paired else samples or loaded.benchmark.samples
    for item in loaded.items:
        if item.answer is None:
            for sample in range(draws):
                yield AnswerKey(policy, item.id, sample, loaded.benchmark.budget), item


def list_wanted(
    benchmarks: Iterable[Loaded],
    policies: Iterable[Policy],
    paired: Container[str],
    sampling: Sampling | None,
    samples: int | None,
) -> Iterator[Wanted]:
    """Every answer once, however many benchmarks need it; blind pairs need only the policies that are `paired`.

    Without a sampling each benchmark's own is used, and the published settings of a benchmark win over the project's
    own for the same prompt.
    """
    loaded = sorted(benchmarks, key=lambda one: one.benchmark.sampling == Sampling())
    for policy in policies:
        seen: set[AnswerKey] = set()
        for one in loaded:
            if INSTRUMENTS[one.benchmark.instrument].kind == "pairs" and policy.name not in paired:
                continue
            used = sampling or one.benchmark.sampling
            if one.benchmark.budget is not None:
                used = replace(used, max_tokens=one.benchmark.budget)
            for key, item in list_keys(one, policy.name, samples):
                if key not in seen:
                    seen.add(key)
                    yield Wanted(key, item.messages, used)


def start_answering(names: Sequence[str], *models: AnyModel) -> Callable[[Wanted], Coroutine[Any, Any, Answered]]:
    """The function that asks a policy, by its name, for one answer."""
    policies = {name: require_text(model) for name, model in zip(names, models, strict=True)}

    async def answer(wanted: Wanted) -> Answered:
        used = wanted.sampling
        request = Request(
            wanted.messages,
            max_tokens=used.max_tokens,
            temperature=used.temperature,
            top_p=used.top_p,
            top_k=used.top_k,
            min_p=used.min_p,
            seed=used.seed,
            thinking=used.thinking,
            draw=wanted.key.sample,
        )
        return Answered(wanted.key, await policies[wanted.key.policy].complete(request))

    return answer


def keep_answer(asked: Answered) -> PolicyAnswer | None:
    """The row of `answers.jsonl`; None if the call failed and has to be made again.

    An endpoint that refuses a prompt gives no answer to it, however often it is asked: that is the policy's result.
    """
    about = {"policy": asked.key.policy, "item": asked.key.item, "sample": asked.key.sample, "budget": asked.key.budget}
    match asked.outcome:
        case Reply(text=text, finish=finish, completion_tokens=tokens):
            return PolicyAnswer(**about, text=text, finish=finish, tokens=tokens or None)
        case failure if failure.is_refusal:
            return PolicyAnswer(**about, text="", finish=REFUSED)
    return None


def read_answers(policy: Policy, wanted: Iterable[AnswerKey], rejects: Rejects) -> Iterator[PolicyAnswer]:
    """The answers that a file has to the items; a row for no item is a reject, and a missing answer stays missing.

    An id may be given without the name of its benchmark if only one benchmark has it.
    """
    path, keys = Path(policy.spec), defaultdict[tuple[str, int], list[AnswerKey]](list)
    for key in wanted:
        keys[key.item, key.sample].append(key)
    ids = dict.fromkeys(item for item, _ in keys)
    short = Counter(name.partition("/")[2] for name in ids)
    names = {name.partition("/")[2]: name for name in ids if short[name.partition("/")[2]] == 1}
    shown = ", ".join([*ids][:_SHOWN_IDS]) + (", …" if len(ids) > _SHOWN_IDS else "")
    stream = load_responses(path, on_reject=rejects.add)
    for row in stream:
        name = row.task_id if row.task_id in ids else names.get(row.task_id, "")
        found, finish = keys.pop((name, row.sample), []), row.meta.get("finish")
        if not found:
            if name:
                reason = f"answer {row.sample + 1} to {row.task_id!r} is not needed; --samples asks for more"
            else:
                reason = f"no item is called {row.task_id!r}; the items are {shown}"
            rejects.add(Reject(str(path), stream.line, reason, NOT_NEEDED if name else NO_ITEM))
        for key in found:
            ended = finish if isinstance(finish, str) else None
            yield PolicyAnswer(**key._asdict(), text=row.text or "", finish=ended, tokens=row.tokens)


class AnswerFile:
    """The answers in `answers.jsonl`, read one at a time: only their places are in memory."""

    def __init__(self, path: Path) -> None:
        self._path, self._places = path, dict[AnswerKey, int]()
        with path.open("rb") as rows:
            place = 0
            for line in rows:
                self._places[_key_of(PolicyAnswer(**parse_json(line)))] = place
                place += len(line)

    def __contains__(self, key: AnswerKey) -> bool:
        return key in self._places

    def read(self, keys: Iterable[AnswerKey]) -> Iterator[PolicyAnswer]:
        """Those of the answers that exist, in order."""
        with self._path.open("rb") as rows:
            for key in keys:
                if key in self._places:
                    rows.seek(self._places[key])
                    answer = PolicyAnswer(**parse_json(rows.readline()))
                    if _key_of(answer) != key:
                        raise SourceError(f"{self._path}: changed while it was read; run the command again")
                    yield answer


def _key_of(answer: PolicyAnswer) -> AnswerKey:
    return AnswerKey(answer.policy, answer.item, answer.sample, answer.budget)
