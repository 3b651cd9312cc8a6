"""`write_audit_page`: what the page says, that it is whole in itself, and that no text becomes markup."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from prorubric.audit.edits import EDITS
from prorubric.audit.edits.kind import MadeEdit
from prorubric.audit.records import AuditResult, Effect, NamingPrice
from prorubric.errors import SourceError
from prorubric.report import audit_cases
from prorubric.report.audit_cases import MOST_SHOWN, render_shown, survey_cases
from prorubric.report.audit_diff import render_edit
from prorubric.report.audit_folder import open_audit
from prorubric.report.audit_page import write_audit_page
from prorubric.report.audit_plots import Mark, render_line
from prorubric.report.numbers import interval, percent, signed
from prorubric.report.page import Cell, element, escape, table
from prorubric.report.plots import Scale, make_scale

from .audit_folder import REFUTED, SCHEMES, build_audit

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked=1'>",
    "--><!-- ]]> </template></style></textarea>",
    '" onmouseover="window.hacked=1" x=\'',
    "\u2028\u2029\u202eright to left\u202c \u2066\u0627\u0644\u0639\u0631\u0628\u064a\u0629 &lt;b&gt; ${1} {{7*7}}",
)


class Reader(HTMLParser):
    """What a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def values(self, name: str) -> list[str]:
        return [value for _, key, value in self.attributes if key == name]

    @property
    def text(self) -> str:
        return "".join(self.texts)


def hostile(text: str) -> str:
    """The text with something nasty in front, another for each text."""
    return f"{HOSTILE[len(text) % len(HOSTILE)]} {text}"


def make_page(folder: Path, tasks: int = 1, **about: Any) -> str:
    """A page of its own; most of what a page says does not need the whole pack."""
    build_audit(folder, tasks=tasks, **about)
    return write_audit_page(folder).read_text(encoding="utf-8")


def change_summary(folder: Path, **fields: Any) -> None:
    path = folder / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit")


@pytest.fixture(scope="module")
def result(folder: Path) -> AuditResult:
    return build_audit(folder)


@pytest.fixture(scope="module")
def page(folder: Path, result: AuditResult) -> str:
    return write_audit_page(folder).read_text(encoding="utf-8")


