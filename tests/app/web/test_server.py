"""`raterlens serve` as a process: quick to answer, light, clean when it goes."""

import signal
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from raterlens.app.web.server import serve
from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError
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
