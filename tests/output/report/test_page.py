"""The page: its first screen, its sections, every kind of model."""

import html
import json
import re
from base64 import b64encode
from dataclasses import replace
from datetime import date
from functools import cache
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import raterlens as rl
from raterlens import Ratings
from raterlens.capability.yardstick import Yardstick
from raterlens.diagnostics.differences import Differences, Hypothesis
from raterlens.diagnostics.findings import PanelFindings, panel_findings
from raterlens.diagnostics.flags import Flag
from raterlens.output.report import english as words
from raterlens.output.report.opening import opening, panel_rows, scale, since, tally
from raterlens.output.report.page import Document, render
from raterlens.output.report.reproduce import Reproduction
from tests.support.rater_records import record
from tests.support.report_fits import HOSTILE, MakeFit, made

# ---------------------------------- the report: self-contained, safe with any label, readable at any size of panel


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


# ------ the first screen: what it means for students, whether raters differ, who needs attention, what has changed


@cache
def example() -> tuple[rl.Fit, rl.Ratings]:
    ratings = rl.load_example()
    return rl.fit(ratings, model="gmf"), ratings


@cache
def found_in_example() -> PanelFindings:
    return panel_findings(*example())


def test_it_opens_with_what_it_means_for_students_and_then_says_who():
    fit, ratings = example()
    found = opening(fit, found_in_example())
    changed = fit.consequences(ratings).changed
    assert (
        found["headline"] == f"{changed} of 363 students would pass or fail differently with an average rater"
    )
    assert found["who"] == "7 of 16 raters need attention"
    assert [name for name, *_ in found["facts"]] == [
        "Two raters agreed on work that both marked",
        "Reliability of a mean score from 4 raters",
        "An average student’s chance to pass",
    ]
    interval = fit.consequences(ratings).changed_interval
    assert interval is not None
    low, high = interval
    assert found["differ"].startswith(
        f"The 95 % interval of that number is {low} to {high}. Raters differ in severity (p < 0.001)"
    )
    kappas = dict(fit.raters.select("rater", "kappa").iter_rows())
    for card in found["cards"]:  # capability with its interval is what people come for
        assert (card["value"], card["of"]) == (f"{kappas[card['rater']]:.2f}", "capability")
        bottom, top = map(float, card["span"].split("–"))
        assert bottom < float(card["value"]) < top


def test_where_chance_explains_all_the_headline_says_so_and_nobody_is_ranked():
    ratings = rl.simulate(students=60, raters=4, items=2, slope=1.5, severity=0.0, seed=3).ratings
    fit = rl.fit(ratings, model="gmf")
    assert fit.differences(ratings).equal
    page = render(fit, ratings=ratings)
    assert "<h1>Raters do not differ beyond chance in severity or sharpness</h1>" in page
    assert '<th scope="col" data-column="rank"' not in page
    assert words.RATER["rank"] not in page
    assert words.UNRANKED in page


def test_a_fit_alone_says_who():
    fit = made(16)
    found = opening(fit, panel_findings(fit))
    assert found["headline"] == found["who"]


def test_what_most_raters_share_is_said_once_about_the_panel():
    blunt = rl.simulate(students=300, raters=6, items=4, slope=0.4, seed=1).ratings
    dull = rl.fit(blunt, model="gmf")
    (line,) = opening(dull, panel_findings(dull, blunt))["panel"]
    assert "raters are blunt" in line
    assert opening(example()[0], found_in_example())["panel"] == []


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("max", "the sharpest rater of this panel"),
        ("max corrected", "the sharpest rater of this panel"),
        ("quantile 0.9", "the sharpest raters of this panel"),
        ("perfect", "a perfect rater, one without noise"),
        ("AM", "rater AM"),
        (1.5, "a rater with slope 1.5"),
    ],
)
def test_the_yardstick_is_named_in_words(reference, said):
    fit = replace(made(3), yardstick=Yardstick(reference=reference))
    assert f"Capability is relative to {said}." in scale(fit)


def test_the_tally_goes_from_no_fault_to_the_gravest():
    labels = [row["label"] for row in tally(found_in_example().raters)]
    order = [
        "sharp",
        "fair or sharp",
        "severe",
        "lenient",
        "borderline",
        "too severe",
        "too lenient",
        "blunt",
    ]
    assert labels == [label for label in order if label in labels]


def test_what_changed_since_an_earlier_fit_beyond_chance():
    def run(slope: list[float], seed: int, raters: int = 4) -> rl.Fit:
        return rl.fit(
            rl.simulate(students=300, raters=raters, items=3, slope=slope, seed=seed).ratings, model="gmf"
        )

    before, after = run([1.8] * 4, 1), run([1.8, 1.8, 1.8, 0.3, 1.8], 2, 5)
    found = since(after, before, panel_findings(after, previous=before))
    assert found is not None
    assert "R4" in [row["rater"] for row in found["rows"]]
    worse = next(row for row in found["rows"] if row["rater"] == "R4" and "sharpness" in row["what"])
    assert worse["now"] in ("blunt", "cannot tell students apart")
    assert (found["compared"], found["new"], found["gone"]) == ("4 raters", "1 new rater", "")
    unchanged = since(before, before, panel_findings(before, previous=before))
    assert unchanged is not None
    assert unchanged["rows"] == []


