"""The audit against judges of known character on tasks of known shape.

Every pair that can be hacked has to be flagged, every sound one cleared, and a judge that does not judge gets no
verdict at all. An audit that fails here is wrong about the one thing that it is for.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from prorubric.audit.config import AuditConfig
from prorubric.audit.edits import EDITS
from prorubric.audit.records import AuditResult, Effect
from prorubric.cli.app import run as run_program
from prorubric.verbs.audit import run_audit
from tests.audit import judges
from tests.audit.shapes import Shape, save_shape, save_small
from tests.thorough import parametrize_sparingly

SCHEMES = ("additive", "conjunctive", "prorubric", "prorubric-no-failure")
Audit = Callable[[str, Shape], AuditResult]


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """The audit of a pair, made once; every scheme is read from the same verdicts."""
    known: dict[tuple[str, Shape], AuditResult] = {}

    def run(judge: str, shape: Shape) -> AuditResult:
        if (judge, shape) not in known:
            known[judge, shape] = audit_afresh(tmp_path_factory.mktemp("audit"), judge, shape)
        return known[judge, shape]

    return run


def audit_afresh(folder: Path, judge: str, shape: Shape) -> AuditResult:
    tasks, responses = save_shape(folder, shape)
    scheme = ",".join(SCHEMES)
    spec = f"tests.audit.judges:{judge}"
    return run_audit(AuditConfig(tasks, responses, judge=spec, out=folder / "run", scheme=scheme, resamples=200))


def find(result: AuditResult, edit: str, scheme: str) -> Effect:
    return next(effect for effect in result.effects if (effect.edit, effect.scheme) == (edit, scheme))


def mean_of(result: AuditResult, edit: str, scheme: str) -> float | None:
    mean = find(result, edit, scheme).mean
    return None if mean is None else round(mean, 2)


def failed_checks(result: AuditResult, scheme: str) -> set[str]:
    return {check.check for check in result.checks if check.scheme == scheme and not check.passed}


def answers_of(result: AuditResult) -> dict[str, str]:
    return {line.scheme: line.pays_for_padding for line in result.headline}


HACKABLE = [
    ("Keyword", "presence", SCHEMES),
    ("Keyword", "penalties", SCHEMES),
    # The criteria of this shape cannot be bought with a name; the dimensions, which only name points, can.
    ("Keyword", "substance", ("prorubric", "prorubric-no-failure")),
    ("SeldomFailing", "presence", SCHEMES),
    ("WrittenKeyword", "presence", SCHEMES),
    ("LastParagraph", "presence", SCHEMES),
]
SOUND = [
    ("StrictExpert", "presence", SCHEMES),
    ("StrictExpert", "substance", SCHEMES),
    ("StrictExpert", "penalties", SCHEMES),
    ("WrittenExpert", "presence", SCHEMES),
    ("Keyword", "substance", ("additive", "conjunctive")),
]
DEAD = {
    "AlwaysYes": {"garbage", "other-answer", "drop-key-advice"},
    "AlwaysNo": {"garbage", "other-answer"},  # it says of no advice that it is there, so that none can be dropped
    "Random": {"garbage", "other-answer"},
    "Fresh": {"garbage", "other-answer", "drop-key-advice"},
    "WrittenRandom": {"garbage", "other-answer", "drop-key-advice"},
    "LengthLover": {"garbage", "other-answer"},
    "LetterLover": {"garbage", "other-answer"},
    "BrevityLover": {"other-answer", "drop-key-advice"},
    "PositionLover": {"garbage", "other-answer", "drop-key-advice"},
    "Fluent": {"other-answer", "drop-key-advice"},
    "OnTopic": {"drop-key-advice"},
    "NoisyOnTopic": {"drop-key-advice"},
    "Failing": {"failures"},
    "NamingBlind": {"failures"},
    "Unreachable": {"failures"},
    "Mumbling": {"failures"},
}
"""By judge, the checks that must find it out."""


def spread(pairs: list[tuple[str, Shape, tuple[str, ...]]]) -> list[tuple[str, Shape, str]]:
    return [(judge, shape, scheme) for judge, shape, schemes in pairs for scheme in schemes]


@pytest.mark.parametrize(("judge", "shape", "scheme"), spread(HACKABLE))  # type: ignore[arg-type]
def test_a_pair_that_can_be_hacked_is_flagged(audit: Audit, judge: str, shape: Shape, scheme: str) -> None:
    result = audit(judge, shape)
    assert failed_checks(result, scheme) == set()
    assert answers_of(result)[scheme] == "yes"


@pytest.mark.parametrize(("judge", "shape", "scheme"), spread(SOUND))  # type: ignore[arg-type]
def test_a_sound_pair_is_cleared(audit: Audit, judge: str, shape: Shape, scheme: str) -> None:
    result = audit(judge, shape)
    assert failed_checks(result, scheme) == set()
    assert answers_of(result)[scheme] == "no"


@parametrize_sparingly("judge", DEAD, 4)
def test_a_judge_that_does_not_judge_gets_no_verdict(audit: Audit, judge: str) -> None:
    result = audit(judge, "presence")
    assert not result.alive
    assert answers_of(result) == dict.fromkeys(SCHEMES, "no verdict")
    assert all(failed_checks(result, scheme) == DEAD[judge] for scheme in SCHEMES)


@parametrize_sparingly(
    ("judge", "shape"), [("NoisyOnTopic", "penalties"), ("Fresh", "penalties"), ("NoisyOnTopic", "substance")], 3
)
def test_luck_is_not_judgement(audit: Audit, judge: str, shape: Shape) -> None:
    """With these draws, intervals below 0 and changes in either direction alone would let each of them pass."""
    assert answers_of(audit(judge, shape)) == dict.fromkeys(SCHEMES, "no verdict")


BRIBED = {
    "LikesPraise": "self-praise",
    "BelievesClaims": "claim-compliance",
    "LikesGoodbyes": "closing-phrase",
    "BowsToAuthority": "authority",
    "LikesFlattery": "flatter-judge",
    "Obeys": "instruct-judge",
    "LikesItsQuestion": "restate-question",
    "LikesHeadings": "template-format",
    "LikesRepetition": "repeat-answer",
}
"""By judge, the hack that it falls for."""


class TestKnownHacks:
    def test_every_hack_has_a_judge_that_falls_for_it(self) -> None:
        assert {*BRIBED.values()} == {name for name, kind in EDITS.items() if kind.is_hack}

    @parametrize_sparingly("judge", BRIBED, 4)
    def test_a_judge_that_grants_everything_to_a_hack_is_found_out(self, audit: Audit, judge: str) -> None:
        result, hack = audit(judge, "presence"), BRIBED[judge]
        assert result.alive
        assert answers_of(result) == dict.fromkeys(SCHEMES, "yes")
        # The first answers hold 14 of 20 points, and with the hack all of them.
        assert result.headline[0].because == f"{hack} +30.0 [+30.0, +30.0], 12 prompts"
        assert all(line.because.startswith(f"{hack} +") for line in result.headline)

    @parametrize_sparingly("judge", BRIBED, 4)
    def test_no_other_row_tells_it_from_a_sound_judge(self, audit: Audit, judge: str) -> None:
        sound, bribed = (audit(name, "presence").effects for name in ("StrictExpert", judge))
        changed = {one.edit for one, other in zip(sound, bribed, strict=True) if one != other}
        assert changed == {BRIBED[judge]}

    def test_a_hack_of_ones_own_finds_what_no_stock_has(self, tmp_path: Path) -> None:
        tasks, responses = save_shape(tmp_path, "presence")
        (tmp_path / "hacks.txt").write_text("See you soon!\n\n  #blessed #grateful\n")
        spec = "tests.audit.judges:LikesHashtags"
        config = AuditConfig(tasks, responses, judge=spec, out=tmp_path / "run", scheme="additive", resamples=100)
        assert run_audit(config).headline[0].pays_for_padding == "no"
        result = run_audit(replace(config, hacks_file=tmp_path / "hacks.txt"))
        assert (result.headline[0].pays_for_padding, result.headline[0].because) == (
            "yes", "own-2 +30.0 [+30.0, +30.0], 12 prompts",
        )  # fmt: skip
        assert result.phrases == ("See you soon!", "#blessed #grateful")
        assert mean_of(result, "own-1", "additive") == 0.0

    def test_known_hacks_are_tried_on_the_first_answer_to_each_prompt(self, audit: Audit) -> None:
        result = audit("StrictExpert", "presence")
        counts = {count.edit: (count.made, count.not_made) for count in result.edits}
        assert all(counts[name] == (12, {}) for name in BRIBED.values())
        assert not {change.edit for change in result.fixed} & {*BRIBED.values()}


def test_every_check_is_the_only_one_to_find_some_judge_out() -> None:
    alone = {next(iter(checks)) for checks in DEAD.values() if len(checks) == 1}
    assert alone == {"failures", "drop-key-advice"}
    # Garbage is redundant where answers to other prompts are at hand; it says in plain words what is wrong.
    assert {"other-answer", "drop-key-advice"} in DEAD.values()


@parametrize_sparingly("seed", range(1, 7), 3)
def test_no_seed_makes_a_coin_a_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(judges.Random, "seed", seed)
    assert set(answers_of(audit_afresh(tmp_path, "Random", "penalties")).values()) == {"no verdict"}


class TestSigns:
    """Single effects, to the point: what an edit does to the weights can be added up by hand."""

    @pytest.mark.parametrize("judge", ["Keyword", "StrictExpert"])
    def test_dropping_the_key_advice_costs_its_weight(self, audit: Audit, judge: str) -> None:
        # Two answers of three lose the decision (5 of 20), the third its heaviest point (3 of 20).
        assert mean_of(audit(judge, "presence"), "drop-key-advice", "additive") == round(-100 * (5 + 5 + 3) / 60, 2)
        # With a point goes its dimension, unless something else is missing there: 8 and 8 and 5 of 20.
        assert mean_of(audit(judge, "presence"), "drop-key-advice", "prorubric") == round(-100 * (8 + 8 + 5) / 60, 2)

    def test_naming_earns_what_the_names_weigh_where_presence_is_asked_for(self, audit: Audit) -> None:
        # The answers lack points of 6, 5 and 13 of 20, and few enough that all of them can be named.
        assert mean_of(audit("Keyword", "presence"), "name-item", "additive") == round(100 * (6 + 5 + 13) / 60, 2)

    def test_naming_earns_nothing_where_a_reason_is_asked_for(self, audit: Audit) -> None:
        for scheme in SCHEMES:
            assert mean_of(audit("StrictExpert", "presence"), "name-item", scheme) == 0.0
        assert mean_of(audit("Keyword", "substance"), "name-item", "conjunctive") == 0.0

    @pytest.mark.parametrize("judge", ["Keyword", "StrictExpert"])
    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_topics_earn_nothing(self, audit: Audit, judge: str, scheme: str) -> None:
        mean = mean_of(audit(judge, "presence"), "name-topic", scheme)
        assert mean is not None
        assert mean <= 0.0

    def test_a_needless_step_costs_everything_under_a_failure_clause_and_nothing_without(self, audit: Audit) -> None:
        result = audit("StrictExpert", "presence")
        # All dimensions have the clause: what the answers held, 13, 8 and 5 of 20, is gone.
        assert mean_of(result, "needless-test", "prorubric") == round(-100 * (13 + 8 + 5) / 60, 2)
        assert mean_of(result, "needless-test", "prorubric-no-failure") == 0.0
        assert mean_of(result, "needless-test", "additive") == 0.0

    def test_substance_is_paid_and_a_rewording_is_not(self, audit: Audit) -> None:
        for judge in ("Keyword", "StrictExpert"):
            result = audit(judge, "substance")
            added = mean_of(result, "add-substance", "additive")
            assert added is not None
            assert added > 20.0
            assert mean_of(result, "integrate-substance", "additive") == added
            assert mean_of(result, "paraphrase", "additive") == mean_of(result, "again", "additive") == 0.0

    def test_who_reads_the_end_only_pays_for_the_place(self, audit: Audit) -> None:
        placement = {effect.scheme: effect for effect in audit("LastParagraph", "presence").placement}
        assert placement["additive"].high is not None
        assert placement["additive"].high < 0

    def test_naming_as_a_share_of_substance(self, audit: Audit) -> None:
        shares = {share.scheme: share.value for share in audit("StrictExpert", "substance").naming_share}
        assert shares["additive"] == 0.0

    def test_judging_twice_shows_the_noise_of_draws_only(self, audit: Audit) -> None:
        assert find(audit("Keyword", "presence"), "again", "additive").unchanged == 1.0
        noisy = find(audit("WrittenKeyword", "presence"), "again", "additive").unchanged
        assert noisy is not None
        assert 0.5 < noisy < 1.0


class TestTooLittleSeen:
    """What was not seen is not cleared."""

    def test_a_few_prompts_convict_and_do_not_clear(self, tmp_path: Path) -> None:
        tasks, responses = save_shape(tmp_path, "presence")
        config = AuditConfig(tasks, responses, scheme="additive", limit=4, resamples=100)
        found = {}
        for judge in ("StrictExpert", "Keyword"):
            spec = f"tests.audit.judges:{judge}"
            (found[judge],) = run_audit(replace(config, judge=spec, out=tmp_path / judge)).headline
        assert found["StrictExpert"].pays_for_padding == "unclear"
        assert found["StrictExpert"].because == (
            "name-item +0.0 [+0.0, +0.0], 4 prompts, none rises (up to 53% of such prompts may); name-item was judged "
            "on 4 prompts; answers to 5 prompts that leave at least 2 criteria unmet would be enough"
        )
        assert found["Keyword"].pays_for_padding == "yes"

    def test_one_prompt_is_too_little_for_either(self, tmp_path: Path) -> None:
        tasks, responses = save_shape(tmp_path, "presence")
        spec = "tests.audit.judges:Keyword"
        config = AuditConfig(tasks, responses, judge=spec, out=tmp_path / "run", scheme="additive", limit=1)
        result = run_audit(replace(config, resamples=100))
        (line,) = result.headline
        assert (line.alive, line.pays_for_padding) == (True, "unclear")
        assert line.because == (
            "name-item +40.0 (1 prompt); answers to 5 prompts that leave at least 2 criteria unmet would be enough"
        )
        assert (find(result, "name-item", "additive").low, find(result, "name-item", "additive").high) == (None, None)

    def test_a_judge_that_fails_where_it_would_be_convicted_is_not_cleared(self, tmp_path: Path) -> None:
        tasks, responses = save_shape(tmp_path, "presence")
        spec = "tests.audit.judges:NamingBlind"
        config = AuditConfig(tasks, responses, judge=spec, out=tmp_path / "run", scheme="additive", resamples=100)
        (line,) = run_audit(replace(config, most_unknown=0.5)).headline
        assert (line.alive, line.pays_for_padding) == (True, "unclear")
        assert line.because == (
            "name-topic +0.0 [+0.0, +0.0], 12 prompts, none rises (up to 22% of such prompts may); "
            "name-item is unknown for most answers"
        )


class TestSmallFiles:
    """Five tasks of four to six criteria, with one answer or two to each: fewer prompts, wider intervals, no luck."""

    @staticmethod
    def answer(folder: Path, judge: str, shape: Shape, answers: int) -> dict[str, str]:
        tasks, responses = save_small(folder, shape, answers)
        spec, scheme = f"tests.audit.judges:{judge}", ",".join(SCHEMES)
        config = AuditConfig(tasks, responses, judge=spec, out=folder / "run", scheme=scheme, resamples=200)
        return answers_of(run_audit(replace(config, overwrite=True)))

    @pytest.mark.parametrize("answers", [1, 2])
    def test_a_pair_that_can_be_hacked_is_flagged(self, tmp_path: Path, answers: int) -> None:
        assert self.answer(tmp_path, "Keyword", "presence", answers) == dict.fromkeys(SCHEMES, "yes")

    @pytest.mark.parametrize("answers", [1, 2])
    @pytest.mark.parametrize("shape", ["presence", "substance", "penalties"])
    def test_a_sound_pair_is_cleared(self, tmp_path: Path, shape: Shape, answers: int) -> None:
        # Every second answer meets no dimension whole: grouped rewards are near their floor, and the audit says so.
        grouped = "no" if answers == 1 else "no (near the floor)"
        found = self.answer(tmp_path, "StrictExpert", shape, answers)
        assert found == {**dict.fromkeys(SCHEMES, grouped), "additive": "no"}

    @parametrize_sparingly("judge", DEAD, 5)
    def test_a_judge_that_does_not_judge_is_never_cleared(self, tmp_path: Path, judge: str) -> None:
        one = self.answer(tmp_path, judge, "presence", 1)
        two = self.answer(tmp_path, judge, "penalties", 2)
        assert {*one.values(), *two.values()} <= {"no verdict", "unclear"}

    @parametrize_sparingly("seed", range(1, 7), 3)
    def test_no_seed_clears_a_coin(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        monkeypatch.setattr(judges.Random, "seed", seed)
        found = self.answer(tmp_path, "Random", "penalties", 1)
        assert not {answer for answer in found.values() if answer.startswith("no") and answer != "no verdict"}


class TestProgram:
    @pytest.mark.parametrize(
        ("judge", "status"),
        [("Keyword", 0), ("AlwaysYes", 1), ("Random", 1), ("Failing", 1)],
    )
    def test_a_dead_judge_ends_the_program_with_one(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: str, status: int
    ) -> None:
        tasks, responses = save_shape(tmp_path, "presence")
        options = ["--scheme", "additive", "--edits", "name-item,drop-key-advice", "--resamples", "100"]
        where = ["--judge", f"tests.audit.judges:{judge}", "--out", str(tmp_path / "run")]
        assert run_program(["audit", tasks, str(responses), *where, *options]) == status
        shown = capsys.readouterr().out
        assert ("judge not alive under additive: " in shown) is bool(status)
        assert ("would pay for padding: no verdict" in shown) is bool(status)
