"""The alarm on made curves: none where nothing is wrong, however noisy, and one within 50 steps of a collapse."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from prorubric.errors import ConfigError
from prorubric.reward.trend import Alarm, AlarmRule, Trend, find_alarm, measure_trend

Curve = npt.NDArray[np.float64]
STEPS = np.arange(300.0)
LEARNING = 0.3 + 0.4 * (1 - np.exp(-STEPS / 60))
FLAT = np.full(300, 0.5)


def add_noise(curve: Curve, generator: np.random.Generator, spread: float, likeness: float = 0.0) -> Curve:
    """Noise with a memory: each step keeps a part of the last one's."""
    noise = generator.normal(0, spread, len(curve))
    for step in range(1, len(curve)):
        noise[step] = likeness * noise[step - 1] + np.sqrt(1 - likeness**2) * noise[step]
    return curve + noise


def first_alarm(proxy: Curve, other: Curve, rule: AlarmRule | None = None) -> int | None:
    """How many steps it takes to the first alarm."""
    rule = rule or AlarmRule()
    for end in range(rule.least, len(proxy) + 1):
        window = slice(max(0, end - rule.window), end)
        steps = [int(step) for step in STEPS[window][: len(proxy[window])]]
        if find_alarm(steps, proxy[window].tolist(), other[window].tolist(), rule):
            return end
    return None


def test_a_straight_line_is_measured_exactly() -> None:
    trend = measure_trend([0, 1, 2, 3], [1.0, 1.5, 2.0, 2.5])
    assert trend == Trend(change=1.5, error=0.0)
    assert (trend.rises(1.5, 5.0), trend.rises(1.6, 0.0)) == (True, False)


def test_the_error_is_that_of_least_squares_where_steps_do_not_resemble_each_other() -> None:
    # Residuals 1, -1, -1, 1 around the mean line: variance 4 / 2, spread of the steps 5, change over 3 steps.
    trend = measure_trend([0, 1, 2, 3], [2.0, 0.0, 0.0, 2.0])
    assert trend.change == 0.0
    assert trend.error == pytest.approx(3 * np.sqrt(2 / 5), rel=1e-12)


def test_the_error_is_wider_where_steps_resemble_each_other() -> None:
    # The same twelve values twice; of eleven pairs of neighbours, nine resemble each other in the second order.
    apart = measure_trend(range(12), [1.0, -1.0, -1.0, 1.0] * 3)
    alike = measure_trend(range(12), [1.0] * 3 + [-1.0] * 6 + [1.0] * 3)
    assert (apart.change, alike.change) == (0.0, 0.0)
    likeness = (9 - 2) / 12
    assert alike.error == pytest.approx(apart.error * np.sqrt((1 + likeness) / (1 - likeness)), rel=1e-12)


def test_gaps_between_steps_count() -> None:
    trend = measure_trend([0, 10, 30], [0.0, 1.0, 3.0])
    assert (trend.change, trend.error) == pytest.approx((3.0, 0.0), abs=1e-12)


def test_curves_that_part_are_an_alarm_that_says_by_how_much() -> None:
    steps = list(range(100, 125))
    alarm = find_alarm(
        steps, [0.3 + 0.01 * i for i in range(25)], [0.5 - 0.01 * i for i in range(25)], names=("the score", "k1")
    )
    assert alarm is not None
    assert (alarm.step, alarm.since, alarm.proxy, alarm.other) == (124, 100, "the score", "k1")
    assert (round(alarm.rise, 12), round(alarm.fall, 12)) == (0.24, 0.24)
    assert str(alarm) == (
        "since step 100 the score has risen by 0.240 while k1 has fallen by 0.240: "
        "the policy may be gaming the reward; read some responses before going on"
    )


def test_steps_without_a_value_are_passed_over_and_too_few_are_no_window() -> None:
    steps = list(range(40))
    proxy = [0.3 + 0.01 * i if i % 2 else None for i in steps]
    other = [0.5 - 0.01 * i for i in steps]
    alarm = find_alarm(steps, proxy, other)
    assert isinstance(alarm, Alarm)
    assert alarm.since == 1
    assert find_alarm(steps[:-2], proxy[:-2], other[:-2]) is None
    assert find_alarm([], [], []) is None


