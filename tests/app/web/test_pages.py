"""Pages of tables: uploads, roles of columns, and what is refused."""

import asyncio
import html
import re
import shlex
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from openpyxl import Workbook

from raterlens.app.cli.main import main
from raterlens.app.web.form import read_config
from raterlens.app.web.pages import FILES
from raterlens.app.web.server import make_app
from raterlens.app.web.settings import Settings
from raterlens.app.web.tasks import check, preview
from raterlens.app.web.tasks import fit as fit_table
from raterlens.fitting.api import load
from raterlens.fitting.fit import Fit
from raterlens.output import folder
from tests.support.web_clients import LONG, ORIGIN, send, visiting

RATINGS = [line.split(",") for line in LONG.splitlines()]
ROLES = ("student", "rater", "item", "score")


def workbook(**sheets: list[list[str]]) -> bytes:
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    file = BytesIO()
    book.save(file)
    return file.getvalue()


def test_the_sheet_that_looks_like_ratings_is_taken_and_another_can_be_chosen(visitor):
    key = [["item", "meaning"], ["a", "first"], ["bb", "second"]]
    fewer = [row for row in RATINGS if row[1] != "R2"]
    sent = send(visitor, workbook(Empty=[], Key=key, Ratings=RATINGS), "panel.xlsx")
    assert '<option value="Ratings" selected>' in visitor.get(sent.headers["location"]).text
    sent = send(visitor, workbook(Empty=[], Key=key, Ratings=RATINGS, Fewer=fewer), "panel.xlsx")
    where = sent.headers["location"]
    assert "Please check:</strong> 2 sheets laid out alike" in visitor.get(where).text
    assert visitor.post(f"{where}/sheet", data={"sheet": "Ratings"}, headers=ORIGIN).status_code == 303
    roles = {f"role-{place}": role for place, role in enumerate(ROLES)}
    assert "by 3 raters" in visitor.post(f"{where}/check", data=roles, headers=ORIGIN).text
    turned = visitor.post(f"{where}/sheet", data={"sheet": "Fewer"}, headers=ORIGIN)
    assert turned.headers["location"] == where
    assert '<option value="Fewer" selected>' in visitor.get(where).text
    assert "by 2 raters" in visitor.post(f"{where}/check", data=roles, headers=ORIGIN).text
    unknown = visitor.post(f"{where}/sheet", data={"sheet": "<b>"}, headers=ORIGIN)
    assert unknown.status_code == 404
    assert "&lt;b&gt;" in unknown.text
    empty = visitor.post(f"{where}/sheet", data={"sheet": "Empty"}, headers=ORIGIN)
    assert empty.status_code == 422
    assert "is empty" in empty.text


def test_a_column_shows_each_of_its_first_values_once(visitor):
    rows = "student,rater,day,score\n" + "".join(f"S{n},R{n % 2},9 May,1\n" for n in range(8))
    page = visitor.get(send(visitor, rows.encode(), "days.csv").headers["location"]).text
    cells = re.findall(r'<td class="values">(.*?)</td>', page)
    assert cells[1] == "<span>R0</span><span>R1</span>"
    assert cells[2] == "<span>9 May</span>"


def test_a_book_of_one_sheet_asks_for_none(visitor):
    where = send(visitor, workbook(Only=RATINGS), "panel.xlsx").headers["location"]
    assert "Use this sheet" not in visitor.get(where).text


