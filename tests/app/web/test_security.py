"""Who may come in, from where, and what a browser may do with the answers."""

import pytest

from raterlens.app.web.server import own_host
from raterlens.app.web.settings import Settings
from tests.support.web_clients import HERE, LONG, ORIGIN, send, visiting


@pytest.fixture(scope="module")
def client(app_client):
    return app_client


@pytest.mark.parametrize(
    ("header", "bound", "ours"),
    [
        ("127.0.0.1:8765", "127.0.0.1", True),
        ("localhost", "127.0.0.1", True),
        ("[::1]:8765", "127.0.0.1", True),
        ("evil.example", "127.0.0.1", False),
        ("127.0.0.1.evil.example:8765", "127.0.0.1", False),
        ("192.168.1.5:8765", "127.0.0.1", False),
        ("192.168.1.5:8765", "0.0.0.0", True),
        ("evil.example:8765", "0.0.0.0", False),
        ("marking.school.test", "marking.school.test", True),
        ("", "127.0.0.1", False),
        ("[::1", "127.0.0.1", False),
    ],
)
def test_only_our_own_names_are_answered(header, bound, ours):
    assert own_host(header, bound) is ours


def test_a_rebound_name_gets_nothing(client):
    answer = client.get("/", headers={"Host": "evil.example:8765"})
    assert answer.status_code == 421
    assert "evil.example" in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:8765"},
        {"Origin": "http://127.0.0.1:9999"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
@pytest.mark.parametrize("path", ["/example", "/forget", "/tables"])
def test_posts_from_elsewhere_are_refused(client, headers, path):
    assert client.post(path, headers=headers).status_code == 403


def test_a_browser_that_sends_no_origin_may_say_where_it_comes_from(client):
    assert client.post("/forget", headers={"Sec-Fetch-Site": "same-origin"}).status_code == 303


def test_every_answer_carries_the_headers(client):
    for answer in (
        client.get("/"),
        client.get("/nowhere"),
        client.get("/static/app.css"),
        client.post("/example"),
        client.get("/", headers={"Host": "evil.example"}),
    ):
        policy = answer.headers["content-security-policy"]
        assert "unsafe" not in policy
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"


def test_a_token_is_asked_for_once_and_then_kept_in_a_cookie():
    token = "a-very-long-token"
    settings = Settings(host="0.0.0.0", token=token)
    with visiting(settings, "http://192.168.1.5:8765") as client:
        for address in ("/", "/?token=wrong", "/static/app.js", "/?token="):
            assert client.get(address).status_code == 401
        refused = client.post(f"/example?token={token}", headers={"Origin": "http://192.168.1.5:8765"})
        assert refused.status_code == 401
        entered = client.get(f"/compare?one=x&token={token}")
        assert (entered.status_code, entered.headers["location"]) == (303, "/compare?one=x")
        cookie = entered.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "samesite=strict" in cookie.lower()
        assert client.get("/").status_code == 200


def test_one_visitor_cannot_see_what_another_has(visitor):
    sent = send(visitor, LONG)
    address = sent.headers["location"]
    assert visitor.get(address).status_code == 200
    cookie = sent.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "samesite=strict" in cookie.lower()
    visitor.cookies.clear()
    for path in (address, f"{address}/check", f"{address}/fits", f"{address}/remove"):
        answer = visitor.get(path) if path == address else visitor.post(path, headers=ORIGIN)
        assert answer.status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/static/../server.py",
        "/fits/..%2f..%2fetc/files/passwd",
        "/tables/..%2f..",
        "/fits/x/files/..%2ffit.json",
    ],
)
def test_no_path_from_the_client_is_opened(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text


def test_only_uploads_may_be_large(client):
    big = client.post("/example", headers=ORIGIN, content=b"x" * 1_000_001)
    assert big.status_code == 413
    endless = client.post("/example", headers=ORIGIN, content=iter([b"x"]))
    assert endless.status_code == 413


def test_pages_that_are_not_there_are_told_plainly(client):
    assert client.get("/wp-admin").status_code == 404
    assert client.get("/example").status_code == 405
    assert "Traceback" not in client.get("/wp-admin").text
    assert HERE not in client.get("/wp-admin").text
