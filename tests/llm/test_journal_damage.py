"""A damaged journal: a reply comes back as it was, is asked for again, or the file is refused in one line."""

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from prorubric.errors import SourceError, UnjudgedError
from prorubric.llm.accounting import Usage
from prorubric.llm.cache import CachedModel, CachedYesNo, make_question
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.lexical import LexicalModel
from prorubric.llm.model import Outcome, Reply
from tests.llm.asking import QUICK, ask_all, make_requests, run
from tests.llm.server import MisbehavingServer

PAGE = 4096
KEYS = [key_of("m", request) for request in make_requests(80)]
# Every tenth goes on for several pages.
KEPT = {key: Reply(f"reply {n} " * (900 if n % 10 == 0 else 3), n, 2 * n, "stop") for n, key in enumerate(KEYS)}
NEW = Reply("asked again", 1, 1, "stop")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A journal without damage."""
    path = tmp_path_factory.mktemp("whole") / "journal.sqlite"
    with Journal(path) as journal:
        for key, reply in KEPT.items():
            journal.put(key, reply, {"model": "m"})
    return path.read_bytes()


def flip_bytes(data: bytearray, dice: random.Random) -> None:
    for _ in range(dice.choice([1, 10, 100])):
        data[dice.randrange(100, len(data))] ^= 1 << dice.randrange(8)


def overwrite_a_stretch(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(100, len(data) - 64)
    data[start : start + 64] = dice.randbytes(64)


def zero_a_page(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(len(data) // PAGE) * PAGE
    data[start : start + PAGE] = bytes(PAGE)


def swap_two_pages(data: bytearray, dice: random.Random) -> None:
    one, two = (slice(start, start + PAGE) for start in dice.sample(range(PAGE, len(data), PAGE), 2))
    data[one], data[two] = data[two], data[one]


def cut_off_the_end(data: bytearray, dice: random.Random) -> None:
    del data[dice.randrange(1, len(data)) :]


def overwrite_the_header(data: bytearray, dice: random.Random) -> None:
    start = dice.randrange(100)
    data[start:100] = dice.randbytes(100 - start)


DAMAGE = [flip_bytes, overwrite_a_stretch, zero_a_page, swap_two_pages, cut_off_the_end, overwrite_the_header]


def read_and_write_all(path: Path) -> None:
    with Journal(path) as journal:
        for key, reply in KEPT.items():
            found = journal.get(key)
            assert found is None or (found.text, found.finish) == (reply.text, reply.finish)
            kept, again = journal.put(key, NEW), journal.get(key)
            assert again is not None
            assert kept.text == again.text
            assert kept.text in ((found.text,) if found else (reply.text, NEW.text))


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda function: function.__name__)
def test_no_damage_gives_another_reply_or_a_traceback(
    whole: bytes, tmp_path: Path, damage: Callable[[bytearray, random.Random], None]
) -> None:
    refused = []
    for seed in range(40):
        path, data = tmp_path / f"{seed}.sqlite", bytearray(whole)
        damage(data, random.Random(seed))
        path.write_bytes(data)
        try:
            read_and_write_all(path)
        except SourceError as error:
            refused.append(str(error))
    assert all(": " in line and "\n" not in line and line.endswith("name another file") for line in refused)
    assert len(refused) < 40 or damage in (cut_off_the_end, overwrite_the_header)


def damage_rows(path: Path, *changes: str) -> None:
    with sqlite3.connect(path) as other:
        for change in changes:
            other.execute(change)
    other.close()


ROW_DAMAGE = [
    "UPDATE replies SET text = CAST('{\"1\": true}' AS BLOB)",
    "UPDATE replies SET text = 'text'",
    "UPDATE replies SET text = NULL",
    "UPDATE replies SET text = 3.5",
    "UPDATE replies SET text = CAST(x'fffe' AS TEXT)",
    "UPDATE replies SET finish = NULL",
    "UPDATE replies SET finish = 7",
    "UPDATE replies SET prompt_tokens = prompt_tokens + 1",
    "UPDATE replies SET prompt_tokens = 'many'",
    "UPDATE replies SET checksum = NULL",
    "UPDATE replies SET checksum = zeroblob(16)",
]


@pytest.mark.parametrize("change", ROW_DAMAGE)
def test_a_damaged_row_is_asked_again_counted_and_replaced(
    server: MisbehavingServer, tmp_path: Path, change: str
) -> None:
    def ask() -> tuple[list[Outcome], int, int]:
        async def work() -> list[Outcome]:
            with Journal(path) as journal:
                model = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK)), journal, usage)
                outcomes = await ask_all(model, make_requests(3))
                await model.close()
            return outcomes

        usage = Usage()
        return run(work()), usage.damaged, server.calls

    path = tmp_path / "journal.sqlite"
    replies = [Reply(f"re: question {number}", 7, 3, "stop") for number in range(3)]
    assert ask() == (replies, 0, 3)
    damage_rows(path, f"{change} WHERE rowid < 3")
    outcomes, damaged, calls = ask()
    assert ([getattr(found, "text", None) for found in outcomes], damaged, calls) == (
        [reply.text for reply in replies],
        2,
        5,
    )
    assert ask()[1:] == (0, 5)


def test_a_reply_under_the_key_of_another_question_is_damage(tmp_path: Path) -> None:
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("a", Reply("to a"))
        journal.put("b", Reply("to b"))
        damage_rows(journal.path, "DELETE FROM replies WHERE key = 'b'", "UPDATE replies SET key = 'b'")
        assert (journal.get("b"), journal.damaged) == (None, {"b"})
        assert journal.put("b", Reply("to b, again")) == Reply("to b, again")
        assert journal.get("b") == Reply("to b, again", cached=True)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("DROP TABLE replies", "no such table: replies"),
        ("ALTER TABLE replies RENAME COLUMN text TO said", "no such column: text"),
        ("ALTER TABLE replies DROP COLUMN checksum", "no such column: checksum"),
    ],
)
def test_a_journal_of_another_form_is_refused_when_it_is_opened(tmp_path: Path, change: str, reason: str) -> None:
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    damage_rows(path, change)
    with pytest.raises(SourceError) as caught:
        Journal(path)
    said = f"{path}: cannot be opened as a journal ({reason}); check the disk, or name another file"
    assert str(caught.value) == said


def test_a_damaged_log_loses_its_last_replies_and_nothing_else(tmp_path: Path) -> None:
    path, log = tmp_path / "journal.sqlite", tmp_path / "journal.sqlite-wal"
    with Journal(path) as journal:
        for key, reply in KEPT.items():
            journal.put(key, reply)
        data, written = path.read_bytes(), bytearray(log.read_bytes())
    written[len(written) // 2] ^= 1
    path.write_bytes(data)
    log.write_bytes(written)
    with Journal(path) as journal:
        found = [journal.get(key) for key in KEYS]
    known = sum(reply is not None for reply in found)
    assert 0 < known < 80
    assert [reply and reply.text for reply in found] == [KEPT[key].text for key in KEYS[:known]] + [None] * (80 - known)


OLD = """
CREATE TABLE replies (key TEXT NOT NULL UNIQUE, text BLOB NOT NULL, prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL, finish BLOB, meta TEXT NOT NULL);
PRAGMA application_id = 0x50725262;
PRAGMA user_version = 1;
INSERT INTO replies VALUES ('a', CAST('Yes.' AS BLOB), 7, 3, CAST('stop' AS BLOB), '{}');
INSERT INTO replies VALUES ('b', CAST('No.' AS BLOB), 7, 3, NULL, '{}');
INSERT INTO replies VALUES ('c', x'fffe', 7, 3, NULL, '{}');
"""


def test_a_journal_without_checksums_gets_them_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    old = sqlite3.connect(path)
    old.executescript(OLD)
    old.close()
    for _ in range(2):
        with Journal(path) as journal:
            assert journal.get("a") == Reply("Yes.", 7, 3, "stop", cached=True)
            assert journal.get("b") == Reply("No.", 7, 3, cached=True)
            assert (journal.get("c"), journal.damaged) == (None, {"c"})
    damage_rows(path, "UPDATE replies SET text = CAST('Yes!' AS BLOB) WHERE key = 'a'")
    with Journal(path) as journal:
        assert (journal.get("a"), journal.damaged) == (None, {"a"})


def test_damaged_probabilities_are_asked_for_again(tmp_path: Path) -> None:
    def ask() -> tuple[list[float], int]:
        usage = Usage()
        with Journal(path) as journal:
            model = CachedYesNo(LexicalModel(), journal, usage)
            return run(model.probabilities("", "rest and drink water", ["drink water"])), usage.damaged

    path = tmp_path / "journal.sqlite"
    [probability], _ = ask()
    for text in ("[0.25]", "[7]", "[]", "nonsense"):
        damage_rows(path, f"UPDATE replies SET text = CAST('{text}' AS BLOB)")
        assert ask() == ([probability], 1)
    assert ask() == ([probability], 0)


@pytest.mark.parametrize("text", ["garbage", "[0.5", "{}", "null", '["a"]', "[NaN]", "[2]", "[null]", "[true]"])
def test_probabilities_that_were_damaged_before_they_had_a_checksum_are_not_used(tmp_path: Path, text: str) -> None:
    question, model = ("Hi", "Hello", ["It greets."]), LexicalModel()
    with Journal(tmp_path / "journal.sqlite") as journal:
        journal.put(key_of(model.identity, make_question(*question)), Reply(text))
        with pytest.raises(UnjudgedError, match="has no probabilities for this question; name another journal"):
            run(CachedYesNo(model, journal, Usage()).probabilities(*question))