def test_the_command_in_the_report_does_the_same(tmp_path: Path, monkeypatch):
    """Where a student has two columns, one with a comma in its name, each row several scores, on a second sheet."""
    drawn = pl.DataFrame(RATINGS[1:], schema=ROLES, orient="row").pivot("item", index=["student", "rater"])
    students = drawn["student"].str.slice(1).cast(pl.Int64)
    rows = zip(students % 4, students // 4, drawn["rater"], drawn["a"], drawn["bb"], strict=True)
    header = ["class, year", "seat", "rater", "a", "bb"]
    path = tmp_path / "by class.xlsx"
    path.write_bytes(workbook(Notes=[["nothing"]], Marks=[header, *map(list, rows)]))
    roles = dict(zip(header, ("student", "student", "rater", "score", "score"), strict=True))
    chosen = {
        "path": str(path),
        "name": path.name,
        "read": read_config(roles, {}, sheet="Marks").given(),
    }
    assert "of 12 students by 3 raters on 2 items" in check(**chosen, progress=print)["data"]
    (tmp_path / "app").mkdir()
    fit_table(**chosen, fit={"model": "tfm"}, folder=str(tmp_path / "app"), progress=lambda said: None)
    assert same_again(tmp_path, "app", monkeypatch).n_students == 12


def same_again(folder: Path, app: str, monkeypatch) -> Fit:
    """Run the command that the report names, where the files are; what it fits is what the app did."""
    report = (folder / app / "report.html").read_text(encoding="utf-8")
    (command,) = re.findall(r"<pre[^>]*>(raterlens fit .*?)</pre>", report)
    monkeypatch.chdir(folder)
    assert main(shlex.split(html.unescape(command))[1:]) == 0
    again, here = load(folder / "results" / "fit.json"), load(folder / app / "fit.json")
    assert again.raters.equals(here.raters)
    return again


def test_a_column_for_each_rater_is_guessed_fitted_and_told(tmp_path: Path, monkeypatch):
    """Names of raters above scores; then with criteria below them. Numbers of students are no scores."""
    drawn = pl.DataFrame(RATINGS[1:], schema=ROLES, orient="row").with_columns(pl.col("student").str.slice(1))
    one = drawn.filter(item="a").pivot("rater", index="student", values="score")
    both = drawn.pivot(["rater", "item"], index="student", values="score")
    above = [None, *(r for r in ("R0", "R1", "R2") for _ in range(2))]
    below = ["student", *("a", "bb") * 3]
    for name, rows, size in (
        ("one", [one.columns, *one.rows()], "36 ratings of 12 students by 3 raters on 1 item"),
        ("two", [above, below, *both.rows()], "72 ratings of 12 students by 3 raters on 2 items"),
    ):
        path = tmp_path / f"{name}.xlsx"
        path.write_bytes(workbook(Marks=[list(row) for row in rows]))
        seen = preview(str(path), path.name, None, print)
        wide = seen["patterns"][seen["spread"]]
        chosen = {
            "path": str(path),
            "name": path.name,
            "read": read_config(seen["roles"], {}, wide=wide).given(),
        }
        assert check(**chosen, progress=print)["data"] == size
        (tmp_path / name).mkdir()
        fit_table(**chosen, fit={"model": "tfm"}, folder=str(tmp_path / name), progress=lambda said: None)
        same_again(tmp_path, name, monkeypatch)


@pytest.fixture(scope="module")
def client():
    with visiting(Settings(max_megabytes=0.1, max_rows=500, max_tables=50)) as client:
        yield client


def root(client) -> Path:
    return client.app._app.state.raterlens.sessions._root


def files(client) -> list[str]:
    return sorted(path.name for path in root(client).rglob("*") if path.is_file())


def test_every_file_of_results_can_be_downloaded():
    beside = {
        "change.csv",
        "drift.csv",
        "alarms.csv",
    }  # of a time or an earlier fit, which the app does not take
    assert {*FILES} == {*folder.FILES, *folder.DIAGNOSED, *folder.DECIDED, folder.WORKBOOK} - beside


def test_a_table_is_kept_under_a_name_of_ours(client):
    before = len(files(client))
    name = '../../etc/"><script>alert(1)</script>passwd.CSV'
    sent = send(client, LONG, name)
    assert sent.status_code == 303
    assert len(files(client)) == before + 1
    assert set(files(client)) == {"table.csv"}
    shown = client.get(sent.headers["location"]).text
    assert "<script>alert(1)" not in shown
    assert "script&gt;passwd.CSV" in shown
    assert 'value="student" selected' in shown


@pytest.mark.parametrize(
    ("content", "name", "status", "said"),
    [
        (b"x" * 111_000, "big.csv", 413, "larger than 0.1 MB"),
        ("a,b\n" * 502, "long.csv", 413, "501 rows"),
        (b"\x89PNG\r\n\x1a\n\0\0\0", "photo.csv", 422, "&#39;photo.csv&#39; is not a text table"),
        (b"%PDF-1.4", "paper.pdf", 422, "paper.pdf"),
        ("", "empty.csv", 422, "empty file"),
        ("only one column\n1\n", "one.csv", 422, "no comma"),
        ("student,student\n1,2\n", "<b>.csv", 422, "more than one column named"),
        (LONG, "", 400, "choose one, then send it"),
        (LONG, "no extension", 422, "only these can be uploaded"),
        (b"SQLite format 3\0", "views.sqlite", 422, "only these can be uploaded"),
        (b"\x1f\x8b", "bomb.csv.gz", 422, "only these can be uploaded"),
        ("student,rater,score\n", "bare.csv", 422, "no rows"),
    ],
)
def test_what_cannot_be_taken_is_told_as_on_the_command_line_and_leaves_nothing(
    client, content, name, status, said
):
    before = files(client)
    answer = send(client, content, name)
    assert answer.status_code == status
    assert said in answer.text
    assert "Traceback" not in answer.text
    assert "<b>" not in answer.text
    assert str(root(client)) not in answer.text
    assert files(client) == before


# Starlette leaves a part that breaks off to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_body_that_is_not_a_form_or_breaks_off(client):
    assert client.post("/tables", headers=ORIGIN, content=b"hello").status_code == 400
    broken = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nstudent,ra'
    headers = ORIGIN | {"Content-Type": "multipart/form-data; boundary=b"}
    before = files(client)
    assert client.post("/tables", headers=headers, content=broken + b"\r\n--bad--x").status_code >= 400
    assert files(client) == before


def test_a_body_must_say_how_large_it_is(client):
    head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.parquet"\r\n\r\n'
    headers = ORIGIN | {"Content-Type": "multipart/form-data; boundary=b"}
    before = files(client)
    assert client.post("/tables", headers=headers, content=iter([head, b"x"])).status_code == 411
    assert files(client) == before


def test_everything_is_removed_when_asked_and_at_the_end():
    with visiting() as client:
        sent = send(client, LONG)
        assert files(client) == ["table.csv"]
        client.post("/forget", headers=ORIGIN)
        assert files(client) == []
        assert client.get(sent.headers["location"]).status_code == 404
        send(client, LONG)
        kept = root(client)
        assert files(client) == ["table.csv"]
        assert kept.stat().st_mode & 0o077 == 0
    assert not kept.exists()


def test_failed_uploads_take_no_place():
    settings = Settings(max_sessions=1)
    with visiting(settings) as client:
        for content, name in (("", "x.csv"), ("student;rater\n", "x.exe"), ("PAR1", "x.parquet")):
            assert send(client, content, name).status_code >= 400
            assert not client.cookies
        assert send(client, LONG).status_code == 303


def test_limits_hold_where_uploads_arrive_at_once():
    with visiting(Settings(max_tables=3)) as client, ThreadPoolExecutor(6) as pool:
        send(client, LONG)
        found = Counter(pool.map(lambda _: send(client, LONG).status_code, range(6)))
        assert found == {303: 2, 409: 4}
        assert len(list(root(client).glob("*/*/table.csv"))) == 3


def app_called(body: list[dict], settings: Settings) -> tuple[int, list]:
    """The app's answer to an upload whose body arrives as these messages and then stops."""
    app = make_app(settings)
    boundary = {"content-type": "multipart/form-data; boundary=b", "host": "127.0.0.1:8765", **ORIGIN}
    boundary["content-length"] = "1000"
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/tables",
        "raw_path": b"/tables",
        "query_string": b"",
        "scheme": "http",
        "http_version": "1.1",
        "headers": [(name.lower().encode(), value.encode()) for name, value in boundary.items()],
        "server": ("127.0.0.1", 8765),
        "client": ("127.0.0.1", 1),
    }
    messages, answers, left = iter(body), [], []

    async def receive() -> dict:
        for message in messages:
            return message
        await asyncio.sleep(60)
        raise AssertionError("the upload was not given up")

    async def send_back(message: dict) -> None:
        answers.append(message)

    async def run() -> None:
        inner: Any = app._app
        state = inner.state.raterlens
        async with state.open():
            await app(scope, receive, send_back)
            left.extend([*state.sessions, *state.sessions._root.glob("*/table*")])

    asyncio.run(run())
    return answers[0]["status"], left


START = b'--b\r\nContent-Disposition: form-data; name="file"; filename="x.csv"\r\n\r\nstudent,rater'


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_upload_that_is_broken_off_is_quiet(capfd):
    begun = {"type": "http.request", "body": START, "more_body": True}
    status, left = app_called([begun, {"type": "http.disconnect"}], Settings())
    assert (status, left) == (400, [])
    assert capfd.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_upload_that_stalls_is_given_up():
    begun = {"type": "http.request", "body": START, "more_body": True}
    assert app_called([begun], Settings(upload_timeout=0.2)) == (408, [])


def test_a_refusal_is_a_page_or_a_part_of_one() -> None:
    with visiting() as client:
        whole = client.get("/tables/<b>gone</b>")
        part = client.get("/tables/gone", headers={"HX-Request": "true"})
        nowhere = client.get("/nowhere<b>")
        sent = client.post("/tables", headers=ORIGIN, content=b"x")
    assert whole.status_code == part.status_code == nowhere.status_code == 404
    assert "<!doctype html>" in whole.text
    assert part.text.startswith('<p class="fault" role="alert">This table is no longer here')
    assert "<b>" not in nowhere.text
    assert sent.status_code == 400
    assert "No file was uploaded; choose one, then send it." in sent.text
