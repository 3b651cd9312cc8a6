"""What was used and what it may cost; unknown is None and never 0."""

from pathlib import Path

import pytest

from prorubric.errors import SourceError
from prorubric.llm.accounting import Usage, estimate_cost, find_price, load_prices
from prorubric.llm.cache import CachedModel
from prorubric.llm.http import HttpConfig, HttpModel
from prorubric.llm.journal import Journal
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
            counted = CachedModel(HttpModel(server.spec, HttpConfig(**QUICK), usage), journal, usage)
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
        repeated=3,
        failures={"http": 1, "reply": 1},
        retries=3,
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
    assert all(
        price.prompt > 0 and price.completion > 0 and price.date and price.date.year >= 2026
        for price in prices.values()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "Invalid JSON"),
        ("[]", "Input should be a valid dictionary"),
        ('{"judge": {}}', "judge.prompt: Field required"),
        ('{"judge": {"prompt": -1, "completion": 1}}', "judge.prompt: Input should be greater than or equal to 0"),
        ('{"judge": {"prompt": 1, "completion": "a lot"}}', "judge.completion: Input should be a valid number"),
        ('{"judge": [1, 2, 3]}', "judge"),
        ('{"judge": 3}', "judge"),
    ],
)
def test_a_file_that_is_not_a_price_table_is_refused_in_one_line_with_an_example(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / "prices.json"
    path.write_text(text)
    with pytest.raises(SourceError, match=r"^\S+prices.json: not a price table: [^\n]+per million tokens$") as caught:
        load_prices(path)
    assert said in str(caught.value)
    assert '{"model-name": {"prompt": 0.15, "completion": 0.60}}' in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"judge": {"prompt": 2, "completion": "8.0"}}',
        '{"judge": {"input": 2, "output": 8, "cached_input": 0.5}}',
        '{"judge": [2, 8]}',
        '{"prompt": 2, "completion": 8}',
        '{"*": [2, 8], "other": [0, 0]}',
    ],
)
def test_a_price_table_may_be_written_in_the_ways_people_write_one(tmp_path: Path, text: str) -> None:
    (tmp_path / "prices.json").write_text(text)
    price = find_price("https://host/v1#judge", load_prices(tmp_path / "prices.json"))
    assert price is not None
    assert (price.prompt, price.completion, price.date, price.source) == (2.0, 8.0, None, "")


def test_the_prices_of_a_file_go_before_ours_and_ours_stay(tmp_path: Path) -> None:
    (tmp_path / "prices.json").write_text('{"gpt-4o-mini": [7, 9]}')
    own, ours = load_prices(tmp_path / "prices.json"), load_prices()
    assert (own["gpt-4o-mini"].prompt, own["gpt-4.1"]) == (7.0, ours["gpt-4.1"])


@pytest.mark.parametrize("text", ["0.15,0.60", " 0.15 , .6 ", "0.15, 6e-1"])
def test_two_numbers_are_the_price_of_every_model(text: str) -> None:
    prices = load_prices(text)
    usage = Usage(model="http://host/v1#gpt-4.1", calls=1, prompt_tokens=2_000_000, completion_tokens=1_000_000)
    assert estimate_cost(usage, prices) == pytest.approx(0.90)


@pytest.mark.parametrize("text", ["-1,2", "nan,1", "1,inf"])
def test_numbers_that_are_no_price_are_refused(text: str) -> None:
    with pytest.raises(SourceError, match=f"^{text}: not a price"):
        load_prices(text)


@pytest.mark.parametrize("text", ["none.json", "1,2,3", "0.15", "a,b"])
def test_prices_that_are_not_there_are_refused_with_both_forms(text: str) -> None:
    with pytest.raises(SourceError, match=rf"^{text}: the price table cannot be read .*0\.15,0\.60"):
        load_prices(text)