def test_p_values_reach_the_page():
    tests = (Hypothesis("severity", "Wald", 1.0, 3, 0.8), Hypothesis("sharpness", "Wald", 1.0, 3, 0.6))
    found = opening(example()[0], replace(found_in_example(), differences=Differences(tests)))
    assert found["headline"] == "Raters do not differ beyond chance in severity or sharpness"
    assert "severity (p = 0.80)" in found["differ"]


def flagged(found: PanelFindings, effect: str) -> PanelFindings:
    """The same, the first rater being without fault but for a flag."""
    flag = Flag(effect, "scores fall where others see better work", "check the direction of the scores")
    return replace(found, raters=(record(rater=found.raters[0].rater, flags=(flag,)), *found.raters[1:]))


@pytest.mark.usefixtures("no_pictures")
def test_a_capable_rater_who_is_flagged_is_introduced_with_the_evidence(make_fit: MakeFit):
    fit = make_fit(16)
    html = render(fit, found=flagged(panel_findings(fit), "central"))
    assert words.STAND_OUT in html
    assert "Scores fall where others see better work." in html
    assert "Check the direction of the scores." in html
    grave = opening(fit, flagged(panel_findings(fit), "reversed"))
    assert grave["standing_out"] == []
    assert "Scores fall where others see better work." in [card["sentence"] for card in grave["cards"]]


@pytest.mark.usefixtures("no_pictures")
def test_a_panel_without_fault_is_told_so(make_fit: MakeFit):
    fit = make_fit(16)
    good = replace(panel_findings(fit), raters=tuple(record(rater=f"R{r:04d}") for r in range(16)))
    html = render(fit, found=good)
    assert "No rater needs attention" in html
    assert words.ALL_WELL in html
    assert words.ALL_WELL not in render(fit)


def test_without_ranks_raters_stand_by_name(make_fit: MakeFit):
    fit = make_fit(16)
    tests = (Hypothesis("severity", "Wald", 1.0, 3, 0.8),)
    found = panel_findings(fit)
    assert panel_rows(fit, replace(found, differences=Differences(tests)))["rater"].is_sorted()
    assert not panel_rows(fit, found)["rater"].is_sorted()


# ----------------------- A report for every kind of fit: each opens in the browser, and its first rater has a page


def scores() -> Ratings:
    """Four raters who give 0 to 3."""
    rng = np.random.default_rng(1)
    ability = np.repeat(rng.normal(size=100), 4)
    score = np.clip(np.round(1.2 * ability + 1.5 + 0.6 * rng.normal(size=400)), 0, 3).astype(int)
    rater = np.tile(np.array(list("ABCD")), 100)
    return rl.read(pl.DataFrame({"student": np.repeat(np.arange(100), 4), "rater": rater, "score": score}))


def alone() -> Ratings:
    return rl.simulate(students=80, raters=1, items=6, raters_per_student=1, seed=4).ratings


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "options", "has_curve"),
    [
        ("small", {"model": "tfm"}, True),
        ("small", {"standard_errors": False}, True),
        ("small", {"model": "hrm", "starts": 1}, False),
        ("small", {"model": "dawid-skene", "starts": 1}, False),
        ("scores", {}, True),
        ("alone", {}, True),
    ],
    ids=["tfm", "no errors", "hrm", "dawid-skene", "ordered", "one rater"],
)
def test_every_kind_of_fit_has_a_report(page, small: Ratings, tmp_path: Path, kind, options, has_curve):
    ratings = {"small": lambda: small, "scores": scores, "alone": alone}[kind]()
    fit = rl.fit(ratings, **{"model": "gmf"} | options)
    page.goto(fit.report(tmp_path / "report.html", ratings).as_uri())
    ranked = page.locator(
        "table.ranked th[data-column=rank]"
    ).count()  # not where chance explains all differences
    best = fit.raters.sort("kappa" if ranked else "rater", descending=bool(ranked)).row(0, named=True)
    first = page.locator("table.ranked tbody tr").first
    assert first.locator("bdi").inner_text() == best["rater"]
    first.locator("a").click()
    page.locator("#rater [data-fill=kappa]:not(:empty)").wait_for()  # filled when the address has changed
    assert page.locator("#rater [data-fill=kappa]").inner_text() == f"{best['kappa']:.2f}"
    assert page.locator("#rater .curve").count() == has_curve
    assert page.locator("#rater .what-if .line").get_attribute("d").count("L") == 80
    assert page.locator("#rater [data-fill=feedback]").inner_text() != ""
    page.get_by_label("Severity", exact=True).fill("2")
    assert "at severity 2.00" in page.locator("[data-fill=answer]").inner_text().lower()
