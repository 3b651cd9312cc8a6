"""The journal: what is kept and what is refused."""

import asyncio
import sqlite3
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from prorubric import Message
from prorubric.errors import SourceError
from prorubric.llm.journal import Journal, key_of
from prorubric.llm.model import Reply, Request
from tests.llm.asking import count_replies, make_request, make_requests, run

MESSAGES = st.lists(
    st.builds(Message, role=st.sampled_from(["system", "user", "assistant"]), content=st.text()), min_size=1, max_size=3
).map(tuple)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "messages": MESSAGES,
    "max_tokens": st.integers(1, 10_000),
    "temperature": st.floats(0, 2),
    "top_p": st.floats(0, 1),
    "schema": st.none() | st.dictionaries(st.text(), st.text() | st.lists(st.text())),
    "draw": st.integers(0, 100),
    "top_k": st.none() | st.integers(0, 100),
    "min_p": st.none() | st.floats(0, 1),
    "seed": st.none() | st.integers(0, 100),
    "thinking": st.none() | st.booleans(),
}
REQUESTS = st.builds(Request, **FIELDS)
ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_a_reply_comes_back_as_it_was_and_marked_as_cached(journal: Journal) -> None:
    journal.put("a", Reply("Yes.", 7, 3, "stop"), {"model": "m"})
    assert journal.get("a") == Reply("Yes.", 7, 3, "stop", cached=True)
    assert journal.get("b") is None
    assert count_replies(journal) == 1


def test_replies_are_counted_by_the_model_that_gave_them(journal: Journal) -> None:
    for key, model in (("a", "m"), ("b", "m"), ("c", "ü")):
        journal.put(key, Reply("Yes.", 7, 3), {"model": model})
    assert [(used.model, used.calls, used.prompt_tokens) for used in journal.count()] == [("m", 2, 14), ("ü", 1, 7)]


@given(text=ANY_TEXT, finish=st.none() | ANY_TEXT)
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str, finish: str | None) -> None:
    with Journal(tmp_path_factory.getbasetemp() / "texts.sqlite") as journal:
        key = key_of(repr((text, finish)), make_request())
        journal.put(key, Reply(text, 1, 2, finish))
        assert journal.get(key) == Reply(text, 1, 2, finish, cached=True)


def test_nul_and_a_lone_surrogate_survive_another_opening(tmp_path: Path) -> None:
    for _ in range(2):
        with Journal(tmp_path / "journal.sqlite") as journal:
            journal.put("a", Reply("nul \x00, half \ud83d, end"))
            assert journal.get("a") == Reply("nul \x00, half \ud83d, end", cached=True)


def test_the_first_reply_to_a_question_stays(journal: Journal) -> None:
    assert journal.put("a", Reply("first", 1, 2, "stop")) == Reply("first", 1, 2, "stop")
    assert journal.put("a", Reply("second", 3, 4, "length")) == Reply("first", 3, 4, "stop")
    assert run(journal.keep("a", Reply("third", 5, 6))) == Reply("first", 5, 6, "stop")
    assert journal.get("a") == Reply("first", 1, 2, "stop", cached=True)


@given(request=REQUESTS, field=st.sampled_from(sorted(FIELDS)), data=st.data())
def test_every_field_of_a_request_changes_its_key(request: Request, field: str, data: st.DataObject) -> None:
    other = replace(request, **{field: data.draw(FIELDS[field])})
    assume(other != request)
    assert key_of("model", request) != key_of("model", other)


@given(request=REQUESTS)
def test_equal_requests_have_one_key_and_every_model_its_own(request: Request) -> None:
    assert key_of("model", request) == key_of("model", replace(request))
    assert key_of("model", request) != key_of("another model", request)


def test_what_is_said_by_whom_and_in_how_many_messages_changes_the_key() -> None:
    said = [(("user", "ab"),), (("system", "ab"),), (("user", "a"), ("user", "b")), (("user", "b"), ("user", "a"))]
    conversations = [tuple(Message(role=role, content=content) for role, content in turns) for turns in said]
    assert len({key_of("model", Request(messages)) for messages in conversations}) == 4


def test_whole_and_broken_numbers_that_are_equal_have_one_key() -> None:
    assert key_of("m", make_request(temperature=1, top_p=1)) == key_of("m", make_request(temperature=1.0, top_p=1.0))


def test_a_request_without_options_keeps_the_key_it_has_in_older_journals() -> None:
    request = make_request(temperature=0.7, draw=2, schema={"type": "object"})
    assert key_of("m", request) == "37eb7af7c1eb475b8f4305754ab55d4ef404a11ab7a045db0ae4f02491697b12"
    assert len({key_of("m", replace(request, **option)) for option in ({}, {"seed": 0}, {"thinking": False})}) == 3


def test_a_schema_that_utf_8_cannot_hold_has_a_key() -> None:
    keys = {key_of("m", make_request(schema={"const": value})) for value in ("\ud83d", "\ud83e", 2**70)}
    assert len(keys) == 3


def test_a_file_that_is_not_a_journal_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(b"my notes\n" * 200)
    with pytest.raises(SourceError, match=r"^\S+notes.txt: cannot be opened as a journal \(file is not a database\)"):
        Journal(path)
    assert path.read_bytes() == b"my notes\n" * 200