def flatten(text: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", "", text).split())


def test_the_page_is_report_html_of_the_folder_and_the_same_every_time(folder: Path, page: str) -> None:
    assert write_audit_page(folder) == folder / "report.html"
    assert (folder / "report.html").read_text(encoding="utf-8") == page


def test_nothing_comes_from_elsewhere(page: str) -> None:
    read = Reader(page)
    assert {value[0] for value in read.values("href") if value != "data:,"} == {"#"}
    assert read.values("src") == read.values("style") == []
    assert not {"iframe", "object", "form", "base", "img"} & set(read.tags)


def test_the_policy_allows_this_one_script_and_style_by_their_hashes(page: str) -> None:
    policy = next(value for value in Reader(page).values("content") if value.startswith("default-src"))
    for name in ("script", "style"):
        inner = re.search(f"<{name}>(.*?)</{name}>", page, re.DOTALL)
        assert inner is not None
        digest = base64.b64encode(hashlib.sha256(inner[1].encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")


def test_every_link_within_the_page_has_its_target(page: str) -> None:
    read = Reader(page)
    targets = [value[1:] for value in read.values("href") if value.startswith("#")]
    assert len(targets) > 20
    assert set(targets) <= set(read.values("id"))
    assert len(set(read.values("id"))) == len(read.values("id"))


def test_the_headline_has_a_line_for_each_scheme_in_order(page: str, result: AuditResult) -> None:
    lines = re.findall(
        r"<li><b class=\"scheme\">(.*?)</b>.*?class=\"answer (.*?)\".*?class=\"because\">(.*?)</span>", page
    )
    assert [name for name, _, _ in lines] == list(SCHEMES)
    assert [answer.replace("-", " ") for _, answer, _ in lines] == [line.pays_for_padding for line in result.headline]
    assert [because for _, _, because in lines] == [line.because for line in result.headline]


def test_the_headline_gives_mean_reward_and_ties(page: str, result: AuditResult) -> None:
    for line in result.headline:
        assert line.mean is not None
        assert line.tied is not None
        assert f"<small>mean reward {line.mean:.1f} of 100, {line.tied:.0%} of groups tied; best paid first" in page


def test_a_no_near_an_end_of_the_scale_is_told_from_a_plain_one(tmp_path: Path) -> None:
    result = build_audit(tmp_path, tasks=1)
    answers = ("no (near the floor)", "no (near the ceiling)")
    lines = [
        line.model_dump() | {"pays_for_padding": name} for line, name in zip(result.headline, answers, strict=False)
    ]
    change_summary(tmp_path, headline=lines)
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    assert '<strong class="answer no-near-the-floor">no (near the floor)</strong>' in page
    assert '<strong class="answer no-near-the-ceiling">no (near the ceiling)</strong>' in page


def test_rejected_rows_that_are_not_listed_are_counted(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1)
    change_summary(tmp_path, rejected=7, rejects=["tasks.jsonl:1: bad", "tasks.jsonl:2: bad"])
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    assert '<li><bdi dir="auto">5 more are in rejects.jsonl</bdi></li>' in page


def test_a_dead_judge_comes_first_with_the_failed_checks(page: str, result: AuditResult) -> None:
    failed = [check for check in result.checks if not check.passed]
    alarm = re.search(r'<div class="alarm".*?</div>', page)
    assert alarm is not None
    assert page.index('class="alarm"') < page.index('id="headline"')
    assert flatten(alarm[0]).startswith(f"The judge is not alive under {failed[0].scheme}.")
    assert all(check.finding in flatten(alarm[0]) for check in failed)


def test_a_live_judge_raises_no_alarm(tmp_path: Path) -> None:
    result = build_audit(tmp_path, tasks=1)
    change_summary(tmp_path, alive=True, checks=[c.model_dump() for c in result.checks if c.passed])
    assert 'class="alarm"' not in write_audit_page(tmp_path).read_text(encoding="utf-8")


def test_a_check_that_could_not_be_made_is_neither_passed_nor_failed(tmp_path: Path) -> None:
    result = build_audit(tmp_path, tasks=1)
    checks = [check.model_dump() | {"tested": False, "passed": True} for check in result.checks]
    change_summary(tmp_path, alive=True, checks=checks)
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    section = page[page.index('id="alive"') : page.index('id="made"')]
    assert (section.count("– not decided"), section.count("✓ passed")) == (len(checks), 0)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("judge", "lexical", "The judge is lexical."),
        ("composed", True, "The answers are composed."),
        ("editor", "rules", "The editor is a set of rules."),
        ("rules_dimensions", True, "The dimensions come from rules."),
    ],
)
def test_a_weak_part_is_announced_only_if_it_took_part(
    field: str, value: str | bool, said: str, folder: Path, page: str, tmp_path: Path
) -> None:
    assert said not in page
    weak = make_page(tmp_path, **{field: value})
    assert re.findall(r'<p class="warn"><strong>(.*?)</strong>', weak) == [said]


def test_the_name_of_a_model_raises_no_warning(tmp_path: Path) -> None:
    page = make_page(
        tmp_path,
        judge="http://host/v1#lexical",
        editor="http://host/v1#rules",
        answers_from="sampled from http://host/v1#composed-rules",
        dimensions_from="http://host/v1#rules-of-thumb",
    )
    assert 'class="warn"' not in page


def test_each_edit_has_a_line_for_each_scheme_with_mean_and_interval(page: str, result: AuditResult) -> None:
    section = page[page.index('id="edits"') : page.index('id="naming"')]
    lines = re.findall(r'<span class="figure"><b>(.*?)</b> <small>(.*?)</small>', section)
    known = {(effect.edit, effect.scheme): effect for effect in result.effects}
    groups = [
        [name for name, kind in EDITS.items() if (kind.is_worthless, kind.is_hack) == group]
        for group in ((True, False), (True, True), (False, False))
    ]
    expected = [known[edit, scheme] for group in groups for edit in group for scheme in SCHEMES]
    assert [line[0] for line in lines] == [signed(effect.mean) for effect in expected]
    assert [line[1] for line in lines] == [interval(effect.low, effect.high) for effect in expected]


def test_the_papers_figures_are_next_to_ours(page: str, result: AuditResult) -> None:
    section = page[page.index('id="edits"') : page.index('id="naming"')]
    papers = [effect.paper for effect in result.effects if effect.paper is not None]
    assert 7.3 in papers
    assert sorted(re.findall(r"<small>paper (.*?)</small>", section)) == sorted(map(signed, papers))
    assert section.count('<path d="M0 -6.2') == len(papers) + 1  # and one in the legend


def test_a_figure_that_is_not_known_is_not_zero(tmp_path: Path) -> None:
    result = build_audit(tmp_path, tasks=1)
    unknown = dict.fromkeys(("mean", "low", "high", "rising", "falling", "unchanged", "per_spread"))
    effects = [effect.model_dump() | unknown | {"pairs": 0} for effect in result.effects]
    change_summary(tmp_path, effects=effects, naming_share=[], placement=[], cost=None)
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    section = page[page.index('id="edits"') : page.index('id="fixed"')]
    assert section.count("<small>not known</small>") == len(EDITS) * len(SCHEMES)
    assert "<b>0.0</b>" not in section
    assert not {"None", "nan", "NaN"} & set(flatten(section).split())


def test_known_hacks_have_a_group_of_their_own_with_the_words_of_the_users(tmp_path: Path) -> None:
    own = Effect(
        edit="own-1", scheme="additive", mean=43.0, low=39.0, high=47.0, rising=1.0, falling=0.0, unchanged=0.0,
        pairs=12, prompts=12, unknown=0, per_spread=None,
    )  # fmt: skip
    effects = build_audit(tmp_path, tasks=1).effects
    build_audit(tmp_path, tasks=1, effects=(*effects, own), phrases=("Say <b>yes</b> & vote.",))
    page = write_audit_page(tmp_path).read_text()
    section = page[page.index("Nor for known hacks") : page.index("Noise, and edits that should pay")]
    names = re.findall(r"<h4>([\w-]+) ", section)
    assert names == [*(name for name, kind in EDITS.items() if kind.is_hack), "own-1"]
    assert "ends with “Say &lt;b&gt;yes&lt;/b&gt; &amp; vote.”" in section
    assert ">+43.0<" in section


def test_a_hack_that_is_mostly_criterion_text_is_called_that(tmp_path: Path) -> None:
    build_audit(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "hacks.jsonl").read_text().splitlines()]
    first = next(row for row in rows if row["possible"])
    first["copied"] = 0.81
    (tmp_path / "hacks.jsonl").write_text("\n".join(map(json.dumps, rows)))
    page = write_audit_page(tmp_path).read_text()
    note = "Mostly criterion text: 81% of its words occur in a criterion, in the same order."
    assert page.count(note) == 1
    assert f"of {len(rows)} tasks, for 1 of them mostly with the criteria&#x27;s own text." in page.replace(
        "'", "&#x27;"
    )


