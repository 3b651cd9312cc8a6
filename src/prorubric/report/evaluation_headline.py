"""The result of an evaluation in sentences: who is better, by how much, over what, or that it cannot be told."""

from prorubric.evaluate.compare import AverageDifference, Comparisons, DifferenceResult, Table
from prorubric.report.numbers import plain, signed
from prorubric.text.show import count

_WIDTH = 1.96
_LEVEL = 0.05
_TURNED = "Verdicts that the judge did not give could turn the sign."


def describe_result(found: Comparisons) -> tuple[str, ...]:
    """One sentence for each difference: of the averages if there are any, else of every table."""
    averaged = [
        _describe_average(row, len(average.benchmarks), _by(average.judge))
        for average in found.averages
        for row in average.differences
    ]
    return tuple(averaged or (_describe(row, table) for table in found.tables for row in table.differences))


def _describe_average(row: AverageDifference, benchmarks: int, judge: str) -> str:
    where = f"on the average of {benchmarks} benchmarks{judge}"
    ends = []
    if row.se_items is not None:
        ends.append((row.mean - _WIDTH * row.se_items, row.mean + _WIDTH * row.se_items, "over items"))
    if row.over_seeds is not None and row.over_seeds.low is not None and row.over_seeds.high is not None:
        ends.append((row.over_seeds.low, row.over_seeds.high, f"over {row.over_seeds.n} seeds"))
    told = _judge(row.first, row.second, row.mean, ends, where, is_open=row.could_flip)
    return f"{told} {_TURNED}" if row.could_flip else told


def _describe(row: DifferenceResult, table: Table) -> str:
    where = f"on {count(row.n, 'item')} of {table.benchmark}{_by(table.judge)}"
    if row.mean is None:
        return f"{row.first} and {row.second} cannot be compared {where}."
    ends = [] if row.low is None or row.high is None else [(row.low, row.high, "over items")]
    if row.over_seeds is not None and row.over_seeds.low is not None and row.over_seeds.high is not None:
        ends.append((row.over_seeds.low, row.over_seeds.high, f"over {row.over_seeds.n} seeds"))
    is_weak = row.p_holm is None or row.p_holm >= _LEVEL
    told = _judge(row.first, row.second, row.mean, ends, where, is_open=row.could_flip or is_weak)
    if row.could_flip:
        return f"{told} {_TURNED}"
    if row.low == row.high == 0 and row.over_seeds is None:
        return f"{row.first} and {row.second} have the same score on each of the {where.removeprefix('on ')}."
    missed = row.smallest_found is not None and told.startswith("It cannot be told")
    found = f" A true difference of {plain(row.smallest_found)} would be found four times out of five."
    return told + found if missed else told


def _judge(
    first: str, second: str, mean: float, ends: list[tuple[float, float, str]], where: str, *, is_open: bool
) -> str:
    """Better only if every interval says so; if the one over seeds does not, another training might differ."""
    shown = ", ".join(f"{signed(low)} to {signed(high)} {over}" for low, high, over in ends)
    inside = f" (95%: {shown})" if shown else ""
    clear = [low > 0 or high < 0 for low, high, _ in ends]
    if is_open or not clear or not clear[0]:
        return f"It cannot be told whether {first} or {second} is better {where}: {signed(mean)} points{inside}."
    better, worse = (first, second) if mean > 0 else (second, first)
    told = f"{better} is better than {worse} by {plain(abs(mean))} points {where}{inside}"
    return f"{told}." if all(clear) else f"{told}, but another training could say otherwise."


def _by(judge: str) -> str:
    return f" by {judge}" if judge else ""
