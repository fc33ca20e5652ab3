"""Requests of any kind to the web app: an answer that is no error of ours, and that shows nothing of the machine."""

import atexit
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from audit.subject import Case, Subject
from raterlens.app.web.settings import Settings
from tests.support.web_clients import HERE, LONG, ORIGIN, visiting

PATHS = (
    *("/", "/tables", "/example", "/forget", "/tables/{id}", "/tables/{id}/sheet", "/tables/{id}/check"),
    *("/tables/{id}/remove", "/tables/{id}/fits", "/fits/{id}", "/fits/{id}/progress", "/fits/{id}/cancel"),
    *(
        "/fits/{id}/files/fit.json",
        "/fits/{id}/files/../../x",
        "/compare",
        "/static/report.css",
        "/static/../x",
    ),
)
HEADERS = (
    "Origin",
    "Host",
    "Content-Type",
    "Content-Length",
    "Cookie",
    "Range",
    "Sec-Fetch-Site",
    "Accept-Language",
)
FIELDS = (
    "student",
    "rater",
    "item",
    "score",
    "cut",
    "model",
    "method",
    "link",
    "role-student",
    "spread",
    "sheet",
    "x",
)
BODIES = (LONG, "", "a,b\n1,2\n", "student,rater,score\n1,a,9\n", "\0" * 50, "PAR1")


def cases() -> SearchStrategy[Case]:
    words = st.text(max_size=6) | st.sampled_from(
        ["../../etc/passwd", "<script>", "%00", "1", "same-origin", HERE]
    )
    latin = words.map(lambda text: "".join(letter for letter in text if " " < letter < "\x7f"))
    upload = st.tuples(
        st.sampled_from(["ratings.csv", "x.xlsx", "x.exe", "<b>.csv", ""]), st.sampled_from(BODIES)
    )
    return st.fixed_dictionaries(
        {
            "method": st.sampled_from(["GET", "POST", "POST", "HEAD", "PUT", "DELETE", "OPTIONS"]),
            "path": st.sampled_from(PATHS) | latin.map(lambda text: f"/{text}"),
            "id": st.sampled_from(["own", "none", "..", "%2e%2e"]),
            "query": st.dictionaries(st.sampled_from(FIELDS), words, max_size=2),
            "headers": st.dictionaries(st.sampled_from(HEADERS), latin, max_size=2),
            "form": st.dictionaries(st.sampled_from(FIELDS), words, max_size=3),
            "upload": st.none() | upload.map(list),
            "ours": st.sampled_from([True, True, False]),
        }
    )


@cache
def visitor() -> Any:
    """A visitor with a table, for as long as the process lives."""
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(visiting(Settings(max_tables=10, max_sessions=5, idle=5)))


def _own_table(client: Any) -> str:
    sent = client.post("/tables", files={"file": ("ratings.csv", LONG)}, headers=ORIGIN)
    return str(sent.headers.get("location", "/tables/none")).rpartition("/")[2]


def check(case: Case, folder: Path) -> str:
    client = visitor()
    own = _own_table(client) if case["id"] == "own" else case["id"]
    path = case["path"].replace("{id}", own)
    headers = case["headers"] | (ORIGIN if case["ours"] else {})
    given: dict[str, Any] = {"data": case["form"]} if case["form"] else {}
    if case["upload"]:
        given = {"files": {"file": tuple(case["upload"])}}
    answer = client.request(case["method"], path, params=case["query"], headers=headers, **given)
    assert answer.status_code < 500 or answer.status_code == 503, (
        f"{answer.status_code}: {answer.text[-300:]}"
    )
    assert "Traceback" not in answer.text
    assert "bug in Raterlens" not in answer.text
    assert "/tmp/" not in answer.text, "the answer shows where files are"
    assert "<script>alert" not in answer.text
    assert answer.headers.get("x-content-type-options") == "nosniff", dict(answer.headers)
    if case["id"] == "own":
        client.post("/forget", headers=ORIGIN)
    return f"status {answer.status_code // 100}xx"


SUBJECT = Subject("web requests", cases, check, share=0.05, batch=20)