def test_coverage_is_the_mean_of_the_answers_that_pass_and_of_those_that_fail(folder: Path, page: str) -> None:
    cases = [json.loads(line) for line in (folder / "cases.jsonl").read_text().splitlines()]
    means = [
        f"{fmean(100 * c['scores'][kind]['additive'] for c in group):.1f}" + f" {len(group)} answers"
        for kind in ("answer", *(name for name, kind in EDITS.items() if not kind.is_hack))
        for passed in (True, False)
        if (
            group := [
                c
                for c in cases
                if kind in c["scores"]
                and c["scores"][kind]["additive"] is not None
                and c["verdicts"][kind]["appropriateness"] == [passed]
            ]
        )
    ]
    section = page[page.index('id="coverage"') : page.index('id="signal"')]
    assert [flatten(line) for line in re.findall(r'<span class="figure">(.*?)</span>', section)] == means


def test_criteria_are_listed_with_what_the_answers_say_about_them(folder: Path, page: str) -> None:
    section = page[page.index('id="criteria"') : page.index('id="prices"')]
    # The verdicts on the sample pack were given by hand; lint says the same of them.
    assert (
        "Of 264 criteria 26 are suppressed and 21 move no advantage. The worst 100 are shown." in Reader(section).text
    )
    assert section.count("<tr>") == 101
    first = Reader(section[section.index("<tbody") : section.index("</tr>", section.index("<tbody"))]).text
    assert "Thanks the customer for their order" in first
    assert ("50%" in first, "-0.82" in first.replace("−", "-")) == (True, True)


