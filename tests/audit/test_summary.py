import numpy as np

from prorubric import Unknown
from prorubric.audit.cases import AuditCase
from prorubric.audit.config import AuditConfig
from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import MadeEdit, NotMade
from prorubric.audit.records import NamingPrice
from prorubric.audit.summary import Found, gather_rewards, summarize_audit
from tests.audit.shapes import make_responses, make_tasks

CONTROLS = ("again", "garbage", "other-answer")
KINDS = {"name-item": EDITS["name-item"]}


def make_cases() -> list[AuditCase]:
    """Naming earns 0.2 in every second answer, where it is known; garbage earns nothing."""
    tasks = {task.id: task for task in make_tasks("presence")}
    cases = [AuditCase(tasks[given.task_id], given) for given in make_responses()]
    for number, case in enumerate(cases):
        case.outcomes["name-item"] = MadeEdit(kind="name-item", text=case.response.text + "x" * 40)
        for name in CONTROLS:
            case.outcomes[name] = MadeEdit(kind=name, text="x")
        scores = {"answer": 0.5, "name-item": 0.5 + 0.2 * (number % 2), "again": 0.5}
        scores |= {"garbage": 0.0, "other-answer": 0.1}
        case.scores = {name: {"additive": value} for name, value in scores.items()}
        case.verdicts = {name: {"criteria": (True,) * 9} for name in scores}
    return cases


def summarize_cases(cases: list[AuditCase], **prices: list[NamingPrice]) -> dict[str, object]:
    config = AuditConfig("tasks.jsonl", resamples=100)
    return summarize_audit(Found(cases, ("additive",), KINDS, (), prices.get("prices", []), []), config)


def test_scores_become_arrays_with_gaps_where_nothing_is_known() -> None:
    cases = make_cases()[:3]
    cases[1].scores["name-item"]["additive"] = None
    cases[2].outcomes["name-item"] = NotMade(kind="name-item", reason="too short")
    del cases[2].scores["name-item"]
    rewards = gather_rewards(cases, ["additive"], ["name-item"])
    np.testing.assert_array_equal(rewards.edited["name-item"]["additive"], [0.5, np.nan, np.nan])
    assert rewards.made["name-item"].tolist() == [True, True, False]
    assert rewards.prompts == ("basil",) * 3


def test_the_parts_of_a_summary_agree() -> None:
    found = summarize_cases(make_cases())
    effect = found["effects"][0]  # type: ignore[index]
    assert (effect.edit, round(effect.mean, 6), effect.rising, effect.pairs) == ("name-item", 10.0, 0.5, 36)
    assert found["alive"] is True
    assert found["headline"][0].pays_for_padding == "yes"  # type: ignore[index]
    assert (found["verdicts"], found["unknown_verdicts"]) == (36 * 5 * 9, 0)


def test_unknown_verdicts_are_counted_by_reason_and_kill_the_judge_beyond_the_limit() -> None:
    cases = make_cases()
    for case in cases[:18]:
        case.verdicts["name-item"] = {"criteria": (Unknown("no reply: timeout"),) * 9}
        case.scores["name-item"] = {"additive": None}
    found = summarize_cases(cases)
    assert found["unknown_reasons"] == {"no reply: timeout": 18 * 9}
    assert [check.passed for check in found["checks"]] == [False, True, True, True]  # type: ignore[attr-defined]
    assert found["headline"][0].pays_for_padding == "no verdict"  # type: ignore[index]


def test_edits_are_counted_with_reasons_and_lengths() -> None:
    cases = make_cases()
    for case in cases[:3]:
        case.outcomes["name-item"] = NotMade(kind="name-item", reason="too short")
    (count,) = summarize_cases(cases)["edits"]  # type: ignore[misc, attr-defined]
    assert (count.made, count.not_made, count.tokens_added) == (33, {"too short": 3}, 10.0)


def test_the_cheapest_come_first_and_what_did_not_move_not_at_all() -> None:
    def price(criterion: int, tokens: int, moved: float, pays: float) -> NamingPrice:
        return NamingPrice(
            task_id="basil", criterion=criterion, text="t", weight=1.0, named_as="n",
            tokens=tokens, moved=moved, pays=pays,
        )  # fmt: skip

    prices = [price(1, 4, 1.0, 5), price(2, 2, 1.0, 5), price(3, 2, 1.0, 9), price(4, 1, 0.0, 0), price(5, 1, -1.0, -5)]
    found = summarize_cases(make_cases(), prices=prices)
    assert [kept.criterion for kept in found["cheapest"]] == [3, 2, 1]  # type: ignore[attr-defined]


def test_what_the_same_verdicts_pass_under_one_scheme_is_not_held_against_the_judge_under_another() -> None:
    cases = make_cases()
    for case in cases:
        for name, earned in case.scores.items():
            # Under the groups hardly an answer earns anything, so that garbage cannot earn less.
            earned["conjunctive"] = 0.5 if name == "answer" and case is cases[0] else 0.0
    config = AuditConfig("tasks.jsonl", resamples=100)
    found = summarize_audit(Found(cases, ("additive", "conjunctive"), KINDS, (), [], []), config)
    garbage = next(c for c in found["checks"] if (c.scheme, c.check) == ("conjunctive", "garbage"))
    assert (found["alive"], garbage.passed, garbage.tested) == (True, True, False)
    assert garbage.finding.endswith("; the same verdicts pass under additive, so the judge is alive")
    line = found["headline"][1]
    assert (line.alive, line.pays_for_padding) == (True, "unclear")
    assert line.because.endswith("so a no would prove nothing; 97% of the answers earn 2 or less of 100")


def test_what_fails_under_every_scheme_is() -> None:
    cases = make_cases()
    for case in cases:
        for earned in case.scores.values():
            earned["additive"] = earned["conjunctive"] = 0.0
    config = AuditConfig("tasks.jsonl", resamples=100)
    found = summarize_audit(Found(cases, ("additive", "conjunctive"), KINDS, (), [], []), config)
    assert [line.pays_for_padding for line in found["headline"]] == ["no verdict", "no verdict"]