def test_a_database_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(SourceError, match="a database of another program, not a journal"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_journal_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    Journal(path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 3")
    later.close()
    with pytest.raises(SourceError, match="a journal of version 3, this is version 2; name another file"):
        Journal(path)


@pytest.mark.parametrize("name", ["", "no/such/folder/journal.sqlite"])
def test_a_place_that_cannot_hold_a_journal_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match="cannot be opened as a journal"):
        Journal(tmp_path / name)


def test_an_empty_file_becomes_a_journal(tmp_path: Path) -> None:
    (tmp_path / "journal.sqlite").touch()
    with Journal(tmp_path / "journal.sqlite") as journal:
        assert count_replies(journal) == 0


def test_a_journal_that_cannot_keep_a_reply_says_so(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal.sqlite") as journal:
        with sqlite3.connect(journal.path) as other:
            other.execute("DROP TABLE replies")
        other.close()
        with pytest.raises(SourceError, match="the journal cannot keep a reply"):
            journal.put("a", Reply("Yes."))
        with pytest.raises(SourceError, match="the journal cannot be read"):
            journal.get("a")


def count_commits(path: Path) -> int:
    """How often the write-ahead log was committed to: the header of a frame says whether it ends a transaction."""
    log = path.with_name(f"{path.name}-wal").read_bytes()
    page = int.from_bytes(log[8:12], "big")
    return sum(int.from_bytes(log[start + 4 : start + 8], "big") > 0 for start in range(32, len(log), 24 + page))


def test_replies_of_the_same_moment_are_kept_by_one_commit_before_anybody_goes_on(journal: Journal) -> None:
    async def keep(number: int) -> int:
        await journal.keep(str(number), Reply(f"reply {number}"))
        return count_replies(journal)

    async def work() -> list[int]:
        return await asyncio.gather(*map(keep, range(5)))

    before = count_commits(journal.path)
    assert run(work()) == [5] * 5
    assert count_commits(journal.path) - before == 1
    assert journal.get("3") == Reply("reply 3", cached=True)


def test_a_reply_is_kept_also_where_the_one_that_waits_for_it_is_cancelled(journal: Journal) -> None:
    async def work() -> None:
        one, other = (asyncio.create_task(journal.keep(key, Reply(key))) for key in "ab")
        await asyncio.sleep(0)
        one.cancel()
        await other
        assert one.cancelled()

    run(work())
    assert (journal.get("a"), journal.get("b")) == (Reply("a", cached=True), Reply("b", cached=True))


def test_what_waits_to_be_kept_is_kept_when_the_journal_is_closed(tmp_path: Path) -> None:
    async def work() -> None:
        journal = Journal(tmp_path / "j.sqlite")
        waiting = asyncio.create_task(journal.keep("a", Reply("Yes.")))
        await asyncio.sleep(0)
        journal.close()
        await waiting

    run(work())
    with Journal(tmp_path / "j.sqlite") as journal:
        assert journal.get("a") == Reply("Yes.", cached=True)


def test_one_loop_after_another_keeps_its_replies(journal: Journal) -> None:
    for key in "abc":
        run(journal.keep(key, Reply(key)))
    assert count_replies(journal) == 3


def test_a_journal_that_cannot_keep_replies_says_so_to_all_who_wait(tmp_path: Path) -> None:
    async def work() -> list[BaseException | None]:
        with Journal(tmp_path / "j.sqlite") as journal:
            journal._connection.execute("PRAGMA query_only = 1")
            waiting = [journal.keep(key, Reply(key)) for key in "ab"]
            found = await asyncio.gather(*waiting, return_exceptions=True)
            journal._connection.execute("PRAGMA query_only = 0")
            await journal.keep("c", Reply("c"))  # the failed commit is not in its way
            assert count_replies(journal) == 1
            return found

    found = run(work())
    assert [type(error) for error in found] == [SourceError, SourceError]
    assert "the journal cannot keep a reply" in str(found[0])


def test_closing_twice_is_safe(journal: Journal) -> None:
    journal.close()
    journal.close()


def test_keeping_a_reply_costs_little(journal: Journal) -> None:
    keys = [key_of("m", request) for request in make_requests(2_000)]
    reply = Reply("x" * 300, 7, 3, "stop")
    began = time.process_time()
    for key in keys:
        journal.put(key, reply, {"model": "m"})
    # 30 µs on an idle machine; the promise is 60, and a busy one is given room.
    assert (time.process_time() - began) / len(keys) < 300e-6


def test_a_count_that_no_column_holds_is_told_to_all_who_wait(journal: Journal) -> None:
    async def keep(key: str, tokens: int) -> None:
        await journal.keep(key, Reply("x", tokens))

    async def both() -> list[BaseException | None]:
        return await asyncio.gather(keep("a", 2**70), keep("b", 1), return_exceptions=True)

    assert [type(found) for found in asyncio.run(both())] == [SourceError, SourceError]
    asyncio.run(keep("c", 1))
    assert count_replies(journal) == 1