def test_hacks_and_prices_show_what_they_earn(folder: Path, page: str, result: AuditResult) -> None:
    hack = result.hacks[0]
    section = page[page.index('id="hacks"') : page.index('id="tasks"')]
    assert flatten(escape(hack.text)) in flatten(section)
    assert f"{hack.tokens} tokens; the answer has {hack.answer_tokens}" in section
    assert f"{100 * hack.rewards['additive']:.1f}" in flatten(section)
    assert "naming reaches 61% of the sum, 80% is needed" in section
    assert f"A hack works for {result.hacks_possible} of 12 tasks." in section
    prices = [json.loads(line) for line in (folder / "prices.jsonl").read_text().splitlines()]
    moved = sum(price["moved"] > 0 for price in prices)
    which = "the 150 cheapest are shown" if moved > 150 else "these are shown"
    assert page.count(f"Of {len(prices):,} names {moved:,} moved a verdict; {which}, all are in prices.jsonl.") == 1


def test_a_hack_that_did_not_work_is_named_as_such_and_not_shown_as_one(tmp_path: Path) -> None:
    name = build_audit(tmp_path / "before").hacks[0].task_id
    build_audit(tmp_path, refuted=[name])
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    section = page[page.index('id="hacks"') : page.index('id="tasks"')]
    shown = re.findall(r'<details class="hack"><summary><bdi dir="auto" class="id">(.*?)</bdi>', section)
    assert name not in shown
    assert f"A hack works for {len(shown)} of 12 tasks." in section
    refuted = section[section.index("Tasks where a promised hack did not work: 1") :]
    assert flatten(refuted[: refuted.index("</details>")]).endswith(f"{name}: {REFUTED}")


def test_the_cheapest_on_the_page_are_the_cheapest_of_the_summary(page: str, result: AuditResult) -> None:
    section = page[page.index('id="prices"') : page.index('id="hacks"')]
    rows = re.findall(r'<tr><th scope="row">.*?<bdi dir="auto">(.*?)</bdi>.*?data-sort="(\d+)"', section)
    first = [(price.task_id, str(price.criterion)) for price in result.cheapest]
    assert len(first) == 20
    assert rows[:20] == first


def test_of_two_that_a_token_moves_as_far_the_better_paid_is_cheaper() -> None:
    about = {"text": "x", "named_as": "x", "weight": 1.0}
    far = NamingPrice(task_id="b", criterion=1, tokens=2, moved=1.0, pays=1.0, **about)
    paid = NamingPrice(task_id="a", criterion=2, tokens=10, moved=1.0, pays=50.0, **about)
    equal = NamingPrice(task_id="c", criterion=1, tokens=10, moved=1.0, pays=2.0, **about)
    still = NamingPrice(task_id="a", criterion=1, tokens=1, moved=0.0, pays=0.0, **about)
    assert sorted([still, equal, paid, far], key=lambda price: price.rank) == [far, paid, equal, still]


def test_every_text_of_a_task_is_there(folder: Path, page: str) -> None:
    text = Reader(page).text
    task = json.loads((folder / "tasks.jsonl").read_text().splitlines()[0])
    assert task["messages"][0]["content"] in text
    assert all(criterion["criterion"] in text for criterion in task["rubric"])
    assert all(sentence in text for sentence in re.split(r"(?<=\.) ", task["protocol"][0]["description"]))
    assert "<mark>Fails if going is made to depend on a recheck" in page


def test_hostile_texts_are_shown_and_never_become_markup(tmp_path: Path) -> None:
    read = Reader(make_page(tmp_path, reword=hostile, judge=HOSTILE[0], left_out={"k1": HOSTILE[1]}))
    assert (read.tags.count("script"), read.tags.count("style"), read.tags.count("template")) == (1, 1, 1)
    assert "img" not in read.tags
    assert not [name for _, name, _ in read.attributes if name.startswith("on")]
    assert all(nasty in read.text for nasty in HOSTILE)


def test_text_that_utf_8_cannot_hold_is_replaced() -> None:
    assert element("p", "a\ud800b\x00c\x1bd") == "<p>a\ufffdb\ufffdc\ufffdd</p>"


