"""The whole way in a real browser: send, map, fit, explore, compare, cancel, download; and what may go wrong."""

import polars as pl
import pytest
from openpyxl import load_workbook

from raterlens.simulation.simulate import simulate
from tests.support.screens import look
from tests.support.web_servers import serving

SCRIPT, FORMULA = "<script>alert(1)</script>", "=cmd()"
HOSTILE = {"R1": SCRIPT, "R2": FORMULA, "R3": "<img src=x onerror=alert(1)>"}
WAIT = 90_000
"""Milliseconds: machines that run tests are busy."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("work"), "--fits", "1") as running:
        yield running


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Raters whose names are traps."""
    path = tmp_path_factory.mktemp("data") / "hostile <b>.csv"
    table(students=60, raters=5).with_columns(pl.col("rater").replace(HOSTILE)).write_csv(path)
    return path


def table(students: int, raters: int) -> pl.DataFrame:
    drawn = simulate(
        students=students, raters=raters, items=3, raters_per_student=min(raters, 4), seed=4
    ).ratings
    return pl.DataFrame(
        {
            "student": drawn.student,
            "rater": [f"R{code + 1}" for code in drawn.rater],
            "item": [f"item {code + 1}" for code in drawn.item],
            "score": drawn.score,
        }
    )


def send(page, server, path):
    page.goto(server.address)
    page.set_input_files("input[type=file]", path)
    page.wait_for_url("**/tables/*", timeout=WAIT)
    page.wait_for_selector("#findings strong", timeout=WAIT)


def fit(page, model="gmf"):
    page.check(f"input[value={model}]")
    page.get_by_role("button", name="Estimate").press("Enter")
    page.wait_for_selector(".downloads", timeout=WAIT)


def test_from_a_file_with_hostile_labels_to_two_fits_compared(server, hostile, new_page, tmp_path):
    page = new_page(expect=["422"])  # columns that cannot be read are answered by 422
    page.on("dialog", lambda dialog: pytest.fail(f"a label was run: {dialog.message}"))
    send(page, server, hostile)
    assert "hostile <b>.csv" in page.inner_text("main")
    assert page.input_value("select[name=role-1]") == "rater"
    assert "5 raters on 3 items" in page.inner_text("#findings")

    page.select_option("select[name=role-3]", "none")
    page.wait_for_selector("#findings .fault", timeout=WAIT)
    assert "No column is marked as the score" in page.inner_text("#findings")
    page.select_option("select[name=role-3]", "score")
    page.wait_for_selector("#findings strong", timeout=WAIT)

    fit(page)
    first = page.url
    assert SCRIPT in page.inner_text("#raters")
    page.locator("#raters").get_by_role("link", name=SCRIPT).click()
    page.wait_for_selector("#rater:visible")
    assert page.inner_text("#rater-name").strip() == SCRIPT
    slider, answer = page.locator("#rater input[type=range]"), page.locator("#rater .answer")
    before = answer.inner_text()
    slider.focus()
    for _ in range(5):
        page.keyboard.press("ArrowRight")
    assert answer.inner_text() != before
    page.go_back()
    page.wait_for_selector("#raters:visible")
    page.reload()
    assert page.locator(".downloads").count() == 1
    for name, harmless in (("raters.csv", f"'{FORMULA}"), ("report.html", "&lt;script&gt;alert(1)")):
        with page.expect_download() as coming:
            page.click(f'.downloads a[href$="{name}"]')
        assert coming.value.suggested_filename == name
        coming.value.save_as(tmp_path / name)
        assert harmless in (tmp_path / name).read_text()
    with page.expect_download() as coming:
        page.click(".downloads a[href$=xlsx]")
    coming.value.save_as(tmp_path / "results.xlsx")
    (cell,) = [
        c for row in load_workbook(tmp_path / "results.xlsx")["Raters"] for c in row if c.value == FORMULA
    ]
    assert cell.data_type == "s"  # text, not a formula

    page.get_by_role("link", name="Fit another model").click()
    fit(page, "tfm")
    page.get_by_role("link", name="Compare with another").click()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#comparison table", timeout=WAIT)
    said = page.inner_text("#comparison table")
    whole = page.inner_text("#comparison")
    assert "likelihood ratio" in whole
    assert SCRIPT in whole
    page.reload()
    assert page.inner_text("#comparison table") == said  # the table only: where labels of axes break varies
    page.go_back()
    page.wait_for_url("**/compare?one=*")
    page.go_forward()
    page.wait_for_selector("#comparison table", timeout=WAIT)
    assert page.inner_text("h1") == "Compare two fits"
    page.goto(first)
    assert page.locator(".downloads").count() == 1


