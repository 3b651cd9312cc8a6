"""The tables of a study that come from its audits, on a folder with a summary written by hand."""

import json
from pathlib import Path

import pytest

from prorubric.audit.records import AuditResult, Effect, FixedChange, Share
from prorubric.files.write import write_json
from prorubric.report.study_audit import name_reward
from prorubric.report.study_results import DomainPlace, load_study_results
from prorubric.verbs.study_file import load_study

from .study import choose, load, make, pick

SCHEMES = ("additive", "prorubric", "k1")


def change(edit: str, scheme: str, mean: float | None, pairs: int = 4, unchanged: float = 0.25) -> Effect:
    """An effect with an interval of two points around it."""
    ends = (None, None) if mean is None else (mean - 2, mean + 2)
    shares = {"rising": 0.5, "falling": 0.25, "unchanged": unchanged}
    counts = {"pairs": pairs, "prompts": 4, "unknown": 0, "per_spread": None}
    return Effect(edit=edit, scheme=scheme, mean=mean, low=ends[0], high=ends[1], **shares, **counts)


def write_audit(folder: Path) -> None:
    """Names pay 8, 1 and 2 under the three rewards; substance pays 20 at the end and 1.5 less inside."""
    paid = {"name-item": (8, 1, 2), "needless-test": (0.5, -6, None), "integrate-substance": (18.5, 24, 3)}
    paid |= {"add-substance": (20, 25, 2.5), "again": (0, 0, 0)}
    effects = [change(edit, s, mean) for edit, own in paid.items() for s, mean in zip(SCHEMES, own, strict=True)]
    shares = [(scheme, value) for scheme, value in zip(SCHEMES, (0.4, 0.04, None), strict=True)]
    redundancy = {"criterion": "redundancy", "before": 60.0, "low": None, "high": None, "pairs": 4}
    fixed = [
        FixedChange(edit=e, after=60.0 + by, change=by, **redundancy)
        for e, by in (("name-item", -15.0), ("add-substance", -30.0))
    ]
    found = AuditResult(
        folder="audit",
        tasks=4,
        unanswered=0,
        answers=4,
        answers_from="given",
        composed=False,
        judge="judge",
        editor="editor",
        dimensions_from="the file's own",
        rules_dimensions=False,
        left_out={},
        headline=(),
        alive=True,
        checks=(),
        edits=(),
        forecast=(),
        cheapest=(),
        hacks_claimed=0,
        hacks_possible=0,
        hacks=(),
        verdicts=9,
        unknown_verdicts=0,
        unknown_reasons={},
        rejected=0,
        rejects=(),
        calls=9,
        cached=0,
        failed_calls={},
        cost=None,
        schemes=SCHEMES,
        effects=tuple(effects),
        placement=(change("placement", "additive", -1.5, 4), change("placement", "prorubric", -1.0, 3)),
        naming_share=tuple(Share(scheme=s, value=v, low=None, high=None, pairs=4) for s, v in shares),
        fixed=tuple(fixed),
    )
    (folder / "audit").mkdir(parents=True)
    write_json(folder / "audit/summary.json", found.model_dump(mode="json"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_audit(tmp_path)
    return tmp_path


def test_what_edits_pay_is_next_to_what_the_paper_measured(folder: Path) -> None:
    made = make("evidence-b", load(folder))
    named = pick(made, edit="name-item")
    assert choose(named, "Rubric-RL, Rubric-RL low, Rubric-RL high, paper Rubric-RL") == [8.0, 6.0, 10.0, 7.3]
    assert choose(named, "Raw-AND, paper Raw-AND, ProRubric, paper ProRubric, state") == [None, -0.3, 1.0, 2.2, ""]
    # The study has not made this edit.
    dropped = pick(made, edit="drop-key-advice")
    assert choose(dropped, "Rubric-RL, paper Rubric-RL, paper ProRubric, state") == [None, -0.9, -2.2, "not run"]
    assert made.missing == ("name-topic", "drop-key-advice")


def test_the_audit_has_every_edit_under_every_reward_and_no_controls(folder: Path) -> None:
    made = make("incentive", load(folder))
    named = pick(made, domain="medicine", edit="name-item", reward="Rubric-RL")
    assert choose(named, "change, low, high, prompts, paper, paper low, paper high") == [
        8.0,
        6.0,
        10.0,
        4,
        7.3,
        5.9,
        8.7,
    ]
    own = pick(made, domain="medicine", edit="name-item", reward="K=1")
    assert choose(own, "change, paper, state") == [2.0, None, ""]
    theirs = pick(made, domain="medicine", edit="name-topic", reward="Rubric-RL")
    assert choose(theirs, "change, paper, paper low, paper high, state") == [None, -0.4, -1.7, 0.8, "not run"]
    # It was made, and its rewards are not known.
    assert choose(pick(made, edit="needless-test", reward="K=1"), "change, prompts, state") == [None, 4, ""]
    assert choose(pick(made, domain="writing", edit="name-topic"), "reward, paper, state") == [
        "Rubric-RL",
        -0.3,
        "not run",
    ]
    assert choose(pick(made, domain="science", edit="add-substance"), "reward, paper") == ["Rubric-RL", 10.8]
    assert "again" not in {row["edit"] for row in made.sheet.rows}


def test_each_domain_has_what_naming_and_substance_pay(folder: Path) -> None:
    made = make("incentive-domains", load(folder))
    ours = pick(made, domain="medicine")
    heads = "name item, add substance, share Rubric-RL, share ProRubric, unchanged"
    assert choose(ours, heads) == [8.0, 20.0, 40.0, 4.0, 25.0]
    assert (ours["redundancy, name"], ours["redundancy, substance"]) == (-15.0, -30.0)
    assert choose(ours, "paper name item, paper add substance, paper share Rubric-RL") == [7.3, 22.7, 32.0]
    assert (ours["paper unchanged"], ours["paper redundancy, name"]) == (round(100 * 37 / 300, 6), -17.0)
    assert choose(pick(made, domain="science"), "name item, paper name item, state") == [None, -0.8, "not run"]
    assert made.figure is not None
    assert [*made.figure.legend] == ["medicine", "the paper's, each domain once"]


def test_placement_compares_the_same_substance_inside_and_at_the_end(folder: Path) -> None:
    made = make("placement", load(folder))
    heads = "appended, integrated, difference, low, high, pairs, paper appended, paper integrated, paper pairs, state"
    # 18.5 inside is 1.5 less than at the end, on the answers that have both.
    expected = [20.0, 18.5, -1.5, -3.5, 0.5, 4, 41.4, 40.3, 35, ""]
    assert choose(pick(made, domain="medicine", reward="Rubric-RL"), heads) == expected
    # Under ProRubric one of the four appended texts has no reward, so 24 is not over the pairs of the difference.
    row = pick(made, domain="medicine", reward="ProRubric")
    assert choose(row, "appended, integrated, difference, pairs, state") == [None, None, -1.0, 3, ""]
    assert choose(pick(made, domain="science", reward="ProRubric"), "paper appended, paper pairs, state") == [
        28.9,
        108,
        "not run",
    ]
    # Of dialogue and writing the paper has no figures, only the number of pairs.
    assert choose(pick(made, domain="writing", reward="Rubric-RL"), "paper appended, paper pairs") == [None, 50]


def test_every_reward_of_the_paper_s_audit_has_the_name_of_its_arm(tmp_path: Path) -> None:
    _, domains = load_study(Path(__file__).parents[2] / "studies/paper-4b.yaml", tmp_path)
    schemes = {scheme for domain in domains for scheme in str(domain.audit["scheme"]).split(",")}
    assert {scheme: name_reward(scheme) for scheme in schemes} == {
        "additive": "Rubric-RL",
        "raw-and": "Raw-AND",
        "prorubric": "ProRubric",
        "prorubric-no-failure": "ProRubric, no failure clauses",
        "graded": "Graded",
        "k1": "K=1",
        "implicit": "Implicit",
        "weighted": "Weighted",
        "additive+appropriateness": "Rubric-RL+appropriateness",
        "prorubric+appropriateness": "ProRubric+appropriateness",
        "implicit+appropriateness": "Implicit+appropriateness",
    }
    assert [name_reward(scheme) for scheme in ("rewritten", "veto")] == ["Rewritten", "veto"]


def test_a_reward_has_one_name_in_the_audit_and_in_the_ablations(tmp_path: Path) -> None:
    write_audit(tmp_path)
    path = tmp_path / "audit/summary.json"
    path.write_text(path.read_text().replace('"k1"', '"prorubric-no-failure"'))
    name = "ProRubric, no failure clauses"
    assert pick(make("incentive", load(tmp_path)), edit="name-item", reward=name)["change"] == 2.0
    assert pick(make("ablations", load(tmp_path)), method=name)["paper c"] == 34.5


def test_edits_that_a_study_of_its_own_did_not_make_have_no_row(folder: Path) -> None:
    rows = make("evidence-b", load(folder, None)).sheet.rows
    assert [(row["edit"], row["state"]) for row in rows] == [("name-item", ""), ("needless-test", "")]


def test_what_edits_pay_is_shown_for_every_domain_of_a_study_of_its_own(tmp_path: Path) -> None:
    for name in ("law", "tax"):
        write_audit(tmp_path / name)
    path = tmp_path / "tax/audit/summary.json"
    found = AuditResult(**json.loads(path.read_text()))
    lower = [one.model_copy(update={"mean": one.mean and one.mean - 1}) for one in found.effects]
    write_json(path, found.model_copy(update={"effects": tuple(lower)}).model_dump(mode="json"))
    places = [DomainPlace(name, tmp_path / name, (), "", "", ()) for name in ("law", "tax")]
    made = make("evidence-b", load_study_results("Two", None, places))
    assert [pick(made, domain=name, edit="name-item")["Rubric-RL"] for name in ("law", "tax")] == [8.0, 7.0]


def test_a_study_of_its_own_shows_its_domains_and_nothing_of_the_paper(folder: Path) -> None:
    place = DomainPlace("letters", folder, (), "", "", ())
    results = load_study_results("Mine", None, [place])
    assert pick(make("incentive-domains", results), domain="letters")["paper name item"] is None
    assert {row["domain"] for row in make("incentive", results).sheet.rows} == {"letters"}
    assert [row["state"] for row in make("placement", results).sheet.rows] == ["", ""]


@pytest.mark.parametrize("name", ["evidence-b", "incentive", "incentive-domains", "placement"])
def test_without_an_audit_every_row_of_the_paper_is_not_run(tmp_path: Path, name: str) -> None:
    made = make(name, load(tmp_path))
    assert {row["state"] for row in made.sheet.rows} == {"not run"}
    assert make(name, load(tmp_path, None)).sheet.rows == []
    assert make(name, load(tmp_path, "Qwen3-8B")).sheet.rows == []  # the paper audited its smaller model
