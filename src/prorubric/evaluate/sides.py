"""What is compared with what: policies, and methods with all of their seeds."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from prorubric.errors import ConfigError
from prorubric.evaluate.records import Policy
from prorubric.evaluate.statistics import SeedDifference, Spread, compare_seeds
from prorubric.rubric.base import Record

_FEW = 5  # up to so many methods, all pairs are compared


class SideResult(Record):
    """A method over its seeds, in points."""

    name: str
    mean: float | None
    sd: float | None
    """Between seeds; None for a single one."""
    by_seed: dict[str, float]
    """By seed, or by the policy's name if it has none."""
    characters: float | None = None
    """Mean length of its answers."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Policies by name, methods with the names of their policies, and the differences that are asked for."""

    policies: dict[str, Policy]
    methods: dict[str, tuple[str, ...]]
    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls, policies: Sequence[Policy], compare: Sequence[tuple[str, str]] = (), baseline: str | None = None
    ) -> "Sides":
        """Each side of a difference is the name of a policy or of a method."""
        methods: dict[str, tuple[str, ...]] = {}
        for policy in policies:
            group = policy.group or policy.name
            methods[group] = (*methods.get(group, ()), policy.name)
        by_name = {policy.name: policy for policy in policies}
        _check_names(policies, methods)
        known = dict.fromkeys([*methods, *by_name])
        for name in (*(name for pair in compare for name in pair), *([] if baseline is None else [baseline])):
            if name not in known:
                raise ConfigError(f"there is no policy {name!r} to compare; there are {', '.join(known)}")
        for first, second in compare:
            if first == second:
                raise ConfigError(f"{first!r} cannot be compared with itself; name two policies or methods")
        if compare:
            pairs = [*compare]
        elif baseline is not None:
            pairs = [(name, baseline) for name, own in methods.items() if baseline not in (name, *own)]
        elif len(methods) <= _FEW:
            pairs = [(later, earlier) for earlier, later in combinations(methods, 2)]
        else:
            pairs = [(name, next(iter(methods))) for name in [*methods][1:]]
        return cls(by_name, methods, tuple(dict.fromkeys(pairs)))

    def list_policies(self, side: str) -> tuple[str, ...]:
        """The policies of a method, or the one policy."""
        return self.methods.get(side) or (side,)

    def find_method(self, policy: str) -> str:
        """The method of a policy; a name that is not a policy, such as a baseline's, is its own."""
        found = self.policies.get(policy)
        return policy if found is None else found.group or found.name

    def match_seeds(self, first: Sequence[str], second: Sequence[str]) -> dict[int | None, tuple[str, str]]:
        """The policies of two sides by seed. A side of one policy goes with every seed of the other."""
        one, other = ({self.policies[name].seed: name for name in side} for side in (first, second))
        if len(other) == 1 and (len(one) > 1 or None in (*one, *other)):
            return {seed: (name, second[0]) for seed, name in one.items()}
        if len(one) == 1 and (len(other) > 1 or None in (*one, *other)):
            return {seed: (first[0], name) for seed, name in other.items()}
        return {seed: (name, other[seed]) for seed, name in one.items() if seed in other}

    def compare_by_seed(self, pair: tuple[str, str], values: Mapping[str, float]) -> SeedDifference | None:
        """Both sides of a pair seed by seed, from the values of policies; None for fewer than two seeds."""
        sides = ([name for name in self.list_policies(side) if name in values] for side in pair)
        matched = self.match_seeds(*sides)
        seeds = {seed: names for seed, names in matched.items() if seed is not None}
        if len(seeds) < 2:
            return None
        one, other = ({seed: values[names[place]] for seed, names in seeds.items()} for place in (0, 1))
        return compare_seeds(one, other)

    def spread(
        self, values: Mapping[str, float | None], characters: Mapping[str, float | None] | None = None
    ) -> tuple[SideResult, ...]:
        """Every method with a policy among these, over the seeds whose value is known."""
        found, seeds = [], {name: policy.seed for name, policy in self.policies.items()}
        for method, policies in self.methods.items():
            if not any(name in values for name in policies):
                continue
            known = {name: value for name in policies if (value := values.get(name)) is not None}
            lengths = [length for name in known if (length := (characters or {}).get(name)) is not None]
            spread = Spread.of([*known.values()]) if known else None
            found.append(
                SideResult(
                    name=method,
                    mean=spread.mean if spread else None,
                    sd=spread.sd if spread else None,
                    by_seed={name if seeds[name] is None else str(seeds[name]): value for name, value in known.items()},
                    characters=Spread.of(lengths).mean if lengths else None,
                )
            )
        return tuple(found)


def _check_names(policies: Sequence[Policy], methods: Mapping[str, Sequence[str]]) -> None:
    for name, times in Counter(policy.name for policy in policies).items():
        if times > 1:
            raise ConfigError(f"{times} policies are called {name!r}; give each its own name")
    seeds: dict[str, list[int | None]] = defaultdict(list)
    for policy in policies:
        seeds[policy.group or policy.name].append(policy.seed)
    for group, own in seeds.items():
        if len(own) > 1 and (None in own or len(set(own)) < len(own)):
            raise ConfigError(f"the policies of {group!r} have the seeds {own}; give each a different seed")
        if group in {policy.name for policy in policies} and methods[group] != (group,):
            raise ConfigError(f"{group!r} is both a policy and a group of others; give one of them another name")
