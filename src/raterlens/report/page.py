"""From a fit to one self-contained HTML page: who needs attention and why, then the evidence."""

from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
from markupsafe import Markup

from raterlens import charts
from raterlens.charts.drawing import templates
from raterlens.charts.marks import mark
from raterlens.charts.text import number
from raterlens.charts.theme import DESK, PHONE
from raterlens.diagnostics.panel import attention, caveats, headline, judged
from raterlens.diagnostics.scale import Scale
from raterlens.diagnostics.verdicts import CAPABLE
from raterlens.report.words import DOUBTFUL, GLOSSARY, LINKS, METHODS, MODELS
from raterlens.wording import counted

if TYPE_CHECKING:
    from raterlens.results import Fit

CARDS = 9
"""Raters introduced one by one on the first screen; the table has the rest."""

NAMED = 12
"""Raters named in each list of doubtful cases."""

_FOLDER = Path(__file__).parent / "templates"


def render(fit: "Fit", command: str | None = None) -> str:
    """The report as HTML.

    Parameters
    ----------
    fit
        The fit to report on.
    command
        The command line that made it, to be shown under "how to reproduce"; the call from Python otherwise.
    """
    scale = Scale(fit.sigma, fit.link, fit.model, ordered="thresholds" in fit.tables)
    raters = judged(fit.table("raters"), scale)
    wanting = attention(raters)
    clear = wanting.filter(standing="attention")
    script = (_FOLDER / "table.js").read_text(encoding="utf-8")
    return (
        templates(_FOLDER)
        .get_template("report.html")
        .render(
            fit=fit,
            headline=headline(raters),
            tally=tally(raters),
            cards=[_row(row) for row in clear.head(CARDS).iter_rows(named=True)],
            more=max(0, clear.height - CARDS),
            doubtful=doubtful(wanting),
            rows=[_row(row) for row in raters.iter_rows(named=True)],
            intervals=_both(charts.capability, fit),
            severity=_both(charts.severity, fit),
            warnings=caveats(fit.model) + fit.warnings,
            settings=settings(fit),
            command=command,
            capable=CAPABLE,
            glossary=GLOSSARY,
            version=version("raterlens"),
            style=Markup((_FOLDER / "style.css").read_text(encoding="utf-8")),
            script=Markup(script),
            # The page names its one script by its hash, so a browser runs nothing else, whatever a label holds.
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        )
    )


def tally(raters: pl.DataFrame) -> list[dict[str, Any]]:
    """How many raters have each verdict, capable ones first."""
    order = pl.col("kappa").max()
    counts = raters.group_by("label").agg(pl.len(), order).sort("kappa", "label", descending=[True, False])
    return [
        {
            "label": row["label"],
            "n": row["len"],
            "share": 100 * row["len"] / raters.height,
            "mark": mark(row["label"]),
        }
        for row in counts.iter_rows(named=True)
    ]


def doubtful(wanting: pl.DataFrame) -> list[dict[str, Any]]:
    """Those of whom nobody can be sure yet, listed in brief."""
    lists = []
    for standing, heading in DOUBTFUL.items():
        group = wanting.filter(standing=standing)
        if group.height:
            named = [_row(row) for row in group.head(NAMED).iter_rows(named=True)]
            rest = group.height - len(named)
            lists.append({"heading": heading, "advice": group["advice"][0], "raters": named, "rest": rest})
    return lists


def settings(fit: "Fit") -> Sequence[tuple[str, str]]:
    """What was fitted and how it went, as (what, value)."""
    stopped = f"{'yes' if fit.converged else 'no'}, after {counted(fit.optimiser.iterations, 'iteration')}"
    return (
        ("Model", MODELS.get(fit.model, fit.model)),
        ("Method", METHODS.get(fit.method, fit.method)),
        ("Link", LINKS.get(fit.link, fit.link)),
        (
            "Data",
            f"{counted(fit.n_ratings, 'rating')} of {counted(fit.n_students, 'student')} by "
            f"{counted(fit.n_raters, 'rater')} on {counted(fit.n_items, 'item')}",
        ),
        ("Log-likelihood", f"{number(fit.loglik, 4)} with {counted(fit.n_parameters, 'parameter')}"),
        ("AIC, BIC", f"{number(fit.aic, 1)}, {number(fit.bic, 1)}"),
        ("Slope of the sharpest rater (sigma)", number(fit.sigma, 4)),
        ("Average predictor (alpha)", number(fit.alpha, 4)),
        ("Converged", f"{stopped}: {fit.optimiser.stopped}"),
    )


def _both(chart: Callable[..., Any], fit: "Fit") -> Markup:
    """A chart for a desk and for a phone; the style sheet shows one of them."""
    drawn = (("wide", DESK), ("narrow", PHONE))
    return Markup("").join(
        Markup('<div class="{}">{}</div>').format(name, charts.svg(chart(fit, width=width)))
        for name, width in drawn
    )


def _row(row: dict[str, Any]) -> dict[str, Any]:
    return row | {"mark": mark(row["label"])}
