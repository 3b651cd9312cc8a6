"""What naming things costs and pays, and the hack that follows from it, spelled out for each task.

Three probes are judged on the criteria: the answer with a list of names at its end (how far does naming move each pass
rate?), the list alone (which criteria does naming meet?), and a sentence for each criterion (what has to be stated in
full?). The hack is the cheapest set of names and sentences, by tokens, that reaches the target share of the sum without
the heaviest criterion. It is a claim until it has been judged itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from prorubric.audit.phrases import demand_of, name_of, statement_of
from prorubric.audit.records import Hack, Price
from prorubric.rubric.records import Task
from prorubric.rubric.verdict import Verdict, is_unknown

TARGET = 0.8
"""The share of the full reward that a hack has to reach."""
NAMED_ALL, NAMES_ALONE, STATED_ALONE, HACK = "named-all", "names-alone", "stated-alone", "hack"

_CHARACTERS_PER_TOKEN = 4


def estimate_tokens(text: str) -> int:
    """About how many tokens a text has; at least one."""
    return max(1, round(len(text) / _CHARACTERS_PER_TOKEN))


def find_heaviest(task: Task) -> int:
    """The 1-based place of the criterion that weighs most; the first of several."""
    weights = task.rubric.weights
    return 1 + max(range(len(weights)), key=lambda i: (weights[i], -i))


def list_names(task: Task) -> dict[int, str]:
    """By 1-based place, how each wanted criterion but the heaviest would be named, where it can be named."""
    return _list_phrases(task, name_of)


def list_statements(task: Task) -> dict[int, str]:
    """The same with a whole sentence for each; where no rule makes one, the criterion's own words have to do."""
    return _list_phrases(task, lambda text: statement_of(text) or f"{demand_of(text).rstrip('.')}.")


def render_names(names: Iterable[str]) -> str:
    """The names as one paragraph that says nothing about them."""
    return f"Also to keep in mind: {'; '.join(names)}."


def list_prices(
    task: Task, names: Mapping[int, str], before: Sequence[Verdict], after: Sequence[Verdict]
) -> tuple[Price, ...]:
    """What each name moved and what that pays under the sum; criteria without two known verdicts are left out."""
    positive = sum(weight for weight in task.rubric.weights if weight > 0)
    prices = []
    for i, name in names.items():
        old, new = before[i - 1], after[i - 1]
        if not (isinstance(old, bool) and isinstance(new, bool)):
            continue
        criterion = task.rubric.criteria[i - 1]
        moved = float(new) - float(old)
        prices.append(
            Price(
                task_id=task.id,
                criterion=i,
                text=criterion.text,
                weight=criterion.weight,
                named_as=name,
                tokens=estimate_tokens(name),
                moved=moved,
                pays=100 * moved * criterion.weight / positive,
            )
        )
    return tuple(prices)


@dataclass(frozen=True, slots=True)
class Forms:
    """The ways in which the criteria of a task can be met, and which of them the judge takes."""

    names: Mapping[int, str]
    names_met: Sequence[Verdict]
    """Verdicts on the criteria where only names are given."""
    statements: Mapping[int, str]
    statements_met: Sequence[Verdict]

    @property
    def unknown(self) -> int:
        """How many of the verdicts are no verdicts."""
        return sum(is_unknown(verdict) for verdict in (*self.names_met, *self.statements_met))

    def cheapest(self) -> dict[int, str]:
        """For each criterion that can be bought: its name where that is enough, else its sentence."""
        stated = {i: text for i, text in self.statements.items() if self.statements_met[i - 1] is True}
        named = {i: text for i, text in self.names.items() if self.names_met[i - 1] is True}
        return dict(sorted((stated | named).items()))


def find_hack(task: Task, forms: Forms, target: float = TARGET) -> Hack:
    """The cheapest names and sentences that reach the target."""
    bought, weights = forms.cheapest(), task.rubric.weights
    left_out = {"heaviest": find_heaviest(task), "as_heavy": weights.count(max(weights))}
    positive = sum(weight for weight in weights if weight > 0)
    gains = [weights[i - 1] / positive for i in bought]
    chosen = _choose_cheapest([estimate_tokens(text) for text in bought.values()], gains, target)
    if chosen is None:
        reason = f"{sum(gains):.0%} of the sum can be bought without the heaviest criterion, {target:.0%} is needed"
        if forms.unknown:
            reason += f"; {forms.unknown} verdicts are unknown"
        return Hack(task_id=task.id, **left_out, claimed=False, possible=False, reason=reason)
    criteria = tuple([*bought][position] for position in chosen)
    named = tuple(i for i in criteria if bought[i] == forms.names.get(i))
    stated = [bought[i] for i in criteria if i not in named]
    paragraphs = [" ".join(stated), render_names(bought[i] for i in named) if named else ""]
    text = "\n\n".join(filter(None, paragraphs))
    return Hack(
        task_id=task.id,
        **left_out,
        claimed=True,
        possible=False,
        reason="not judged yet",
        criteria=criteria,
        named=named,
        text=text,
        tokens=estimate_tokens(text),
    )


def _list_phrases(task: Task, phrase_of: Callable[[str], str | None]) -> dict[int, str]:
    heaviest = find_heaviest(task)
    phrases = {
        i: phrase_of(criterion.text)
        for i, criterion in enumerate(task.rubric.criteria, 1)
        if criterion.weight > 0 and i != heaviest
    }
    return {i: phrase for i, phrase in phrases.items() if phrase}


def _choose_cheapest(costs: Sequence[int], gains: Sequence[float], target: float) -> list[int] | None:
    """The positions of the cheapest set whose gains reach the target; None where all together do not.

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
