"""The pairs that trainers are compared on: many, mixed, the same every time, and judged by the real judge."""

from collections import Counter
from pathlib import Path

import pytest

from prorubric import Judge, Unknown, make_model, score
from prorubric.llm.together import run_together
from tests.train.parity import (
    JUDGE,
    SCHEMES,
    Pair,
    decide_all,
    expect,
    load_pairs,
    render_rewards,
    stays_silent,
    write_pairs,
)

READINGS: dict[str, tuple[str, ...]] = {
    "prorubric": ("dimensions",),
    "additive": ("criteria",),
    "graded": ("levels",),
    "prorubric+appropriateness": ("dimensions", "appropriateness"),
}


def test_there_are_200_pairs_of_both_sources(parity: Path, shared_data: Path) -> None:
    pairs = load_pairs(parity)
    assert Counter(pair.task.source for pair in pairs) == {"sample-pack": 48, "healthbench": 152}
    assert Counter(Counter(pair.task.id for pair in pairs).values()) == {4: 12, 8: 19}
    assert len({pair.text for pair in pairs}) == 200


def test_without_the_real_data_the_sample_pack_is_left(tmp_path: Path) -> None:
    assert [pair.task.source for pair in write_pairs(tmp_path, None)] == ["sample-pack"] * 48


def test_they_are_the_same_when_read_and_when_written_again(parity: Path, tmp_path: Path, shared_data: Path) -> None:
    assert write_pairs(tmp_path, shared_data) == load_pairs(parity)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_rewards_differ_and_some_are_unknown(parity: Path, scheme: str) -> None:
    values = [pair.expected[scheme] for pair in load_pairs(parity)]
    assert len({value for value in values if value is not None}) >= 10
    assert 0.03 < values.count(None) / len(values) < 0.45


def test_a_silent_judge_and_a_doubtful_one_both_occur(parity: Path) -> None:
    unknown = [pair for pair in load_pairs(parity) if pair.expected["prorubric"] is None]
    silent = [stays_silent(pair.text) for pair in unknown]
    assert silent.count(True) >= 2
    assert silent.count(False) >= 2


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_the_judge_says_what_is_expected_of_it(parity: Path, scheme: str) -> None:
    judge = Judge(make_model(JUDGE))

    async def find(pair: Pair) -> float | None:
        readings = [await judge.judge(pair.task, pair.text, reading) for reading in READINGS[scheme]]
        verdicts = [verdict for reading in readings for verdict in reading.verdicts]
        known = [verdict for verdict in verdicts if not isinstance(verdict, Unknown)]
        assert known == [v for v in decide_all(pair.task, pair.text, scheme) if not isinstance(v, Unknown)]
        return score(verdicts, pair.task, scheme).value

    pairs = load_pairs(parity)
    assert render_rewards(await run_together(find(pair) for pair in pairs)) == expect(pairs, scheme)


def test_one_bit_more_is_another_reward() -> None:
    assert render_rewards([0.3, None, 1]) == ["0x1.3333333333333p-2", None, "0x1.0000000000000p+0"]
    assert render_rewards([0.1 + 0.2]) != render_rewards([0.3])