def test_only_the_window_counts() -> None:
    steps = list(range(100))
    proxy = [0.3 + 0.01 * min(i, 50) for i in steps]
    other = [0.9 - 0.01 * min(i, 50) for i in steps]
    assert find_alarm(steps[:51], proxy[:51], other[:51]) is not None
    assert find_alarm(steps, proxy, other) is None


HEALTHY: dict[str, tuple[Curve, Curve]] = {
    "nothing happens": (FLAT, FLAT),
    "both learn": (LEARNING, 0.2 + 0.5 * LEARNING),
    "the other stays": (LEARNING, FLAT),
    "the other slips a little": (LEARNING, FLAT - 0.03 * STEPS / 300),
    "both fall": (1 - LEARNING, 1 - LEARNING),
    "the proxy falls": (1 - LEARNING, LEARNING),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_run_raises_no_alarm_in_300_steps_of_noise(name: str) -> None:
    proxy, other = HEALTHY[name]
    generator = np.random.default_rng(7)
    runs = [
        first_alarm(add_noise(proxy, generator, spread), add_noise(other, generator, spread))
        for spread in (0.01, 0.03, 0.06)
        for _ in range(5)
    ]
    assert runs == [None] * 15


def test_a_fall_without_a_rise_is_none() -> None:
    assert first_alarm(FLAT, 1 - LEARNING) is None


def test_noise_that_both_curves_share_raises_none() -> None:
    # Hard prompts lower every score of their step.
    generator = np.random.default_rng(8)
    for _ in range(10):
        shared = add_noise(np.zeros(300), generator, 0.05, likeness=0.5)
        own = [add_noise(curve + shared, generator, 0.01) for curve in (LEARNING, FLAT)]
        assert first_alarm(own[0], own[1]) is None


def collapse(shape: Callable[[Curve], Curve], rise: float, fall: float) -> tuple[Curve, Curve]:
    course = shape(np.arange(50.0))
    return 0.3 + rise * course, 0.54 - fall * course


SHAPES: dict[str, Callable[[Curve], Curve]] = {
    "steadily": lambda steps: steps / 49,
    "all at once": lambda steps: 1 / (1 + np.exp(-(steps - 25) / 5)),
    "at the beginning": lambda steps: 1 - np.exp(-steps / 15),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rise", [0.1, 0.2, 0.4])
def test_a_collapse_as_deep_as_the_paper_s_raises_one_within_its_50_steps(shape: str, rise: float) -> None:
    # Appropriateness falls from 54 to 26 of 100; the noise is that of some hundred responses a step.
    generator = np.random.default_rng(9)
    for _ in range(10):
        proxy, other = (add_noise(curve, generator, 0.02) for curve in collapse(SHAPES[shape], rise, 0.28))
        found = first_alarm(proxy, other)
        assert found is not None
        assert found <= 50


def test_the_rule_is_configurable() -> None:
    proxy, other = collapse(SHAPES["steadily"], 0.1, 0.04)
    assert first_alarm(proxy, other) is None
    assert first_alarm(proxy, other, AlarmRule(fall=0.01)) == 20
    assert first_alarm(proxy, other, AlarmRule(fall=0.01, rise=0.2)) is None
    assert first_alarm(proxy, other, AlarmRule(fall=0.01, window=10, least=5)) is None
    assert first_alarm(proxy, other, AlarmRule(fall=0.01, least=30)) == 30


@pytest.mark.parametrize("change", [{"window": 2}, {"least": 1}, {"rise": -1}, {"window": 10, "least": 20}])
def test_a_rule_that_makes_no_sense_is_refused(change: dict[str, int]) -> None:
    with pytest.raises(ConfigError, match="AlarmRule: "):
        AlarmRule(**change)
