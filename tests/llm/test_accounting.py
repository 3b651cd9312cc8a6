"""What was used and what it may cost; unknown is None and never 0."""

from pathlib import Path

import pytest

from prorubric.errors import SourceError
from prorubric.llm.accounting import CountedModel, Usage, estimate_cost, find_price, load_prices
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import CachedModel, Journal
from prorubric.llm.model import Model, Reply
from tests.llm.asking import QUICK, ask_all, make_request, make_requests, run
from tests.llm.server import MisbehavingServer

PRICES = """{
    "judge": {"prompt": 2.0, "completion": 8.0, "date": "2026-11-05"},
    "judge-mini": {"prompt": 0.5, "completion": 1.0, "date": "2026-11-05", "source": "a price list"}
}"""


@pytest.fixture
def prices_file(tmp_path: Path) -> Path:
    path = tmp_path / "prices.json"
    path.write_text(PRICES)
    return path


def test_outcomes_are_counted_by_what_became_of_them(server: MisbehavingServer, tmp_path: Path) -> None:
    usage = Usage()

    async def work() -> None:
        with Journal(tmp_path / "journal.sqlite") as journal:
            model = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK), usage), journal)
            counted = CountedModel(model, usage)
            assert isinstance(counted, Model)
            await ask_all(counted, make_requests(5))
            await ask_all(counted, make_requests(3))
            server.script("400", "html", "html", "html", "503", "no usage")
            for number in range(3):
                await counted.complete(make_request(f"another question {number}"))
            await counted.close()

    run(work())
    assert usage == Usage(
        model=server.spec,
        calls=11,
        cached=3,
        failures={"http": 1, "reply": 1},
        retries=3,
        cached_prompt_tokens=21,
        cached_completion_tokens=9,
        prompt_tokens=35,
        completion_tokens=15,
        unmetered=1,
    )


@pytest.mark.parametrize(
    ("model", "prompt"),
    [
        ("judge", 2.0),
        ("http://host:8000/v1#judge", 2.0),
        ("https://host/v1#Judge-2026-01-31", 2.0),
        ("judge-latest", 2.0),
        ("judge-mini", 0.5),
        ("judge-mini@20260131", 0.5),
    ],
)
def test_a_model_has_the_price_of_the_longest_name_it_begins_with(prices_file: Path, model: str, prompt: float) -> None:
    price = find_price(model, load_prices(prices_file))
    assert price is not None
    assert price.prompt == prompt


@pytest.mark.parametrize("model", ["", "lexical", "my-judge", "judge-pro", "judge.1", "judge-7b"])
def test_a_sibling_with_another_name_has_no_price(prices_file: Path, model: str) -> None:
    assert find_price(model, load_prices(prices_file)) is None


def test_a_cost_is_the_tokens_at_list_price(prices_file: Path) -> None:
    usage = Usage(model="http://host/v1#judge", calls=2, prompt_tokens=1_500_000, completion_tokens=250_000)
    assert estimate_cost(usage, load_prices(prices_file)) == 5.0


def test_a_cost_that_is_not_known_is_none(prices_file: Path) -> None:
    prices = load_prices(prices_file)
    assert estimate_cost(Usage(model="unknown", calls=1, prompt_tokens=10), prices) is None
    unmetered = Usage(model="judge")
    unmetered.add(Reply("a reply of which the endpoint did not say how long it was"))
    assert estimate_cost(unmetered, prices) is None


def test_every_price_of_ours_is_dated_and_above_zero() -> None:
    prices = load_prices()
    assert len(prices) >= 5
    assert all(price.prompt > 0 and price.completion > 0 and price.date.year >= 2026 for price in prices.values())


@pytest.mark.parametrize(
    "text", ["", "[]", '{"judge": {}}', '{"judge": {"prompt": -1, "completion": 1, "date": "2026-11-05"}}']
)
def test_a_file_that_is_not_a_price_table_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"^\S+prices.json: not a price table: [^\n]+$"):
        load_prices(path)


def test_a_price_table_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        load_prices(tmp_path / "none.json")