def test_a_verdict_on_a_behaviour_to_avoid_speaks_for_the_answer_where_it_is_absent(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1)
    weights = (2.0, -2.0, 2.0, -2.0, 1.0, 1.0, 1.0, 1.0)
    verdicts = [True, True, False, False, 3, 0.5, {"unknown": "no reply"}, {"not_applicable": ""}]
    for name in ("tasks", "cases"):
        path = tmp_path / f"{name}.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            if name == "cases":
                row["verdicts"]["answer"]["criteria"][: len(verdicts)] = verdicts
            for criterion, weight in zip(row.get("rubric", ()), weights, strict=False):
                criterion["weight"] = weight
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    audit = open_audit(tmp_path)
    [block] = render_shown(audit, survey_cases(audit)).blocks
    shown = block.partition('data-reading="criteria"')[2]
    assert re.findall(r'data-v="(\S+)', shown)[: len(verdicts)] == ["y", "n", "n", "y", "3", "0.5", "?", "n/a"]


def test_what_is_new_is_marked_and_what_did_not_change_is_named() -> None:
    answer = "One. Two. Three. Four. Five. Six."
    edit = MadeEdit(kind="name-item", text=f"{answer}\n\nAlso: a; b.", added=("Also: a; b.",))
    assert render_edit(answer, edit) == (
        '<div class="text" dir="auto"><span class="gap">… 4 sentences unchanged …</span>Five. Six.\n\n'
        "<ins>Also: a; b.</ins></div>"
    )


def test_what_is_gone_is_marked_in_its_place() -> None:
    edit = MadeEdit(kind="drop-key-advice", text="One. Three.", removed=("Two.",))
    assert render_edit("One. Two. Three.", edit) == '<div class="text" dir="auto">One. <del>Two.</del> Three.</div>'


def test_an_answer_that_repeats_itself_is_compared_as_well() -> None:
    answer = "It is so. " * 5_000
    edit = MadeEdit(kind="needless-test", text=f"{answer}Test it.", added=("Test it.",))
    assert render_edit(answer, edit).endswith("It is so. It is so. <ins>Test it.</ins></div>")


def test_texts_too_long_to_compare_count_as_rewritten() -> None:
    before, after = (" ".join(f"{word} {number}." for number in range(600)) for word in ("Old", "New"))
    made = render_edit(f"First. {before} Last.", MadeEdit(kind="paraphrase", text=f"First. {after} Last."))
    assert made == f'<div class="text" dir="auto">First. <del>{before}</del> <ins>{after}</ins> Last.</div>'


def test_an_addition_inside_a_sentence_is_found_where_the_editor_says_it_is() -> None:
    edit = MadeEdit(kind="in-part", text="Take it with food, and rest", added=(", and rest",))
    assert render_edit("Take it with food", edit) == (
        '<div class="text" dir="auto">Take it with food<ins>, and rest</ins></div>'
    )


def test_those_tasks_come_first_that_a_worthless_edit_moves_most(folder: Path, page: str) -> None:
    moved: dict[str, float] = {}
    for line in (folder / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        before, scores = case["scores"]["answer"], case["scores"]
        changes = [
            abs(100 * (scores[kind][scheme] - before[scheme]))
            for kind in (name for name, kind in EDITS.items() if kind.is_worthless)
            for scheme in SCHEMES
            if kind in scores and scores[kind][scheme] is not None
        ]
        moved[case["task_id"]] = max([moved.get(case["task_id"], 0.0), *changes])
    shown = re.findall(r'<details class="case".*?<bdi dir="auto" class="id">(.*?)</bdi>', page)
    assert shown == sorted(moved, key=lambda task_id: (-moved[task_id], task_id))


def test_tasks_that_do_not_fit_are_named_with_their_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_cases, "MOST_SHOWN", 5)
    page = make_page(tmp_path, tasks=12)
    shown = set(re.findall(r'<details class="case" id="task-\d+".*?<bdi dir="auto" class="id">(.*?)</bdi>', page))
    rest = page[page.index("Other tasks by their largest change: 7") :]
    named = set(re.findall(r'<th scope="row"><bdi dir="auto">(.*?)</bdi></th>', rest[: rest.index("</details>")]))
    assert (len(shown), len(named), len(shown | named)) == (5, 7, 12)
    assert "5 of 12 tasks, ordered by how far an edit" in page


