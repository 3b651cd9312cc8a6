"""The policy: a small network that reads the case and the set of moves already said, and chooses the next move.

A move already said cannot be said again. The first layer adds one row of a table for each move said, so a whole answer
is scored with a running sum instead of a matrix product. One thread: runs are parallel, not steps.
"""

from dataclasses import dataclass

import torch

from prorubric.lab.world import END, Bools, Ints

HIDDEN = 64
MOST_MOVES = 64
_FORBIDDEN = -1e9


@dataclass(frozen=True)
class Rollout:
    """Sampled answers. Axes: R answers, L places."""

    moves_R_L: Ints  # move numbers, filled up with `END`
    chosen_R_L: Bools
    """True at each choice of the policy: the moves, and the `END` that closed the answer unless the limit did."""
    logp_R_L: torch.Tensor  # the log-probability of each choice; 0 elsewhere


class LabPolicy(torch.nn.Module):  # type: ignore[misc]  # torch is an extra
    """Case and set of moves to the next move."""

    def __init__(self, inputs: int, moves: int, seed: int) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.case = torch.nn.Linear(inputs, HIDDEN)
            self.said = torch.nn.Parameter(torch.randn(moves, HIDDEN) * 0.1)
            self.middle = torch.nn.Linear(HIDDEN, HIDDEN)
            self.out = torch.nn.Linear(HIDDEN, moves)

    def score(self, summed: torch.Tensor) -> torch.Tensor:
        """Scores of all moves from the summed first layer."""
        scores: torch.Tensor = self.out(torch.tanh(self.middle(torch.tanh(summed))))
        return scores

    def choice_logp(self, cases_R: torch.Tensor, moves_R_L: torch.Tensor, chosen_R_L: torch.Tensor) -> torch.Tensor:
        """Log-probabilities of the choices made, as one row in the order of `chosen_R_L`."""
        table = self.said.clone()
        table[END] = 0
        before = torch.cumsum(table[moves_R_L[:, :-1]], dim=1)
        before = torch.cat([torch.zeros(len(before), 1, HIDDEN), before], dim=1)
        summed = (self.case(cases_R)[:, None] + before)[chosen_R_L]
        # A move is forbidden after the place where it was first said; `END` never is.
        rows, places = moves_R_L.shape
        first = torch.full((rows, len(table)), places, dtype=torch.int16)
        order = torch.arange(places - 1, -1, -1, dtype=torch.int16).expand(rows, places)
        first.scatter_(1, moves_R_L.flip(1), order)
        first[:, END] = places
        row, place = torch.nonzero(chosen_R_L, as_tuple=True)
        scores = self.score(summed) + torch.where(first[row] < place[:, None], _FORBIDDEN, 0.0)
        return torch.log_softmax(scores, dim=1).gather(1, moves_R_L[chosen_R_L][:, None])[:, 0]


@torch.no_grad()  # type: ignore[untyped-decorator]  # torch is an extra
def sample(
    policy: LabPolicy, cases_R: torch.Tensor, tokens_M: Ints, limit: int, generator: torch.Generator | None
) -> Rollout:
    """Sample answers at temperature 1, or greedily without a generator; the move that reaches the limit is the last."""
    price, rows = torch.as_tensor(tokens_M), len(cases_R)
    moves = torch.zeros(rows, MOST_MOVES, dtype=torch.long)
    logp = torch.zeros(rows, MOST_MOVES)
    chosen = torch.zeros(rows, MOST_MOVES, dtype=torch.bool)
    # The answers that still go on: their rows, summed first layer, moves said and tokens.
    active, summed = torch.arange(rows), policy.case(cases_R)
    forbidden, tokens = torch.zeros(rows, len(price)), torch.zeros(rows, dtype=torch.long)
    for place in range(MOST_MOVES):
        chances = torch.softmax(policy.score(summed) + forbidden, dim=1)
        if generator is None:
            move = chances.argmax(dim=1)
        else:
            # The first move at which the running sum of the chances passes a uniform draw.
            reached = torch.cumsum(chances, dim=1)
            drawn = torch.rand(len(chances), 1, generator=generator) * reached[:, -1:]
            move = (reached <= drawn).sum(dim=1).clamp(max=chances.shape[1] - 1)
        moves[active, place], chosen[active, place] = move, True
        logp[active, place] = chances.gather(1, move[:, None])[:, 0].log()
        forbidden.scatter_(1, move[:, None], _FORBIDDEN)
        summed, tokens = summed + policy.said[move], tokens + price[move]
        going = (move != END) & (tokens < limit)
        if not going.any():
            break
        if not going.all():
            active, summed, forbidden, tokens = active[going], summed[going], forbidden[going], tokens[going]
    used = int(chosen.any(dim=0).sum())
    return Rollout(moves[:, :used].numpy(), chosen[:, :used].numpy(), logp[:, :used])
