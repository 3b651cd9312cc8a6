"""Goals on rows made for them: what is judged seed by seed, and what is told beside a goal."""

import pytest

from prorubric.lab.goals import Goal
from prorubric.lab.results import LabRun
from prorubric.lab.summary import summarize_lab
from tests.lab.results import make_base, make_run

EARLY = "most of that fall is there by step 50"
KL = "KL helps only as learning stops (judged under additive; weights moved after a look at one seed)"
APPROPRIATENESS = "appropriateness helps every scheme"


def judge(*runs: LabRun) -> dict[str, Goal]:
    schemes = ["additive", "prorubric", "additive+appropriateness"]
    return {goal.goal: goal for goal in summarize_lab(make_base(schemes), runs).goals}


def with_parts(run: LabRun, **parts: float) -> LabRun:
    """The same run with other parts at its end."""
    last = run.points[-1]
    changed = last.measure.model_copy(update={"parts": last.measure.parts | parts})
    return run.model_copy(update={"points": (*run.points[:-1], last.model_copy(update={"measure": changed}))})


def test_a_fall_that_is_late_on_one_seed_misses_the_goal_though_the_mean_is_early() -> None:
    early = make_run("additive", 42, {0: 0.6, 50: 0.42, 300: 0.40})
    late = make_run("additive", 43, {0: 0.6, 50: 0.52, 300: 0.40})
    assert judge(early)[EARLY].met is True
    found = judge(early, late)[EARLY]
    assert found.met is False
    assert found.finding.startswith("90%, 40% of the fall by step 50, seed by seed")


@pytest.mark.parametrize(
    ("curve", "finding"),
    [
        ({0: 0.6, 300: 0.4}, "no measurement at step 50"),
        ({0: 0.6, 50: 0.5, 300: 0.6}, "additive lost nothing on some seed"),
    ],
)
def test_a_fall_that_cannot_be_dated_leaves_the_goal_open(curve: dict[int, float], finding: str) -> None:
    found = judge(make_run("additive", 42, curve))[EARLY]
    assert (found.met, found.finding) == (None, finding)


def test_what_appropriateness_wins_is_told_without_the_parts_that_its_check_weighs() -> None:
    plain = make_run("additive", 42, {0: 0.6, 300: 0.4})
    checked = with_parts(make_run("additive+appropriateness", 42, {0: 0.6, 300: 0.5}), scope=0.9, applied=0.1)
    found = judge(plain, checked)[APPROPRIATENESS]
    assert found.met is True
    # Without scope, early, tests and manner four parts are left: 0.5, 0.5, 0.1 and 0.5 against 0.4.
    assert found.finding.startswith("additive +0.100 (+0.000); in brackets without the parts")


def test_kl_is_judged_under_additive_and_told_under_prorubric() -> None:
    ends = {0.05: (0.41, 0.25), 0.1: (0.42, 0.22), 0.4: (0.55, 0.12)}
    runs = [make_run("additive", 42, {0: 0.6, 300: 0.4}, g=0.3), make_run("prorubric", 42, {0: 0.6, 300: 0.5}, g=0.3)]
    runs += [make_run(f"additive-kl-{kl}", 42, {0: 0.6, 300: c}, g=g) for kl, (c, g) in ends.items()]
    assert "not judged" not in judge(*runs)[KL].finding
    found = judge(*runs, make_run("prorubric-kl-0.05", 42, {0: 0.6, 300: 0.58}, g=0.2))[KL]
    assert found.met is True
    assert found.finding.endswith("not judged: prorubric-kl-0.05 moves c by +0.080 with 50% of the gain in g left")


def test_the_fall_is_told_without_the_parts_that_count() -> None:
    run = with_parts(make_run("additive", 42, {0: 0.6, 300: 0.4}), scope=0.0, tests=0.0, question=0.0)
    finding = judge(run)["c under additive ends below the untrained policy on every seed"].finding
    assert (
        finding == "untrained 0.600, additive 0.400; without length 0.600 and 0.400, without question 0.600 and 0.286"
    )
