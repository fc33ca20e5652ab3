"""A visitor of the web app, in the test's own process."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from starlette.testclient import TestClient

from raterlens.app.web.server import make_app
from raterlens.app.web.settings import Settings

HERE = "http://127.0.0.1:8765"
ORIGIN = {"Origin": HERE}

LONG = "student,rater,item,score\n" + "".join(
    f"S{s},R{r},{item},{(s + r + len(item)) % 2}\n"
    for s in range(12)
    for r in range(3)
    for item in ("a", "bb")
)


@contextmanager
def visiting(settings: Settings | None = None, address: str = HERE) -> Iterator[TestClient]:
    with TestClient(make_app(settings or Settings()), base_url=address, follow_redirects=False) as client:
        yield client


def send(client: TestClient, content: str | bytes, name: str = "ratings.csv", **headers: str) -> Any:
    return client.post("/tables", files={"file": (name, content)}, headers=ORIGIN | headers)
