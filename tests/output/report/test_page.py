"""The report: self-contained, safe with any label, readable at any size of panel."""

import html
import json
import re
from base64 import b64encode
from datetime import date
from hashlib import sha256
from html.parser import HTMLParser

import polars as pl
import pytest

from raterlens.output.report.page import Document, render
from raterlens.output.report.reproduce import Reproduction
from tests.support.report_fits import HOSTILE, MakeFit

VOID = {"meta", "input", "br", "hr", "img", "link"}
SVG_SHAPES = {"path", "line", "rect", "circle", "use", "text", "g"}


class Page(HTMLParser):
    """Checks nesting and collects what a browser would act on."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        assert tag in SVG_SHAPES | VOID

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def embedded(html: str) -> dict:
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', html, re.S)
    assert found is not None
    return json.loads(found[1])


@pytest.mark.parametrize("n_raters", [1, 3, 16, pytest.param(3000, marks=pytest.mark.nightly)])
def test_page_is_well_formed_self_contained_and_complete(page_of, n_raters: int) -> None:
    html = page_of(n_raters, 20_001 if n_raters == 3000 else 2)
    assert len(html.encode()) < 10_000_000
    page = Page(html)
    assert page.open == []
    assert not re.search(r"https?:|@import|url\((?!#)|\ssrc=|\sstyle=|<link|<iframe|<object", html)
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#")
    data = embedded(html)
    names = [f"R{i:04d}" for i in range(n_raters)]
    assert sorted(data["raters"]["rater"]) == names
    assert all(f'href="#rater={name}"' in html for name in names[:50] if n_raters < 100)
    assert len(data["raters"]["what_if"]["kappa"]) == len(data["raters"]["curve"]["kappa"]) == n_raters
    assert data["tables"]["students"]["height"] == (20_000 if n_raters == 3000 else 2)
    assert ("the first 20,000 of 20,001 students" in html) == (n_raters == 3000)


def test_links_within_the_page_lead_somewhere(page_of) -> None:
    html = page_of(16)
    page = Page(html)
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {(attributes["href"] or "")[1:] for _, attributes in page.tags if "href" in attributes}
    raters = {target for target in targets if target.startswith("rater=")}
    assert len(raters) == 16
    assert targets - raters <= ids


def test_hostile_labels_are_shown_and_never_run(page_of) -> None:
    html = page_of(len(HOSTILE), hostile=True)
    page = Page(html)
    assert [tag for tag, _ in page.tags].count("script") == 2  # the data, and the page's own
    assert "img" not in [tag for tag, _ in page.tags]
    assert embedded(html)["raters"]["rater"].count(HOSTILE[1]) == 1
    assert "".join(page.text).count(HOSTILE[0]) >= 3
    assert all("onerror" not in attributes for _, attributes in page.tags)


def test_only_the_page_s_own_script_and_style_count(page_of) -> None:
    html = page_of(16)
    for kind, start in (("script", '<script type="module">'), ("style", "<style>")):
        inside = re.search(f"{start}(.*?)</{kind}>", html, re.S)
        assert inside is not None
        assert f"{kind}-src 'sha256-{b64encode(sha256(inside[1].encode()).digest()).decode()}'" in html
    assert "default-src 'none'" in html


def test_first_screen_says_who_and_why(page_of) -> None:
    html = page_of(16)
    assert re.search(r"<h1>\d+ of 16 raters need attention</h1>", html)
    assert html.index("<h1>") < html.index('class="cards"') < html.index('<section id="map">')
    assert "where the average rater passes 50" in html
    assert 'class="advice"' in html


@pytest.mark.usefixtures("no_pictures")
def test_doubtful_raters_are_listed_apart(make_fit: MakeFit) -> None:
    page = render(make_fit(16, margin=0.15))
    assert "Borderline: the estimate is beyond a limit, but part of its interval is not" in page
    assert "Too few ratings to say" in render(make_fit(16, n=5))
    assert "No rater clearly needs attention" in render(make_fit(16, n=5))
    assert 'class="cards"' not in render(make_fit(16, n=5))


@pytest.mark.usefixtures("no_pictures")
def test_warnings_and_missing_convergence_are_announced_at_the_top(make_fit: MakeFit) -> None:
    top = render(make_fit(2, warnings=("raters share no student",))).split('class="contents"')[0]
    assert "1 caution:" in top
    assert ">read it</a>" in top
    assert "did not converge" in render(make_fit(2, converged=False)).split('class="contents"')[0]
    assert "No problems were found" in render(make_fit(2))


@pytest.mark.usefixtures("no_pictures")
def test_a_report_is_a_document_with_title_date_and_its_yardstick_in_words(make_fit: MakeFit) -> None:
    page = render(make_fit(3), document=Document("Essays <2026>", date(2026, 3, 1)))
    assert "<title>Essays &lt;2026&gt;: " in page
    assert "<time>1 March 2026</time>" in page
    assert "Capability is relative to the sharpest rater of this panel." in page


@pytest.mark.usefixtures("no_pictures")
def test_how_to_reproduce(make_fit: MakeFit) -> None:
    fit = make_fit(2)
    assert "fit = rl.fit(ratings)</pre>" in html.unescape(render(fit))
    page = render(fit, Reproduction("fit = rl.fit(...)", "raterlens fit a.csv"))
    assert "raterlens fit a.csv</pre>" in page
    assert "fit = rl.fit(...)</pre>" in page
    assert "-3297.7409" in render(fit)


@pytest.mark.usefixtures("no_pictures")
def test_missing_numbers_are_dashes(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    bare = fit.table("raters").with_columns(
        pl.lit(float("nan")).alias(c) for c in ("kappa_low", "kappa_high", "eta_se")
    )
    fit.tables["raters"] = bare  # type: ignore[index]
    page = render(fit)
    assert not re.search(r"\bnan\b", page, re.IGNORECASE)
    assert page.count('data-column="interval">–</td>') == 3


def test_same_fit_same_page(page_of, make_fit: MakeFit) -> None:
    assert render(make_fit(16, notes=())) == page_of(16)
