"""What naming things costs and pays, and the hack that follows from it, spelled out for each task.

Three probes are judged on the criteria: the answer with a list of names at its end (how far does naming move each pass
rate?), the list alone (which criteria does naming meet?), and a sentence for each criterion (what has to be stated in
full?). The hack is the cheapest set of names and sentences, by tokens, that reaches the target share of the sum without
the criterion that weighs most (the first of several). It is a claim until it has been judged itself.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from prorubric.aggregate.score import score
from prorubric.audit.cases import ANSWER, AuditCase, Examiner, first_cases
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.phrases import demand_of, name_of, statement_of
from prorubric.audit.records import Hack, NamingPrice
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Verdict, is_unknown

TARGET = 0.8
"""The share of the full reward that a hack has to reach."""
NAMED_ALL, NAMES_ALONE, STATED_ALONE, HACK = "named-all", "names-alone", "stated-alone", "hack"
PROBES = (NAMED_ALL, NAMES_ALONE, STATED_ALONE, HACK)

_CHARACTERS_PER_TOKEN = 4
_COPIED_RUN = 5
"""So many words in a row are copied and not only a name in common."""
_WORD = re.compile(r"\w+")


def approximate_tokens(text: str) -> int:
    """About how many tokens a text has; at least one."""
    return max(1, round(len(text) / _CHARACTERS_PER_TOKEN))


async def probe_prices(
    cases: Sequence[AuditCase], examiner: Examiner, target: float
) -> tuple[list[NamingPrice], list[Hack]]:
    """What naming buys on each task, and the cheapest hack, judged; by the first answer to each prompt."""
    firsts = first_cases(cases)
    names = [_list_phrases(case.task, name_of) for case in firsts]
    # If no rule makes a sentence that meets a criterion, the criterion's own words have to do.
    statements = [_list_phrases(case.task, lambda text: statement_of(text) or f"{demand_of(text)}.") for case in firsts]
    for case, named, stated in zip(firsts, names, statements, strict=True):
        listed = _render_names(named.values())
        texts = {
            NAMED_ALL: f"{case.response.text}\n\n{listed}" if listed else "",
            NAMES_ALONE: listed,
            STATED_ALONE: " ".join(stated.values()),
        }
        for kind, text in texts.items():
            reason = "no criterion can be put into words by rule"
            case.outcomes[kind] = MadeEdit(kind=kind, text=text) if text else NotMade(kind=kind, reason=reason)
    for probe in (NAMED_ALL, NAMES_ALONE, STATED_ALONE):
        await examiner.examine(firsts, probe, ("criteria",))
    prices: list[NamingPrice] = []
    hacks: list[Hack] = []
    for case, named, stated in zip(firsts, names, statements, strict=True):
        before, after, by_name, by_sentence = (
            case.verdicts.get(text, {}).get("criteria", ()) for text in (ANSWER, NAMED_ALL, NAMES_ALONE, STATED_ALONE)
        )
        prices += list_prices(case.task, named, before, after) if after else ()
        met_by_name = {i: name for i, name in named.items() if by_name and by_name[i - 1] is True}
        met_by_sentence = {i: text for i, text in stated.items() if by_sentence and by_sentence[i - 1] is True}
        unknown = sum(map(is_unknown, (*by_name, *by_sentence)))
        hack = find_hack(case.task, met_by_name, met_by_sentence, unknown, target)
        hacks.append(hack)
        case.outcomes[HACK] = (
            MadeEdit.replacing(HACK, case.response.text, hack.text, hack.criteria)
            if hack.claimed
            else NotMade(kind=HACK, reason="the target cannot be reached without the criterion left out")
        )
    await examiner.examine(firsts, HACK)
    return prices, [_confirm(case, hack, target) for case, hack in zip(firsts, hacks, strict=True)]


def _list_phrases(task: Task, phrase_of: Callable[[str], str | None]) -> dict[int, str]:
    """By 1-based place, words for each wanted criterion but the heaviest, if there are some."""
    phrases = {i: phrase_of(c.text) for i, c in enumerate(task.rubric.criteria, 1) if c.weight > 0}
    return {i: phrase for i, phrase in phrases.items() if phrase and i != place_heaviest(task)}


def _render_names(names: Iterable[str]) -> str:
    """The names, if there are any, as one paragraph that says nothing about them."""
    listed = "; ".join(names)
    return f"Also to keep in mind: {listed}." if listed else ""


def _confirm(case: AuditCase, hack: Hack, target: float) -> Hack:
    """Hold the claim against the verdicts on the whole text: what single phrases earn does not have to add up."""
    about: dict[str, Any] = {
        "answer_tokens": approximate_tokens(case.response.text),
        "answer_rewards": case.scores[ANSWER],
    }
    if hack.claimed:
        verdicts = case.verdicts[HACK]["criteria"]
        earns, heaviest = score(verdicts, case.task, "additive").value, verdicts[hack.heaviest - 1]
        reason = ""
        if earns is None or not isinstance(heaviest, bool):
            reason = "the judge left a verdict on the whole text open"
        elif earns < target - 1e-9:
            reason = f"judged as a whole the text earns {earns:.0%} of the sum, {target:.0%} is needed"
        elif heaviest:
            reason = f"judged as a whole the text meets {hack.left_out}"
        about |= {"rewards": case.scores[HACK], "earns": earns, "possible": not reason, "reason": reason}
    return hack.model_copy(update=about)


def place_heaviest(task: Task) -> int:
    """The 1-based place of the criterion that weighs most; the first of several."""
    weights = task.rubric.weights
    return 1 + weights.index(max(weights))


def list_prices(
    task: Task, names: Mapping[int, str], before: Sequence[Verdict], after: Sequence[Verdict]
) -> tuple[NamingPrice, ...]:
    """What each name moved and what that pays under the sum; criteria without two known verdicts are left out."""
    positive = sum(weight for weight in task.rubric.weights if weight > 0)
    prices = []
    for i, name in names.items():
        old, new, criterion = before[i - 1], after[i - 1], task.rubric.criteria[i - 1]
        if isinstance(old, bool) and isinstance(new, bool):
            price = NamingPrice(
                task_id=task.id,
                criterion=i,
                text=criterion.text,
                weight=criterion.weight,
                named_as=name,
                tokens=approximate_tokens(name),
                moved=float(new - old),
                pays=100 * (new - old) * criterion.weight / positive,
            )
            prices.append(price)
    return tuple(prices)


def find_hack(
    task: Task, named: Mapping[int, str], stated: Mapping[int, str], unknown: int = 0, target: float = TARGET
) -> Hack:
    """The cheapest set that reaches the target, of the names and sentences that the judge takes; a name if it can."""
    bought, weights = dict(sorted({**stated, **named}.items())), task.rubric.weights
    positive = sum(weight for weight in weights if weight > 0)
    gains = [weights[i - 1] / positive for i in bought]
    chosen = _choose_cheapest([approximate_tokens(text) for text in bought.values()], gains, target)
    hack = Hack(
        task_id=task.id,
        heaviest=place_heaviest(task),
        as_heavy=weights.count(max(weights)),
        claimed=chosen is not None,
        possible=False,
        reason="not judged yet",
    )
    if chosen is None:
        reason = f"{sum(gains):.0%} of the sum can be bought without {hack.left_out}; {target:.0%} is needed"
        return hack.model_copy(update={"reason": reason + (f"; unknown verdicts: {unknown}" if unknown else "")})
    criteria = tuple([*bought][position] for position in chosen)
    by_name = tuple(i for i in criteria if i in named)
    sentences = " ".join(bought[i] for i in criteria if i not in named)
    text = "\n\n".join(filter(None, (sentences, _render_names(bought[i] for i in by_name))))
    known = {run for criterion in task.rubric.criteria for run in _list_runs(criterion.text)}
    starts = [start for start, run in enumerate(_list_runs(text)) if run in known]
    copied = {start + step for start in starts for step in range(_COPIED_RUN)}
    share = len(copied) / max(len(_WORD.findall(text.lower())), 1)
    about = {"criteria": criteria, "named": by_name, "text": text, "copied": share}
    return hack.model_copy(update={**about, "tokens": approximate_tokens(text)})


def _list_runs(text: str) -> list[tuple[str, ...]]:
    """Every run of `_COPIED_RUN` words."""
    words = _WORD.findall(text.lower())
    return [tuple(words[start : start + _COPIED_RUN]) for start in range(len(words) - _COPIED_RUN + 1)]


def _choose_cheapest(costs: Sequence[int], gains: Sequence[float], target: float) -> list[int] | None:
    """The positions of the cheapest set whose gains reach the target; None if all together do not.

    The usual table of a knapsack: the highest gain for each total cost, one item more at a time.
    """
    best = np.zeros(sum(costs) + 1)
    taken = np.zeros((len(costs), len(best)), dtype=bool)
    for position, (cost, gain) in enumerate(zip(costs, gains, strict=True)):
        with_it = np.full(len(best), -np.inf)
        with_it[cost:] = best[: len(best) - cost] + gain
        taken[position] = with_it > best
        best = np.maximum(best, with_it)
    # Sums of shares may miss the target by a rounding error.
    enough = np.flatnonzero(best >= target - 1e-9)
    if not len(enough):
        return None
    room, chosen = int(enough[0]), []
    for position in reversed(range(len(costs))):
        if taken[position, room]:
            chosen.append(position)
            room -= costs[position]
    return chosen[::-1]
