"""What every request passes before and after its route: host name, token, origin, security headers.

A page elsewhere must not be able to read a run or to change one. On loopback the host name keeps out a name that was
pointed at this machine; elsewhere a token does, which moves from the first URL into a cookie that scripts cannot read.
Requests that change something must come from the app's own pages: as JSON, with its header, from its own origin.
"""

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from prorubric.text.show import shorten

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""For a report: it gets a separate origin, so its script cannot use this app. Its own policy applies too."""
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = ("GET", "HEAD")
_MOST_BYTES = 4_000_000
"""Of a request: an answer to be judged has at most 200,000 characters."""
HEADER = "x-prorubric"
"""A header that only a page of the same origin can send without asking first."""


class ViewGate:
    """The outermost layer of the app."""

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None, token: str | None) -> None:
        self._app, self._hosts, self._token = app, hosts, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on; every reply gets the headers."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._check_sender(scope) or _check_change(scope)
        await (refused or self._app)(scope, receive, send_guarded)

    def _check_sender(self, scope: Scope) -> Response | None:
        """The answer to a request under a wrong name or without the token; None if it may go on."""
        headers = Headers(scope=scope)
        host = headers.get("host", "").lower()
        if self._hosts is not None and self._hosts.isdisjoint((host, host.rpartition(":")[0])):
            return _refuse(421, f"the host name {shorten(repr(host))} is not allowed; use the address that was printed")
        if self._token is None:
            return None
        # Cookies know hosts and no ports: two apps on one machine must not share one.
        name = f"prorubric-view-{(scope.get('server') or ('', 0))[1]}"
        if self._is_token(parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]):
            answer = RedirectResponse("/", 303)
            # With "strict", a link in a web terminal or a mail would arrive without the cookie after the redirect.
            answer.set_cookie(name, self._token, httponly=True, samesite="lax")
            return answer
        try:
            cookie = SimpleCookie(headers.get("cookie", "")).get(name)
        except CookieError:
            cookie = None
        if cookie is None or not self._is_token(cookie.value):
            return _refuse(401, "the token is missing or wrong; open the address that was printed at the start")
        return None

    def _is_token(self, given: str) -> bool:
        return self._token is not None and hmac.compare_digest(given.encode(), self._token.encode())


def _check_change(scope: Scope) -> Response | None:
    """The answer to a request that changes something and does not come from a page of the app; None if it may go on."""
    if scope["method"] in _SAFE:
        return None
    headers = Headers(scope=scope)
    host, origin = headers.get("host", "").lower(), headers.get("origin")
    is_foreign = origin is not None and origin.partition("://")[2].lower() != host
    if is_foreign or headers.get("sec-fetch-site", "same-origin") != "same-origin":
        return _refuse(403, "this came from another site; only the app's own pages can change something")
    is_json = headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
    if not is_json or HEADER not in headers:
        return _refuse(403, f"send JSON, with the header {HEADER}")
    length = headers.get("content-length", "")
    if not length.isdecimal() or int(length) > _MOST_BYTES:
        return _refuse(413, f"the body has more than {_MOST_BYTES:,} bytes, or does not say how many")
    return None


def _refuse(status: int, line: str) -> Response:
    return JSONResponse({"error": line}, status)
