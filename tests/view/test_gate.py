"""Who may ask the app, and what every reply says to the browser."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from prorubric.view.app import STATIC, make_app
from prorubric.view.config import ViewConfig
from prorubric.view.gate import POLICY, ViewGate
from tests.view.folders import name_run

HEADERS = {"x-prorubric": "view", "content-type": "application/json"}
HOSTS = frozenset({"127.0.0.1:8742", "localhost:8742"})
TOKEN = "a token of some length"


@pytest.fixture
def app(runs: Path) -> ViewGate:
    return ViewGate(make_app(runs, config=ViewConfig()), hosts=HOSTS, token=None)


def reach(app: ViewGate, **options: str) -> TestClient:
    return TestClient(app, **{"base_url": "http://127.0.0.1:8742", **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["/", "/api/runs", "/static/app.js", "/nowhere", f"/report/{name_run('evaluated')}"])
def test_every_reply_has_the_security_headers(app: ViewGate, path: str) -> None:
    headers = reach(app).get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-frame-options"] == "DENY"
    policy = headers["content-security-policy"]
    assert policy == POLICY or policy.startswith("sandbox allow-scripts; default-src 'none'; ")


def test_the_policy_lets_nothing_in_from_elsewhere(app: ViewGate) -> None:
    policy = dict(part.split(maxsplit=1) for part in POLICY.split("; "))
    assert policy["default-src"] == "'none'"
    assert {value for name, value in policy.items() if name not in ("default-src", "img-src")} == {"'self'", "'none'"}
    assert "unsafe" not in POLICY


def test_a_report_is_served_apart_from_the_app_and_only_where_there_is_one(app: ViewGate) -> None:
    answer = reach(app).get(f"/report/{name_run('evaluated')}")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")
    assert "allow-same-origin" not in answer.headers["content-security-policy"]
    assert reach(app).get(f"/report/{name_run('panel')}").status_code == 404


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8742", "127.0.0.1:80", ""])
def test_another_host_name_is_refused(app: ViewGate, host: str) -> None:
    answer = reach(app).get("/api/runs", headers={"host": host})
    assert answer.status_code == 421
    assert "is not allowed" in answer.json()["error"]


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"content-type": "text/plain", "x-prorubric": "view"},
        {"content-type": "application/json"},
        HEADERS | {"origin": "http://evil.example"},
        HEADERS | {"origin": "null"},
        HEADERS | {"origin": "http://127.0.0.1:9999"},
        HEADERS | {"sec-fetch-site": "cross-site"},
        HEADERS | {"sec-fetch-site": "same-site"},
    ],
)
def test_a_change_from_another_site_or_without_the_header_is_refused(app: ViewGate, headers: dict[str, str]) -> None:
    answer = reach(app).post("/api/ask/play", content=b'{"answer": "x"}', headers=headers)
    assert answer.status_code == 403


def test_a_change_from_the_apps_own_page_goes_through(app: ViewGate) -> None:
    own = HEADERS | {"origin": "http://127.0.0.1:8742", "sec-fetch-site": "same-origin"}
    body = b'{"answer": "x", "question": "y", "criteria": "z"}'
    assert reach(app).post("/api/ask/play", content=body, headers=own).status_code == 409  # no judge may be asked


@pytest.mark.parametrize("body", [b" " * 4_000_001, iter([b"{}"])])
def test_a_body_that_is_too_large_or_of_unknown_length_is_refused_before_it_is_read(app: ViewGate, body: bytes) -> None:
    answer = reach(app).post("/api/ask/play", content=body, headers=HEADERS)
    assert answer.status_code == 413
    assert answer.json()["error"].startswith("the body has more than 4,000,000 bytes")


class TestToken:
    @pytest.fixture
    def client(self, runs: Path) -> TestClient:
        gate = ViewGate(make_app(runs, config=ViewConfig()), hosts=None, token=TOKEN)
        return TestClient(gate, base_url="http://192.0.2.1:8742", follow_redirects=False)

    @pytest.mark.parametrize("path", ["/", "/api/runs", "/static/app.js", "/?token=wrong"])
    def test_nothing_is_shown_without_it(self, client: TestClient, path: str) -> None:
        assert client.get(path).status_code == 401

    def test_it_moves_from_the_first_url_into_a_cookie_that_scripts_cannot_read(self, client: TestClient) -> None:
        answer = client.get("/", params={"token": TOKEN})
        assert (answer.status_code, answer.headers["location"]) == (303, "/")
        cookie = answer.headers["set-cookie"].lower()
        assert "httponly" in cookie
        assert "samesite=lax" in cookie
        assert client.get("/api/runs").status_code == 200

    def test_a_cookie_with_another_value_does_not_help(self, client: TestClient) -> None:
        client.cookies.set("prorubric-view-8742", "wrong")
        assert client.get("/api/runs").status_code == 401


def test_a_path_cannot_leave_the_static_files(app: ViewGate) -> None:
    for path in ("/static/../config.py", "/static/%2e%2e/config.py", "/static/..%2fconfig.py", "/static//etc/passwd"):
        assert reach(app).get(path).status_code == 404


def test_all_scripts_together_are_small_and_load_nothing_from_elsewhere() -> None:
    scripts = [*STATIC.rglob("*.js")]
    assert sum(path.stat().st_size for path in scripts) < 250_000
    own = [path for path in (*scripts, *STATIC.glob("*.css"), *STATIC.glob("*.html")) if path.parent.name != "vendor"]
    for path in own:
        text = path.read_text(encoding="utf-8")
        assert "innerHTML" not in text
        assert "https://" not in text


def test_every_vendored_file_is_named_with_its_licence() -> None:
    licences = (STATIC / "vendor/LICENSES.md").read_text(encoding="utf-8")
    for path in (STATIC / "vendor").iterdir():
        assert path.name == "LICENSES.md" or f"`{path.name}`" in licences