@pytest.mark.nightly
def test_from_a_strange_file_to_a_report_in_one_click_after_the_drop(server, new_page, tmp_path):
    """Judges in columns, marks out of 100, a title, a mean and a total: everything is filled in, and told."""
    drawn = simulate(students=40, raters=4, items=1, thresholds=[-1.5, -0.5, 0.5, 1.5], seed=8).ratings
    wide = drawn.table().pivot("rater", index="student", values="score")
    names = dict(zip(wide.columns[1:], ("gpt-4o", "claude", "llama", "Mean"), strict=True))
    marks = wide.rename({"student": "essay_id"} | names).with_columns(
        (
            pl.col(name) * 20 + (pl.int_range(pl.len()) * 7 + place) % 20
            for place, name in enumerate(list(names.values())[:3])
        )
    )
    lines = marks.with_columns(Mean=pl.mean_horizontal("gpt-4o", "claude", "llama").round(2)).write_csv(
        separator=";"
    )
    strange = tmp_path / "strange.csv"
    strange.write_bytes(f"Prüfung im Juni\n\n{lines}Total;2000;2000;2000;2000\n".encode("cp1252"))
    page = new_page()
    send(page, server, strange)
    understood = page.inner_text(".found")
    for words in (
        "cp1252",
        "Prüfung im Juni",
        "looks like a total",
        "read as one rater each",
        "marks on a continuous scale",
    ):
        assert words in understood, understood
    assert "Please check" not in understood
    assert (
        "120 ratings of 40 students by 3 raters on 1 item. Marks on a continuous scale."
        in page.inner_text("#findings")
    )
    look(page, "web-strange-table")
    fit(page)
    assert "claude" in page.inner_text("#raters")


@pytest.mark.nightly
def test_a_file_that_is_no_table_is_told_and_another_can_follow(server, new_page, tmp_path):
    photo = tmp_path / "photo.csv"
    photo.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    page = new_page(expect=["422"])
    page.goto(server.address)
    page.set_input_files("input[type=file]", photo)
    page.wait_for_selector("#sent .fault", timeout=WAIT)
    assert "'photo.csv' is not a text table" in page.inner_text("#sent")
    assert not page.is_visible(".sending")
    small = tmp_path / "small.csv"
    table(20, 3).write_csv(small)
    # Dropped this time, not chosen.
    page.evaluate(
        """text => {
            const data = new DataTransfer();
            data.items.add(new File([text], "dropped.csv"));
            document.body.dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true}));
        }""",
        small.read_text(),
    )
    page.wait_for_url("**/tables/*", timeout=WAIT)
    assert "dropped.csv" in page.inner_text("main")


@pytest.mark.nightly
def test_fifty_megabytes_go_in_and_fits_wait_and_are_cancelled(server, new_page, tmp_path):
    large = tmp_path / "large.csv"
    block = "".join(f"student {n},rater {n % 9},{n % 2},{'padding ' * 8}\n" for n in range(5_000))
    with large.open("w") as file:
        file.write("student,rater,score,remark\n")
        while file.tell() < 50_000_000:
            file.write(block)
    page = new_page()
    send(page, server, large)
    assert large.stat().st_size >= 50_000_000
    assert "by 9 raters on 1 item" in page.inner_text("#findings")

    table = page.url
    other = page.context.new_page()
    other.goto(server.address)
    other.get_by_role("button", name="Try it with example data").click()
    other.wait_for_selector("#findings strong", timeout=WAIT)
    page.get_by_role("button", name="Estimate").click()
    page.wait_for_selector("#phase", timeout=WAIT)
    other.get_by_role("button", name="Estimate").click()
    other.wait_for_selector("text=you are next", timeout=WAIT)
    with server.held():
        look(other, "web-waiting")
        other.get_by_role("button", name="Cancel").click()
        other.wait_for_selector("text=This fit was cancelled", timeout=WAIT)

    # The first may be done by now: one that has just begun is cancelled.
    page.goto(table)
    page.get_by_role("button", name="Estimate").click()
    page.wait_for_selector("#phase:text-matches('Reading|Fitting|Running')", timeout=WAIT)
    running = page.url
    # At once: the bar above still moves the button, and the fit takes a second.
    page.get_by_role("button", name="Cancel").dispatch_event("click")
    page.wait_for_selector("text=This fit was cancelled", timeout=WAIT)
    assert page.url == running
    page.reload()
    look(page, "web-cancelled")


@pytest.mark.nightly
def test_every_page_is_accessible_and_fits_light_and_dark_desk_and_phone(server, new_page):
    page = new_page(expect=["404"])
    page.goto(server.address)
    page.get_by_role("button", name="Try it with example data").click()
    page.wait_for_selector("#findings strong", timeout=WAIT)
    table = page.url
    look(page, "web-table")
    fit(page)
    look(page, "web-fit")
    page.locator("#raters tbody a").last.click()
    page.wait_for_selector("#rater:visible")
    look(page, "web-rater")
    page.goto(table)
    fit(page, "tfm")
    page.goto(f"{server.address}compare")
    page.get_by_role("button", name="Compare").click()
    page.wait_for_selector("#comparison table", timeout=WAIT)
    look(page, "web-compare")
    page.goto(server.address)
    look(page, "web-start")
    page.goto(f"{server.address}fits/gone")
    look(page, "web-gone")


@pytest.mark.nightly
def test_a_server_that_went_away_is_told(tmp_path, new_page):
    page = new_page(expect=["ERR_CONNECTION", "htmx:"])
    with serving(tmp_path) as server:
        page.goto(server.address)
        page.get_by_role("button", name="Try it with example data").click()
        page.wait_for_selector("#findings strong", timeout=WAIT)
    page.select_option("select[name=role-2]", "facets")
    page.wait_for_selector("#lost:not(:empty)", timeout=WAIT)
    assert "Raterlens does not answer" in page.inner_text("#lost")