def test_a_page_of_as_many_tasks_as_are_shown_in_full_can_still_be_sent(page: str) -> None:
    head, _, tasks = page.partition('id="tasks"')
    assert len(head.encode()) + MOST_SHOWN / 12 * len(tasks.encode()) < 4_000_000


def test_the_page_stays_small_where_the_texts_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_cases, "LARGEST", 150_000)
    page = make_page(tmp_path, tasks=12)
    whole = page.count('<details class="case"')
    assert 1 <= whole < 5
    assert f"Other tasks by their largest change: {12 - whole}" in page


def test_a_folder_that_holds_no_audit_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"summary.json: no such file; .* is not the folder of a finished audit$"):
        write_audit_page(tmp_path)


def test_the_summary_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text('{"folder": "x"}')
    with pytest.raises(SourceError, match=r"summary.json: not the summary of an audit \(AuditResult: "):
        write_audit_page(tmp_path)


def test_a_damaged_row_is_named_by_its_line_and_no_page_is_left(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1)
    with (tmp_path / "cases.jsonl").open("a") as stream:
        stream.write('{"task_id": 7}\n')
    with pytest.raises(
        SourceError, match=r"cases.jsonl:5: StoredCase: task_id: .*; the file is damaged, run the audit again"
    ):
        write_audit_page(tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_an_audit_without_prices_hacks_and_dimensions_has_a_page(tmp_path: Path) -> None:
    build_audit(tmp_path, tasks=1)
    (tmp_path / "prices.jsonl").unlink()
    (tmp_path / "hacks.jsonl").unlink()
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row | {"protocol": None}) + "\n" for row in rows))
    page = write_audit_page(tmp_path).read_text(encoding="utf-8")
    assert 'id="prices"' not in page
    assert 'id="hacks"' not in page
    assert "No dimensions: the task was not compiled." in page


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([], (-1.0, 0.0, 1.0)),
        ([7.3, -2.0], (-2.0, 0.0, 2.0, 4.0, 6.0, 8.0)),
        ([31.0], (0.0, 10.0, 20.0, 30.0, 40.0)),
        ([-0.03], (-0.03, -0.02, -0.01, 0.0)),
    ],
)
def test_a_scale_has_round_ticks_and_holds_zero(values: list[float], ticks: tuple[float, ...]) -> None:
    assert make_scale(values).ticks == pytest.approx(ticks)


def test_a_line_places_mark_interval_and_the_papers_figure() -> None:
    line = render_line(Mark(5.0, 0.0, 10.0, paper=7.5), Scale(-10.0, 10.0, (-10.0, 0.0, 10.0)), 0)
    assert '<line x1="50.00%" x2="100.00%" y1="50%" y2="50%" class="span c0">' in line
    assert re.findall(r'<svg x="(.*?)" y="50%"', line) == ["87.50%", "75.00%"]
    assert line.count('class="zero"') == 1


def test_schemes_differ_by_shape_as_well_as_by_colour() -> None:
    scale = Scale(0.0, 1.0, (0.0, 1.0))
    marks = [
        re.findall(r'<path d="(.*?)" class="(.*?)"', render_line(Mark(0.5), scale, place))[0] for place in range(20)
    ]
    assert len(set(marks)) == 20
    assert all(marks[i] != marks[i + 1] and marks[i][0] != marks[i + 1][0] for i in range(19))


def test_figures_read_well() -> None:
    assert [signed(value) for value in (7.25, -0.4, -0.04, None)] == ["+7.2", "−0.4", "0.0", "–"]
    assert [percent(0.317), percent(-0.06), percent(None)] == ["32%", "−6%", "–"]
    assert interval(-1.0, 2.0) == "−1.0 to +2.0"
    assert interval(None, 2.0) == ""


def test_a_table_keeps_values_to_sort_by_and_escapes_its_cells() -> None:
    made = table("A & B", ("name", "n"), [("<b>", Cell("1.0", 1.04))])
    assert '<th scope="row">&lt;b&gt;</th><td class="n" data-sort="1.04">1.0</td>' in made
    assert made.startswith('<div class="scroll" role="region" aria-label="A &amp; B" tabindex="0">')
