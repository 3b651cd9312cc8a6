"""The result of an evaluation in sentences: which policy is better, and by how much, or that it is unclear."""

from prorubric.evaluate.compare import AverageDifference, Comparisons, DifferenceResult
from prorubric.report.evaluation_tables import name_judge
from prorubric.report.numbers import interval, plain, signed
from prorubric.text.show import count

Ends = tuple[float | None, float | None]
_WIDTH = 1.96
_LEVEL = 0.05
_UNCLEAR = "It is unclear"
_TURNED = "Unknown verdicts could flip the sign."


def describe_result(found: Comparisons) -> tuple[str, ...]:
    """One sentence for each difference: of the averages if there are any, else of every table."""
    lines: list[str] = []
    for average in found.averages:
        where = f"on the average of {len(average.benchmarks)} benchmarks{name_judge(average.judge)}"
        for mean in average.differences:
            half = None if mean.se_items is None else _WIDTH * mean.se_items
            ends = (None, None) if half is None else (mean.mean - half, mean.mean + half)
            lines.append(_judge(mean, mean.mean, ends, where, is_open=mean.could_flip))
    rows = [(table, row) for table in found.tables for row in table.differences]
    for table, row in rows if not lines else ():
        where = f"{count(row.n, 'item')} of {table.benchmark}{name_judge(table.judge)}"
        if row.mean is None:
            lines.append(f"{row.first} and {row.second} cannot be compared on {where}.")
        elif row.low == row.high == 0 and row.over_seeds is None and not row.could_flip:
            lines.append(f"{row.first} and {row.second} have the same score on each of the {where}.")
        else:
            is_open = row.could_flip or row.p_holm is None or row.p_holm >= _LEVEL
            line = _judge(row, row.mean, (row.low, row.high), f"on {where}", is_open=is_open)
            if row.smallest_found is not None and not row.could_flip and line.startswith(_UNCLEAR):
                line += f" A true difference of {plain(row.smallest_found)} would be found four times out of five."
            lines.append(line)
    return tuple(lines)


def _judge(
    row: AverageDifference | DifferenceResult, mean: float, over_items: Ends, where: str, *, is_open: bool
) -> str:
    """Better only if every interval says so; if the one over seeds does not, another training might differ."""
    seeds = row.over_seeds
    given = [(*over_items, "over items"), *([(seeds.low, seeds.high, f"over {seeds.n} seeds")] if seeds else [])]
    ends = [(low, high, over) for low, high, over in given if low is not None and high is not None]
    shown = ", ".join(f"{interval(low, high)} {over}" for low, high, over in ends)
    inside = f" (95%: {shown})" if shown else ""
    clear = [low > 0 or high < 0 for low, high, _ in ends]
    if is_open or not clear or not clear[0]:
        told = f"{_UNCLEAR} whether {row.first} or {row.second} is better {where}: {signed(mean)} points{inside}."
        return f"{told} {_TURNED}" if row.could_flip else told
    better, worse = (row.first, row.second) if mean > 0 else (row.second, row.first)
    told = f"{better} is better than {worse} by {plain(abs(mean))} points {where}{inside}"
    return f"{told}." if all(clear) else f"{told}, but another training run could say otherwise."
