"""The report: self-contained, safe with any label, readable at any size of panel."""

import re
from collections.abc import Callable, Sequence
from html.parser import HTMLParser

import numpy as np
import polars as pl
import pytest

from raterlens.capability import gmf
from raterlens.estimation.optimise import Optimiser
from raterlens.report import render
from raterlens.results import Fit

MakeFit = Callable[..., Fit]


@pytest.fixture
def make_fit() -> MakeFit:
    """Fits made by hand, so that pages are tested without estimating anything."""

    def make(
        n_raters: int = 16,
        *,
        names: Sequence[object] = (),
        converged: bool = True,
        warnings: tuple[str, ...] = (),
        notes: tuple[str, ...] = ("student column: 'pid' (recognised)",),
        n: int = 400,
        margin: float = 0.08,
    ) -> Fit:
        """A panel from capable to not, with some severe, some lenient and some dull raters."""
        rng = np.random.default_rng(20240229)
        sigma = 2.1
        rho = np.clip(rng.beta(4, 1.5, n_raters), 0.05, 1.0)
        rho[rho.argmax()] = 1.0
        eta = rng.normal(0, 1.2, n_raters)
        kappa = gmf(rho=rho, eta=eta, sigma=sigma)
        raters = pl.DataFrame(
            {
                "rater": list(names) or [f"R{i:04d}" for i in range(n_raters)],
                "n": np.full(n_raters, n),
                "mean_score": 1 / (1 + np.exp(eta)),
                "rho": rho,
                "rho_se": 0.05,
                "eta": eta,
                "eta_se": 0.15,
                "kappa": kappa,
                "kappa_se": margin / 1.96,
                "kappa_low": np.clip(kappa - margin, 0, 1),
                "kappa_high": np.clip(kappa + margin, 0, 1),
                "flag": [""] * n_raters,
            }
        )
        items = pl.DataFrame(
            {"item": ["a"], "n": [n], "mean_score": [0.5], "delta": [0.0], "delta_se": [0.1]}
        )
        students = pl.DataFrame(
            {"student": [1, 2], "n": [9, 9], "mean_score": [0.3, 0.6], "theta": [-0.4, 0.4]}
        )
        return Fit(
            model="gmf",
            method="mml",
            link="logit",
            loglik=-3297.7409,
            sigma=sigma,
            sigma_se=0.2,
            alpha=0.0876,
            n_parameters=2 * n_raters + 4,
            n_ratings=n * n_raters,
            n_students=363,
            n_raters=n_raters,
            n_items=5,
            optimiser=Optimiser("L-BFGS-B", 1e-5, 500, 23, 27, 1e-6, converged, "the gradient vanished"),
            warnings=warnings,
            notes=notes,
            tables={
                "raters": raters,
                "items": items,
                "students": students.with_columns(theta_se=pl.lit(0.3)),
            },
        )

    return make


VOID = {"meta", "input", "br", "hr", "img", "link"}
SVG_SHAPES = {"path", "line", "rect", "circle"}


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


@pytest.mark.parametrize("n_raters", [1, 2, 16, 3000])
def test_page_is_well_formed_self_contained_and_complete(make_fit: MakeFit, n_raters: int) -> None:
    html = render(make_fit(n_raters))
    assert len(html.encode()) < 10_000_000
    page = Page(html)
    assert page.open == []
    assert not re.search(r"https?:|@import|url\(|\ssrc=|<link|<iframe|<object", html)
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        assert (attributes.get("href") or "#").startswith("#")
    rows = re.findall(r'<th scope="row">(R\d+)</th>', html)
    assert sorted(rows) == [f"R{i:04d}" for i in range(n_raters)]


def test_links_within_the_page_lead_somewhere(make_fit: MakeFit) -> None:
    page = Page(render(make_fit(300, warnings=("something",))))
    ids = {attributes["id"] for _, attributes in page.tags if "id" in attributes}
    targets = {(attributes["href"] or "")[1:] for _, attributes in page.tags if "href" in attributes}
    assert targets
    assert targets <= ids


def test_hostile_labels_are_shown_and_never_run(make_fit: MakeFit) -> None:
    hostile = ["<script>alert(1)</script>", '"onmouseover="alert(1)', "</title><img src=x>", "{{ 7 * 7 }}"]
    html = render(make_fit(4, names=hostile, warnings=(hostile[0],), notes=(hostile[2],)), command=hostile[0])
    page = Page(html)
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert "img" not in [tag for tag, _ in page.tags]
    assert "49" not in re.findall(r"<th scope=\"row\">(.*?)</th>", html)
    assert "".join(page.text).count(hostile[0]) >= 3
    assert all("onmouseover" not in attributes for _, attributes in page.tags)


def test_only_the_page_s_own_script_may_run(make_fit: MakeFit) -> None:
    from base64 import b64encode
    from hashlib import sha256

    html = render(make_fit(2))
    script = re.search(r"<script>(.*?)</script>", html, re.S)
    assert script is not None
    assert f"script-src 'sha256-{b64encode(sha256(script[1].encode()).digest()).decode()}'" in html
    assert "default-src 'none'" in html


def test_first_screen_says_who_and_why(make_fit: MakeFit) -> None:
    html = render(make_fit(16))
    assert re.search(r"<h1>\d+ of 16 raters need attention</h1>", html)
    assert html.index("<h1>") < html.index('class="cards"') < html.index("<h2>Capability")
    assert "where the average rater passes 50" in html
    assert 'class="advice"' in html


def test_doubtful_raters_are_listed_apart(make_fit: MakeFit) -> None:
    page = render(make_fit(16, margin=0.15))
    assert "Borderline: capability seems low, but it may be chance" in page
    assert "Too few ratings to say" in render(make_fit(16, n=5))
    assert "No rater clearly needs attention" in render(make_fit(16, n=5))
    assert 'class="cards"' not in render(make_fit(16, n=5))


def test_warnings_and_missing_convergence_are_announced_at_the_top(make_fit: MakeFit) -> None:
    top = render(make_fit(2, warnings=("raters share no student",))).split("<main>")[0]
    assert "1 thing to keep in mind" in top
    assert "did not converge" in render(make_fit(2, converged=False)).split("<main>")[0]
    assert "Nothing unusual" in render(make_fit(2))


def test_how_to_reproduce(make_fit: MakeFit) -> None:
    fit = make_fit(2)
    assert '<pre>fit = raterlens.fit(ratings, model="gmf", method="mml", link="logit")</pre>' in render(fit)
    assert "<pre>raterlens fit a.csv</pre>" in render(fit, command="raterlens fit a.csv")
    assert "-3297.7409" in render(fit)


def test_missing_numbers_are_dashes(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    bare = fit.table("raters").with_columns(
        pl.lit(float("nan")).alias(c) for c in ("kappa_low", "kappa_high", "eta_se")
    )
    fit.tables["raters"] = bare  # type: ignore[index]
    html = render(fit)
    assert not re.search(r"\bnan\b", html, re.IGNORECASE)
    assert html.count('<td class="n" data-value="">–</td>') == 3


def test_same_fit_same_page(make_fit: MakeFit) -> None:
    assert render(make_fit(16)) == render(make_fit(16))
