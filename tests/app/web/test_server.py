"""The web app as it is started, and who may ask it."""

import signal
import socket
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from raterlens.app.web.server import own_host, serve
from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError
from tests.support.web_clients import HERE, LONG, ORIGIN, send, visiting
from tests.support.web_servers import serving


def ask(address: str, path: str = "/") -> tuple[int, str]:
    connection = HTTPConnection(urlsplit(address).netloc, timeout=20)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads processor time from /proc")
def test_the_first_page_costs_less_than_a_second(tmp_path):
    """In time of the processor, so that a busy machine does not matter."""
    with serving(tmp_path) as server:
        status, text = ask(server.address)
        spent = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        mapped = Path(f"/proc/{server.process.pid}/maps").read_text()
    assert status == 200
    assert "Drop a file here" in text
    assert sum(int(ticks) for ticks in spent) / 100 < 1.0
    assert not [name for name in ("numpy", "polars", "scipy") if name in mapped]


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_behind_however_it_ends(tmp_path, ending):
    with serving(tmp_path) as server:
        assert ask(server.address)[0] == 200
        assert [path.name[:10] for path in tmp_path.iterdir()] == ["raterlens-"]
        server.process.send_signal(ending)
        server.process.wait(20)
    end = time.monotonic() + 20
    while any(tmp_path.iterdir()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_other_machines_need_the_token_that_is_printed(tmp_path):
    with serving(tmp_path, "--host", "0.0.0.0") as server:
        parts = urlsplit(server.address)
        assert parts.query.startswith("token=")
        here = f"http://127.0.0.1:{parts.port}/"
        assert ask(here)[0] == 401
        assert ask(here, f"/?{parts.query}")[0] == 303


def test_a_port_in_use_is_told(tmp_path):
    with serving(tmp_path) as server:
        port = urlsplit(server.address).port
        with pytest.raises(OptionError, match=f"port {port}.*port=0") as refused:
            serve(Settings(port=port))
    assert refused.value.option == "port"


START = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\nstudent,ra'


def test_it_stops_within_seconds_of_sigterm_and_its_port_is_free_again(tmp_path):
    """With an upload half-open, which it would otherwise wait for."""
    with serving(tmp_path) as server:
        here = urlsplit(server.address)
        head = (
            f"POST /tables HTTP/1.1\r\nHost: {here.netloc}\r\nOrigin: http://{here.netloc}\r\n"
            "Content-Type: multipart/form-data; boundary=b\r\nContent-Length: 9999\r\n\r\n"
        )
        with socket.create_connection((here.hostname, here.port)) as held:
            held.sendall(head.encode() + START)
            time.sleep(0.3)
            begun = time.monotonic()
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(20)
            assert time.monotonic() - begun < 5
    with serving(tmp_path, "--port", str(here.port)) as again:
        assert ask(again.address)[0] == 200


def test_a_hundred_bad_uploads_take_no_place():
    """Some cannot be read at all; of others the columns are shown, and their sessions make room for the next."""
    bad = [
        ("x.csv", ""),
        ("x.exe", "MZ"),
        ("x.csv", "only one column\n1\n"),
        ("x.parquet", "PAR1"),
        ("x.csv", "a,b,c\n1,2,x\n3,4,y\n"),
    ]
    with visiting(Settings(max_sessions=2)) as client:
        good = send(client, LONG)
        where, cookie = good.headers["location"], dict(client.cookies)
        roles = {f"role-{n}": role for n, role in enumerate(("student", "rater", "item", "score"))}
        assert client.post(f"{where}/check", data=roles, headers=ORIGIN).status_code == 200
        for number in range(100):
            client.cookies.clear()
            name, content = bad[number % len(bad)]
            send(client, content, name)
        client.cookies.clear()
        assert send(client, LONG).status_code == 303
        client.cookies.clear()
        client.cookies.update(cookie)
        assert client.get(where).status_code == 200


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
