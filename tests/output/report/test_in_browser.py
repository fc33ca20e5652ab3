"""The report in a real browser: read, sort, search, open a rater, move the slider, download, print."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from playwright.sync_api import expect

import raterlens as rl
from raterlens.fitting.fit import Fit
from tests.support.browser import fits_width
from tests.support.report_fits import HOSTILE
from tests.support.screens import look

# Numbers in the page have four digits, curves three.
CLOSE, CURVES = 6e-5, 2e-3


class Example(NamedTuple):
    fit: Fit
    address: str


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Example:
    """The report of the bundled example, made with its ratings."""
    ratings = rl.load_example()
    fit = rl.fit(ratings, model="gmf")
    return Example(fit, fit.report(tmp_path_factory.mktemp("report") / "report.html", ratings).as_uri())


def names(page: Any) -> list[str]:
    return page.locator("table.ranked tbody bdi").all_inner_texts()


def test_the_table_sorts_by_every_heading_and_from_the_keyboard(page, example: Example):
    page.goto(example.address)
    raters = example.fit.raters.sort("kappa", descending=True)
    assert names(page) == raters["rater"].to_list()
    heading = page.locator("table.ranked th[data-column=eta]")
    heading.locator("button").focus()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "ascending"
    assert names(page) == raters.sort("eta")["rater"].to_list()
    page.keyboard.press("Enter")
    assert heading.get_attribute("aria-sort") == "descending"
    assert names(page) == raters.sort("eta", descending=True)["rater"].to_list()
    assert page.locator("table.ranked [aria-sort]").count() == 1
    page.locator("#items th button").nth(1).click()
    hardest = example.fit.items.sort("delta")["item"].to_list()
    assert page.locator("#items tbody bdi").all_inner_texts() == hardest


def test_the_table_is_searched_and_filtered(page, example: Example):
    page.goto(example.address)
    page.get_by_label("Find a rater or a verdict").fill("sport")
    assert sorted(names(page)) == ["AM:Sport", "BE:Sport", "CO:Sport", "DA:Sport"]
    page.get_by_label("Find a rater or a verdict").fill("")
    page.get_by_label("Show").select_option("attention")
    wanting = names(page)
    assert page.locator("h2.who").inner_text() == f"{len(wanting)} of 16 raters need attention"
    assert page.locator(".find [role=status]").inner_text() == f"{len(wanting)} found"
    page.get_by_label("Find a rater or a verdict").fill("nobody")
    assert names(page) == []
    assert "No rater matches" in page.locator(".find [role=status]").inner_text()


def test_a_rater_has_a_page_that_can_be_linked_to_and_turned(page, example: Example):
    raters = example.fit.raters.sort("kappa", descending=True)
    page.goto(f"{example.address}#rater=AM%3ASport")
    row = raters.row(by_predicate=pl.col("rater") == "AM:Sport", named=True)
    expect(page.locator("#rater h1")).to_have_text("AM:Sport")
    assert page.locator("#rater [data-fill=kappa]").inner_text() == f"{row['kappa']:.2f}"
    expected = f"{row['kappa_low']:.2f} to {row['kappa_high']:.2f}"
    assert page.locator("#rater [data-fill=interval]").inner_text() == expected
    expect(page.locator("table.ranked")).to_be_hidden()
    feedback = example.fit.advice().row(by_predicate=pl.col("rater") == "AM:Sport", named=True)["feedback"]
    assert page.locator("#rater [data-fill=feedback]").inner_text() == feedback
    surprises = page.locator("#rater [data-fill=unexpected] li").all_inner_texts()
    assert surprises
    assert all(re.search(r"where \d+\.\d\d was expected", one) for one in surprises)
    place = raters["rater"].to_list().index("AM:Sport")
    page.locator("#rater [rel=prev]").click()
    expect(page.locator("#rater h1")).to_have_text(raters["rater"][place - 1])
    page.go_back()
    expect(page.locator("#rater h1")).to_have_text("AM:Sport")
    page.get_by_role("link", name="All raters").first.click()
    expect(page.locator("table.ranked")).to_be_visible()
    page.goto(f"{example.address}#rater=unknown")
    expect(page.locator("h1").first).to_be_visible()


def test_the_slider_shows_capability_at_another_severity(page, example: Example):
    page.goto(f"{example.address}#rater=AM%3ASport")
    known = example.fit.what_if("AM:Sport", severity=[1.5])
    slider, answer = page.get_by_label("Severity", exact=True), page.locator("[data-fill=answer]")
    assert f"own severity ({known.severity:.2f}) capability is {known.kappa:.2f}" in answer.inner_text()
    before = page.locator(".what-if figure .moved").get_attribute("transform")
    slider.fill("1.5")
    kappa = known.curve["kappa"][0]
    words = answer.inner_text()
    assert abs(float(words.split("would be ")[1].split(":")[0]) - kappa) <= 0.005 + CURVES
    assert "more severe" in words
    assert page.locator(".what-if figure .moved").get_attribute("transform") != before
    page.get_by_role("button", name="Best severity").click()
    assert abs(float(slider.input_value()) - known.best_severity) < 0.15
    assert "close to the rater's best severity" in answer.inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    page.get_by_role("button", name="Back to the estimate").click()
    assert f"({known.severity:.2f})" in answer.inner_text()


@pytest.mark.nightly
def test_the_curve_stands_where_the_axes_say(page, example: Example):
    """From pixels back to numbers: the drawn curve is kappa(theta)."""
    page.goto(f"{example.address}#rater=AM%3ASport")
    overlay = page.locator(".curve g.overlay")
    frame = overlay.evaluate("g => ({...g.dataset})")
    frame |= {name: overlay.locator(f".{name}").get_attribute("d") for name in ("line", "band")}
    points = np.array([pair.split() for pair in frame["line"][1:].split("L")], float)
    left, right, bottom, top, width, height = (
        float(frame[name]) for name in ("left", "right", "bottom", "top", "width", "height")
    )
    theta = left + (right - left) * points[:, 0] / width
    kappa = top - (top - bottom) * points[:, 1] / height
    wanted = example.fit.capability(theta=[-2.0, 0.0, 1.0]).filter(rater="AM:Sport")
    assert np.allclose(np.interp([-2.0, 0.0, 1.0], theta, kappa), wanted["kappa"], atol=0.01)
    assert frame["band"].endswith("Z")
    # The label of the right end stands below the corner that the script draws to.
    label, corner = overlay.evaluate(
        """g => {
            const texts = [...g.ownerSVGElement.querySelectorAll("text")];
            const label = texts.find((one) => /^3(\\.0)?$/.test(one.textContent));
            const box = label.getBoundingClientRect();
            const corner = new DOMPoint(+g.dataset.width, +g.dataset.height).matrixTransform(g.getScreenCTM());
            return [[box.x + box.width / 2, box.y], [corner.x, corner.y]];
        }"""
    )
    assert abs(label[0] - corner[0]) < 12
    assert 0 < label[1] - corner[1] < 20


def test_every_table_can_be_downloaded(page, example: Example, tmp_path: Path):
    page.goto(example.address)
    for name in ("raters", "items", "students"):
        with page.expect_download() as download:
            page.locator(f"button[data-table={name}]").click()
        assert download.value.suggested_filename == f"{name}.csv"
        table = pl.read_csv(download.value.path())
        wanted = example.fit.table(name)
        order = table.columns[0]
        both = table.sort(order), wanted.sort(order)
        assert table.height == wanted.height
        for column in set(table.columns) & set(wanted.columns) - {order}:
            assert np.allclose(both[0][column], both[1][column], atol=CLOSE, equal_nan=True), column


@pytest.mark.nightly
def test_hostile_labels_are_only_text(new_page, page_of, tmp_path: Path):
    page = new_page()
    path = tmp_path / "report.html"
    path.write_text(page_of(len(HOSTILE), hostile=True), encoding="utf-8")
    page.on("dialog", lambda dialog: pytest.fail(f"a label was run: {dialog.message}"))
    page.goto(path.as_uri())
    assert sorted(names(page)) == sorted(HOSTILE)
    for name in HOSTILE:
        page.locator("table.ranked tbody a").nth(names(page).index(name)).click()
        expect(page.locator("#rater h1 bdi")).to_have_text(name)
        page.reload()
        expect(page.locator("#rater h1 bdi")).to_have_text(name)
        page.get_by_role("link", name="All raters").first.click()
    with page.expect_download() as download:
        page.locator("button[data-table=raters]").click()
    table = pl.read_csv(download.value.path())
    assert sorted(table["rater"]) == sorted("'=cmd()" if name == "=cmd()" else name for name in HOSTILE)
    page.set_viewport_size({"width": 380, "height": 780})
    assert fits_width(page)


@pytest.mark.nightly
def test_three_thousand_raters(page, page_of, tmp_path: Path):
    path = tmp_path / "report.html"
    path.write_text(page_of(3000, 20_001), encoding="utf-8")
    assert path.stat().st_size < 10_000_000
    # Processor time of the page, which a busy machine does not change.
    watch = page.context.new_cdp_session(page)
    watch.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.goto(path.as_uri())
    assert len(names(page)) == 100
    spent = {metric["name"]: metric["value"] for metric in watch.send("Performance.getMetrics")["metrics"]}
    assert spent["TaskDuration"] < 2
    assert "1–100 of 3,000" in page.locator("#raters .pager").inner_text()
    page.locator("#raters .pager [name=next]").click()
    assert page.locator("table.ranked tbody td").first.inner_text() == "101"
    page.get_by_label("Find a rater or a verdict").fill("R2999")
    page.locator("table.ranked tbody a").click()
    expect(page.locator("#rater h1")).to_have_text("R2999")


@pytest.mark.nightly
def test_on_paper_all_raters_are_shown(page, example: Example, tmp_path: Path):
    page.goto(example.address)
    assert page.locator("#students tbody tr").count() == 25
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert not page.locator("form.find").is_visible()
    assert not page.get_by_text("Click a name for details").is_visible()
    # Chromium paints no box of a button in a heading that it repeats on the next page.
    heading = page.locator("table.ranked thead button").first
    assert heading.evaluate("one => getComputedStyle(one).display") == "contents"
    assert page.locator("table.ranked tbody tr").count() == 16
    assert not page.locator("#students").is_visible()
    page.emulate_media(media="screen")
    page.locator("#students [name=printed]").check()
    page.emulate_media(media="print")
    assert page.locator("#students").is_visible()
    assert page.locator("#students tbody tr").count() == 363
    file = page.pdf(format="A4")
    assert file.startswith(b"%PDF")
    assert 3 <= file.count(b"/Type /Page\n") + file.count(b"/Type /Page ") <= 20


@pytest.mark.nightly
def test_letters_are_printed_a_page_each_and_then_gone(page, example: Example):
    page.goto(example.address)
    page.evaluate("window.print = () => { window.printed = document.querySelectorAll('.letter').length; }")
    page.locator("button.letters").click()
    assert page.evaluate("window.printed") == 16
    assert not page.locator("#report").is_visible()
    assert "Dear AM:Sport" in page.locator(".letter").last.inner_text()
    assert "Signature" in page.locator(".letter").last.inner_text()
    assert page.locator(".letter .examples:visible li").count() > 0
    page.emulate_media(media="print")
    file = page.pdf(format="A4")  # which says when it is done, as a printer does
    assert file.count(b"/Type /Page\n") + file.count(b"/Type /Page ") == 16
    page.emulate_media(media="screen")
    assert page.locator("#report").is_visible()
    assert page.locator(".letter").count() == 0
    page.goto(f"{example.address}#rater=AM%3ASport")
    page.evaluate("window.print = () => { window.printed = document.querySelectorAll('.letter').length; }")
    page.locator("[name=print]").click()
    assert page.evaluate("window.printed") == 1


@pytest.mark.nightly
def test_every_page_is_accessible_and_fits_light_and_dark_desk_and_phone(page, example: Example):
    for name, place in (("report", ""), ("report-rater", "#rater=AM%3ASport")):
        page.goto("about:blank")
        page.goto(example.address + place)
        look(page, name)


@pytest.mark.nightly
def test_feedback_is_copied_or_left_selected(page, example: Example):
    page.goto(f"{example.address}#rater=AM%3ASport")
    feedback = page.locator("#rater [data-fill=feedback]").inner_text()
    copy, said = page.locator("#rater [name=copy]"), page.locator("#rater [data-fill=copied]")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    copy.click()
    expect(said).to_have_text("Copied")
    assert page.evaluate("navigator.clipboard.readText()") == feedback
    # Another rater's page does not say that its text was copied.
    page.locator("#rater [rel=prev]").click()
    expect(said).to_have_text("")
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('not here')) }")
    copy.click()
    expect(said).to_have_text("Press Ctrl+C to copy")
    assert (
        page.evaluate("getSelection().toString()") == page.locator("#rater [data-fill=feedback]").inner_text()
    )


def test_decisions_are_read_sorted_and_downloaded(page, tmp_path: Path):
    drawn = rl.simulate(
        students=120, raters=6, items=4, raters_per_student=2, thresholds=[-1.0, 0.0, 1.0], seed=1
    )
    fit = rl.fit(drawn.ratings, model="gmf")
    found = fit.decisions(drawn.ratings, cut=[1.0, 2.0], grades=("C", "B", HOSTILE[0]))
    plan = fit.remark(drawn.ratings, cut=found, budget=8)
    path = fit.report(tmp_path / "report.html", drawn.ratings, decisions=found, remark=plan)
    page.goto(f"{path.as_uri()}#decisions")
    look(page, "decisions")
    assert page.locator("table[data-rows=remark] tbody bdi").first.inner_text() == plan.table["student"][0]
    table = page.locator("table[data-rows=decisions]")
    table.locator("th button").first.click()
    assert table.locator("tbody th").first.inner_text() == found.table["student"].sort()[0]
    with page.expect_download() as download:
        page.locator("#decisions button.download").last.click()
    rows = pl.read_csv(download.value.path())
    assert rows.height == 120
