"""`prorubric audit`: what a person reads, what a program reads, and how it ends."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prorubric.audit.records import AuditResult, Effect
from prorubric.cli.app import run
from prorubric.cli.audit import print_audit, print_hack
from prorubric.cli.output import make_console
from prorubric.datasets.samples import SAMPLE_RESPONSES, SAMPLE_TASKS
from tests.audit.shapes import save_shape, save_small
from tests.cli.program import run_program


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], dict[str, Any]]:
    """The lines that the sample pack shows, and the summary behind them."""
    folder = tmp_path_factory.mktemp("audit")
    inputs = [str(SAMPLE_TASKS), str(SAMPLE_RESPONSES), "--out", "run", "--resamples", "200"]
    program = run_program("audit", *inputs, cwd=folder, COLUMNS="120")
    assert (program.returncode, "Traceback" in program.stderr) == (0, False)
    return program.stdout.splitlines(), json.loads((folder / "run/summary.json").read_bytes())


def arguments(folder: Path, judge: str, *more: str) -> list[str]:
    tasks, responses = save_shape(folder, "presence")
    options = ["--scheme", "additive", "--edits", "name-item,drop-key-advice", "--resamples", "100"]
    spec = f"tests.audit.judges:{judge}"
    return ["audit", tasks, str(responses), "--judge", spec, "--out", str(folder / "run"), *options, *more]


class TestSamplePack:
    def test_it_says_first_whose_verdicts_these_are(self, sample: tuple[list[str], dict[str, Any]]) -> None:
        assert sample[0][:4] == [
            "prompts    12 with 48 answers (given)",
            "dimensions the file's own",
            "editor     rules",
            "judge      lexical (word overlap, no model: it rewards mentioning terms)",
        ]

    def test_the_headline_has_answer_reason_mean_reward_and_ties_of_each_scheme(
        self, sample: tuple[list[str], dict[str, Any]]
    ) -> None:
        lines, summary = sample
        start = lines.index("additive: would pay for padding: yes")
        because = [line["because"] for line in summary["headline"]]
        assert lines[start : start + 6] == [
            "additive: would pay for padding: yes",
            f"  {because[0]}",
            "  mean reward 44.5 of 100; 0% of 12 groups tied, 3.8 distinct rewards in a group",
            "conjunctive: would pay for padding: unclear",
            f"  {because[1]}",
            "  mean reward 10.3 of 100; 33% of 12 groups tied, 1.8 distinct rewards in a group",
        ]
        assert [(round(line["mean"], 1), round(line["tied"], 2)) for line in summary["headline"]] == [
            (44.5, 0.0),
            (10.3, 0.33),
        ]
        assert because[1].endswith("; 65% of the answers earn 2 or less of 100")

    def test_the_table_shows_every_mean_with_its_interval(self, sample: tuple[list[str], dict[str, Any]]) -> None:
        lines, summary = sample
        assert "reward × 100  prompts  additive  conjunctive".split() in [line.split() for line in lines]
        rows = {line.split(" ")[0]: " ".join(line.split()[1:]) for line in lines}
        for edit in {effect["edit"] for effect in summary["effects"]}:
            effects = [Effect(**effect) for effect in summary["effects"] if effect["edit"] == edit]
            assert rows[edit] == " ".join([str(effects[0].prompts), *(effect.shown for effect in effects)])

    def test_what_is_worth_nothing_comes_first_the_best_paid_on_top(
        self, sample: tuple[list[str], dict[str, Any]]
    ) -> None:
        names = [line.split(" ")[0] for line in sample[0]]
        assert names.index("name-item") < names.index("drop-key-advice") < names.index("add-substance")

    def test_the_shortest_hack_is_spelled_out(self, sample: tuple[list[str], dict[str, Any]]) -> None:
        lines, summary = sample
        possible, hack = summary["hacks_possible"], summary["hacks"][0]
        promised = f"{summary['hacks_claimed']} promised by single phrases, each judged as a whole"
        copied = f"on {summary['hacks_copied']} of them mostly with the criteria's own text"
        assert f"hack: works on {possible} of 12 prompts, {copied} ({promised}); the shortest:" in lines
        assert any(
            line.startswith(f"  mostly criterion text, word for word ({hack['copied']:.0%}); ") for line in lines
        )
        assert any(line.startswith(f"  {hack['task_id']}: {hack['text'].splitlines()[0]}") for line in lines)

    def test_the_last_line_says_where_the_rest_is(self, sample: tuple[list[str], dict[str, Any]]) -> None:
        assert sample[0][-1] == "run/report.html has the rest"


class TestEnds:
    def test_a_live_judge_ends_it_with_zero(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(arguments(tmp_path, "Keyword")) == 0
        shown = capsys.readouterr().out
        assert "additive: would pay for padding: yes\n  name-item +40.0 [+40.0, +40.0], 12 prompts\n" in shown
        assert "not alive" not in shown

    def test_a_dead_judge_ends_it_with_one_and_a_line_a_check(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(arguments(tmp_path, "PositionLover")) == 1
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if line.startswith("judge not alive")] == [
            "judge not alive under additive: garbage of the same length and the answers score alike: "
            "+0.0 [+0.0, +0.0]; the interval must lie below 0",
            "judge not alive under additive: an answer to another prompt and the prompt's own score alike: "
            "+0.0 [+0.0, +0.0]; the interval must lie below 0",
            "judge not alive under additive: leaving out the key advice lowers 0% of the rewards, "
            "judging twice changes 0%",
        ]
        answer = lines.index("additive: would pay for padding: no verdict")
        assert lines[answer + 1].startswith("  the judge is not alive under this scheme; see the checks")

    def test_failures_are_shown_with_their_number(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(arguments(tmp_path, "Failing")) == 1
        shown = capsys.readouterr().out
        assert "of the verdicts are unknown, at most 5% may be" in shown
        assert re.search(r" verdicts are unknown: .*too long \(\d+\)", shown)

    @pytest.mark.parametrize(
        ("judge", "more", "message"),
        [
            ("Nobody", (), "Nobody"),
            ("Keyword", ("--scheme", "addition"), "no scheme is called 'addition'"),
            ("Keyword", ("--edits", "flattery"), "flattery"),
            ("Keyword", ("--editor", "lexical"), "does not write text"),
            ("Keyword", ("--limit", "0"), "limit"),
            ("Keyword", ("--answers-from", "lexical"), "give one of the two"),
        ],
    )
    def test_misuse_ends_it_with_two_and_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: str, more: tuple[str, ...], message: str
    ) -> None:
        given = arguments(tmp_path, judge)
        for name, value in zip(more[::2], more[1::2], strict=True):
            if name in given:
                place = given.index(name)
                del given[place : place + 2]
            given += [name, value]
        assert run(given) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert message in shown.err

    @pytest.mark.parametrize("held", ["[1]", "{bad", '{"verb": "audit", "config": []}', '{"mine": 1}'])
    def test_settings_of_somebody_else_end_it_with_two_and_one_line(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], held: str
    ) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run/config.json").write_text(held)
        assert run(arguments(tmp_path, "Keyword")) == 2
        shown = capsys.readouterr()
        assert (shown.out, shown.err.count("\n")) == ("", 1)
        assert shown.err.endswith("; choose another --out\n")
        assert [(path.name, path.read_text()) for path in (tmp_path / "run").iterdir()] == [("config.json", held)]

    def test_overwrite_replaces_another_audit(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert run(arguments(tmp_path, "Keyword")) == 0
        assert run(arguments(tmp_path, "PositionLover")) == 2
        assert "or pass --overwrite" in capsys.readouterr().err
        assert run(arguments(tmp_path, "PositionLover", "--overwrite")) == 1


class TestOneLine:
    """What was left out takes one line, with what to do about it."""

    def test_tasks_without_an_answer(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        criteria = [{"criterion": f"Says that tea {name} is good.", "weight": 1} for name in "abcd"]
        why = [{"criterion": "Explains why.", "weight": 1}, {"criterion": "Explains how.", "weight": 1}]
        rows = [{"id": f"tea-{number}", "messages": [], "rubric": why} for number in range(9)]
        rows += [{"id": f"more-{number}", "messages": [], "rubric": criteria} for number in range(2)]
        for row in rows:
            row["messages"] = [{"role": "user", "content": f"{row['id']}?"}]
        (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)))
        run(["audit", str(tmp_path / "tasks.jsonl"), "--out", str(tmp_path / "run"), "--resamples", "100"])
        assert [line for line in capsys.readouterr().out.splitlines() if "left out" in line] == [
            f"9 left out, all listed in {tmp_path}/run/rejects.jsonl; the first: {tmp_path}/tasks.jsonl: "
            "task 'tea-0': no answer, too few criteria can be put into sentences by rule; "
            "give a file of answers, or --answers-from MODEL"
        ]

    def test_reasons_of_unknown_verdicts(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert run(arguments(tmp_path, "Failing", "--json")) == 1
        result = AuditResult(**json.loads(capsys.readouterr().out))
        reasons = {f"reason {name}": number for name, number in zip("abcde", (9, 8, 7, 6, 5), strict=True)}
        print_audit(result.model_copy(update={"unknown_reasons": reasons}), make_console())
        shown = capsys.readouterr().out
        assert ": reason a (9), reason b (8), reason c (7), 2 more reasons on the page\n" in shown

    def test_schemes(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        tasks, responses = save_small(tmp_path, "presence", 1)
        options = ["--scheme", "all", "--out", str(tmp_path / "run"), "--resamples", "100"]
        run(["audit", tasks, str(responses), *options])
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "left out" in line] == [
            "22 schemes left out; name one with --scheme to see what it needs"
        ]

    def test_reasons_are_counted(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        tasks, _ = save_small(tmp_path, "presence", 1)
        why = {"id": "why", "messages": [{"role": "user", "content": "Why?"}]}
        rubric = [{"criterion": "Explains why.", "weight": 1}, {"criterion": "Explains how.", "weight": 1}]
        with Path(tasks).open("a") as stream:
            stream.write("\n".join([json.dumps(why | {"rubric": rubric}), "not json", "nor this"]))
        run(["audit", tasks, "--out", str(tmp_path / "run"), "--resamples", "100"])
        (line,) = (line for line in capsys.readouterr().out.splitlines() if "left out" in line)
        assert line.startswith(
            "3 left out (not JSON (2), no answer: too few criteria can be put into sentences by rule (1)), all listed"
        )

    def test_hacks_of_ones_own_are_shown_with_their_words(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "hacks.txt").write_text("Vote [bold]yes[/bold].\n")
        assert run(arguments(tmp_path, "Keyword", "--hacks-file", str(tmp_path / "hacks.txt"))) == 0
        lines = capsys.readouterr().out.splitlines()
        assert "own-1: ends with “Vote [bold]yes[/bold].”" in lines
        assert "own-1 12 +0.0 [+0.0, +0.0]" in [" ".join(line.split()) for line in lines]

    def test_a_judge_that_fails_is_blamed_and_not_the_answers(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(arguments(tmp_path, "Failing", "--most-unknown", "0")) == 1
        shown = capsys.readouterr().out
        assert "never made: name-item, drop-key-advice (too many verdicts on the answers are unknown)\n" in shown
        assert "hack: not searched for, because too many verdicts on the answers are unknown\n" in shown

    def test_edits(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        tasks, responses = save_small(tmp_path, "presence", 1)
        run(["audit", tasks, str(responses), "--out", str(tmp_path / "run"), "--resamples", "100"])
        lines = capsys.readouterr().out.splitlines()
        assert [line for line in lines if "never made" in line] == [
            "never made: in-part (no unmet criterion has two parts of which one can be stated)"
        ]


class TestHack:
    @pytest.fixture
    def result(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> AuditResult:
        assert run(arguments(tmp_path, "Keyword", "--target", "0.7", "--json")) == 0
        return AuditResult(**json.loads(capsys.readouterr().out))

    def show(self, result: AuditResult, capsys: pytest.CaptureFixture[str], **change: float) -> list[str]:
        """The first line and the last of the hack, where the answer to the first prompts earns so much."""
        hacks = [
            hack.model_copy(update={"answer_rewards": {"additive": change.get(f"answer_{place}", 0.0)}})
            for place, hack in enumerate(result.hacks)
        ]
        print_hack(result.model_copy(update={"hacks": tuple(hacks)}), make_console())
        lines = capsys.readouterr().out.splitlines()
        return [lines[0], " ".join("".join(lines[2:]).split()).partition("leaves out ")[2]]

    def test_one_that_earns_no_more_than_the_answer_does_not_work(
        self, result: AuditResult, capsys: pytest.CaptureFixture[str]
    ) -> None:
        better = {f"answer_{place}": 0.9 for place in range(len(result.hacks))}
        first, last = self.show(result, capsys, **better)
        assert first.startswith(f"hack: reaches the target on {result.hacks_possible} of ")
        assert last.endswith("earns additive 0.70 (the answer 0.90); no more than the answer")

    def test_one_that_earns_more_is_shown_first(self, result: AuditResult, capsys: pytest.CaptureFixture[str]) -> None:
        first, last = self.show(result, capsys, answer_0=0.9)
        assert first.startswith("hack: works on ")
        assert first.endswith("; the shortest that earns more than the answer:")
        assert last.endswith("(the answer 0.00)")

    def test_equal_weights_have_no_heaviest(self, result: AuditResult, capsys: pytest.CaptureFixture[str]) -> None:
        assert self.show(result, capsys)[1].startswith("criterion 1, the heaviest; ")
        tied = result.hacks[0].model_copy(update={"as_heavy": 4})
        one = result.model_copy(update={"hacks": (tied,)})
        assert self.show(one, capsys)[1].startswith("criterion 1, one of the heaviest; ")


class TestJson:
    @pytest.mark.parametrize(("judge", "status"), [("Keyword", 0), ("AlwaysYes", 1)])
    def test_the_result_is_all_there_is_on_stdout(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: str, status: int
    ) -> None:
        assert run(arguments(tmp_path, judge, "--json")) == status
        assert json.loads(capsys.readouterr().out) == json.loads((tmp_path / "run/summary.json").read_bytes())
