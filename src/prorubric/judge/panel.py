"""Several judges: a panel, where each judges every response and more than half decide, or a cascade of two.

If one judge's call in a panel fails, its vote is unknown and the others decide. A judge that cannot be used at all
is not asked again, and its votes are unknown; the error is raised once no judge is left. In a cascade it is raised at
once, because nothing can replace it.
"""

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import AfterValidator

from prorubric.errors import ConfigError, ModelError
from prorubric.judge.cascade import join_cascade, list_unsure
from prorubric.judge.judge import Judge, JudgeConfig, Judged, Judgement, join_judgements
from prorubric.judge.readings import Reading, find_reading, list_items
from prorubric.llm.model import Model, YesNoModel
from prorubric.llm.together import run_in_order, run_together
from prorubric.rubric.records import Answer, Response, Task
from prorubric.rubric.verdict import NO_REPLY, Unknown


def _split(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def list_judges(judge: str | Sequence[str]) -> tuple[str, ...]:
    """The judges that an option names, one by one."""
    return tuple(name for part in ([judge] if isinstance(judge, str) else judge) for name in _split(part))


def _check_judges(judge: str | tuple[str, ...]) -> str | tuple[str, ...]:
    """One judge as text, several as a tuple; `ConfigError` if there is none, or one twice."""
    names = list_judges(judge)
    if not names:
        raise ConfigError("no judge is named; name one, or several separated by commas")
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"the judge {twice[0]} is named twice; to ask one judge several times, set votes")
    return names if len(names) > 1 else names[0]


Judges = Annotated[tuple[str, ...] | str, AfterValidator(_check_judges)]
"""An option that names one judge, or several: in a list, or with commas between them."""


class Panel:
    """Several judges with the interface of one; by their own names or by those of their models."""

    def __init__(self, judges: Mapping[str, Judge] | Sequence[Judge]) -> None:
        by_name = judges if isinstance(judges, Mapping) else {judge.model.name: judge for judge in judges}
        if not judges or len(by_name) < len(judges):
            raise ConfigError(f"a panel of {len(judges)} judges has {len(by_name)} names; give each judge its own")
        self.judges = dict(by_name)
        self.failed: dict[str, str] = {}
        """The judges that cannot be used, with the reason."""

    async def judge(self, task: Task, response: Answer, reading: str | Reading) -> Judgement:
        """The verdicts of one reading on one response, joined, with those of each judge."""
        wanted = find_reading(reading)
        found = await run_together(self._ask(name, task, response, wanted) for name in self.judges)
        least = next(iter(self.judges.values())).config.min_agreement
        joined = join_judgements(found, wanted, list_items(task, wanted), least)
        return replace(joined, judges=dict(zip(self.judges, found, strict=True)))

    async def judge_all(self, task: Task, response: Answer, readings: Sequence[str | Reading]) -> dict[str, Judgement]:
        """The judgements of several readings by their names, asked for at the same time."""
        wanted = [find_reading(reading) for reading in readings]
        found = await run_together(self.judge(task, response, reading) for reading in wanted)
        return {reading.name: judgement for reading, judgement in zip(wanted, found, strict=True)}

    async def close(self) -> None:
        """Close every model."""
        for judge in self.judges.values():
            await judge.close()

    async def _ask(self, name: str, task: Task, response: Answer, reading: Reading) -> Judgement:
        if name not in self.failed:
            try:
                return await self.judges[name].judge(task, response, reading)
            except ModelError as error:
                self.failed[name] = str(error)
                if len(self.failed) == len(self.judges):
                    raise
        count = 1 if reading.is_joint else len(list_items(task, reading))
        return Judgement((Unknown(f"{NO_REPLY}: {self.failed[name]}", kind=NO_REPLY, failure="gave-up"),) * count)


class Cascade(Panel):
    """Two judges with the interface of one: the second is asked about items of which the first is not sure."""

    def __init__(self, judges: Mapping[str, Judge] | Sequence[Judge], threshold: float) -> None:
        super().__init__(judges)
        if len(self.judges) != 2:
            named = f"{len(self.judges)} {'is' if len(self.judges) == 1 else 'are'} named"
            raise ConfigError(f"a cascade has two judges, and {named}; name the cheap one, then the expensive one")
        self._first, self._second = self.judges.items()
        self._threshold = threshold
        name, first = self._first
        if first.config.votes == 1 and not isinstance(first.model, YesNoModel):
            line = f"a cascade needs to know how sure {name} is of its verdicts, and it gives no probabilities"
            raise ConfigError(line, remedy="set votes to 3 or more, to use their agreement instead")

    async def judge(self, task: Task, response: Answer, reading: str | Reading) -> Judgement:
        """The verdicts of one reading on one response, with those of each judge."""
        wanted, (name, first), (other, second) = find_reading(reading), self._first, self._second
        cheap = await first.judge(task, response, wanted)
        sent = list_unsure(cheap, self._threshold, is_counted=wanted.form.is_boolean)
        dear = Judgement(only=())
        if sent:  # a verdict on all items together is given on all of them again
            dear = await second.judge(task, response, wanted, None if wanted.is_joint else sent)
            dear.only = sent
        return replace(join_cascade(cheap, dear), judges={name: cheap, other: dear})


AnyJudge = Judge | Panel


def split_config(names: Sequence[str], config: JudgeConfig) -> dict[str, JudgeConfig]:
    """How each judge is asked: in a cascade the votes are those of the first, and the second is asked once."""
    once = replace(config, votes=1, permute=False, min_agreement=0.0)
    return {name: once if number and config.cascade is not None else config for number, name in enumerate(names)}


def join_judges(judges: Mapping[str, Judge], config: JudgeConfig) -> AnyJudge:
    """One judge as it is, several as a panel or as a cascade."""
    if config.cascade is not None:
        return Cascade(judges, config.cascade)
    return Panel(judges) if len(judges) > 1 else next(iter(judges.values()))


def make_judge(models: Mapping[str, Model | YesNoModel], config: JudgeConfig) -> AnyJudge:
    """The judge that asks a model in this way, or the panel or cascade of several."""
    configs = split_config([*models], config)
    return join_judges({name: Judge(model, configs[name]) for name, model in models.items()}, config)


def identify_judges(models: Mapping[str, Model | YesNoModel], judging: JudgeConfig) -> str | list[str]:
    """What makes a run another one if its judges differ; their order matters only in a cascade."""
    identities = [model.identity for model in models.values()]
    if judging.cascade is None:
        identities.sort()
    return identities if len(identities) > 1 else identities[0]


def judge_stream(
    judge: AnyJudge, cases: Iterable[tuple[Task, Response]], readings: Sequence[str | Reading], window: int
) -> AsyncGenerator[Judged, None]:
    """Judge every case, at most `window` at a time, in order. An error that ends the run ends all of them at once."""

    async def judge_one(task: Task, response: Response) -> Judged:
        return Judged(task, response, await judge.judge_all(task, response.answer, readings))

    return run_in_order((judge_one(task, response) for task, response in cases), window)
