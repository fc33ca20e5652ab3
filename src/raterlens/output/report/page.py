"""From a fit to one self-contained HTML page: what it means, who needs attention and why, then the evidence."""

import math
from dataclasses import dataclass, field
from datetime import date
from typing import TYPE_CHECKING, Any

from raterlens.base.text import counted, number
from raterlens.diagnostics.differences import p_words
from raterlens.diagnostics.findings import PanelFindings, panel_findings
from raterlens.diagnostics.wording import caveats
from raterlens.output.report import english as words
from raterlens.output.report.assets import FEW_ROWS, FIRST_ROWS, environment, script, style
from raterlens.output.report.drawings import (
    both_widths,
    category_numbers,
    category_shares,
    pictures,
    rater_data,
)
from raterlens.output.report.opening import opening, panel_rows
from raterlens.output.report.page_tables import MOST_STUDENTS, embedded, page_tables
from raterlens.output.report.reproduce import Reproduction, from_python
from raterlens.pictures.scatter_plots import decisions
from raterlens.ratings.coded import size_words
from raterlens.ratings.design import TARGET_SE, examine_links
from raterlens.version import __version__

if TYPE_CHECKING:
    import polars as pl

    from raterlens.fitting.fit import Fit
    from raterlens.grading.decisions import Decisions, Remark
    from raterlens.inference.result import Result
    from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True, eq=False)
class Document:
    """How a report is headed, and what it is read beside."""

    title: str = words.TITLE
    date: date = field(default_factory=date.today)
    previous: "Result | None" = None
    """An earlier fit to compare with."""
    cautions: tuple[str, ...] = ()
    """Cautions beyond those of the fit and the diagnosis."""
    decisions: "Decisions | None" = None
    remark: "Remark | None" = None
    """Decisions about students, and what to mark again, if asked for."""

    def files(self) -> "dict[str, pl.DataFrame]":
        """Decisions as tables, by file."""
        found: dict[str, pl.DataFrame] = {}
        if self.decisions is not None:
            found |= {"decisions.csv": self.decisions.table, "accuracy.csv": self.decisions.quality}
        return found if self.remark is None else found | {"remark.csv": self.remark.table}

    @property
    def day(self) -> str:
        """The date in words, whatever the locale.

        Examples
        --------
        >>> Document(date=date(2026, 3, 1)).day
        '1 March 2026'
        """
        return f"{self.date.day} {words.MONTHS[self.date.month - 1]} {self.date.year}"


OPTIONAL = (
    *("repairs", "few", "interactions", "groups", "draws"),
    *("fit", "unexpected", "bias", "pairs", "scores"),
)
"""Tables that only some pages have."""
_OF_TABLES = ("fit", "interactions", "groups", "draws")
"""Sections that are there where their table is."""
ROWS = {"raters": FIRST_ROWS, "others": FEW_ROWS}


def render(
    fit: "Fit",
    reproduction: "Reproduction | None" = None,
    ratings: "Ratings | None" = None,
    found: PanelFindings | None = None,
    document: Document | None = None,
) -> str:
    """The report as HTML.

    Parameters
    ----------
    fit
        The fit to report on.
    reproduction
        How to make the fit again; by default the call from Python.
    ratings
        Those that were fitted: adds what it means for students, what stands out, fit statistics, and what would mend
        the design.
    found
        `panel_findings(fit, ratings)`, where it is known already.
    document
        Title and date, an earlier fit to compare with, and further cautions.
    """
    page = environment().get_template("report.html")
    return page.render(
        it=content(fit, reproduction, ratings, found, document),
        style=style(),
        script=script(),
        version=__version__,
    )


def content(
    fit: "Fit",
    reproduction: "Reproduction | None" = None,
    ratings: "Ratings | None" = None,
    found: PanelFindings | None = None,
    document: Document | None = None,
) -> dict[str, Any]:
    """All that `body.html` shows, as plain data, markup of charts, and the JSON that the scripts read."""
    document = document or Document()
    cuts = None if document.decisions is None else document.decisions.cuts.score.tolist()
    found = found or panel_findings(fit, ratings, cuts=cuts, previous=document.previous)
    raters = panel_rows(fit, found)
    shares = category_shares(found.diagnosis, ratings)
    numbers = rater_data(fit, found, raters)
    numbers["categories"] = category_numbers(shares, raters["rater"].to_list())
    drawn = pictures(fit, found, numbers, shares)
    linking = None if ratings is None else examine_links(ratings)
    tables = page_tables(fit, found.diagnosis, linking, document)
    warnings = (
        *caveats(fit),
        *fit.warnings,
        *found.cautions(shared=False),
        *document.cautions,
        *(() if linking is None else linking.warnings),
    )
    decided = decision_section(document)
    scores = "marks" if fit.link == "identity" else "ordered" if fit.ordered else "pass"
    there = drawn | {"decisions": decided} | {name: name in tables for name in _OF_TABLES}
    return {
        "title": document.title,
        "date": document.day,
        "opening": opening(fit, found, document.previous),
        "ranked": found.ranked,
        "rows": raters.head(FIRST_ROWS).to_dicts(),
        "n_raters": raters.height,
        "tables": dict.fromkeys(OPTIONAL) | tables,
        "warnings": tuple(dict.fromkeys(warnings)),
        "pictures": drawn,
        "decisions": decided,
        "sections": [name for name in words.SECTIONS if there.get(name, True)],
        "settings": settings(fit),
        "decided": fit.decided,
        "assumptions": assumptions(fit),
        "reproduce": reproduced(fit, reproduction),
        "notes": fit.notes,
        "scores": scores,
        "target_se": f"{TARGET_SE:.1f}",
        "leads": _leads(fit, scores, tables["students"]["columns"]),
        "data": embedded(
            {
                "raters": numbers,
                "tables": tables,
                "rows": ROWS,
                "words": words.SCRIPT,
                "no_evidence": words.NO_EVIDENCE,
                "head": {"title": document.title, "date": document.day},
            }
        ),
    }


def _leads(fit: "Fit", scores: str, of_students: list[str]) -> dict[str, str]:
    """Introductions of sections, by name."""
    half = "an average mark" if scores == "marks" else "half of the marks"
    students = [words.STUDENTS_LEAD, *([words.FAIR_LEAD] if "fair_average" in of_students else ())]
    if fit.n_students > MOST_STUDENTS:
        students.append(words.STUDENTS_CUT.format(shown=f"{MOST_STUDENTS:,}", all=f"{fit.n_students:,}"))
    return {
        "map": words.MAP_LEAD.format(mark=half),
        "abilities": words.ABILITIES_LEAD,
        "capability": words.CAPABILITY_LEAD,
        "severity": f"{words.SEVERITY_LEAD} {words.SEVERITY_CONTOURS if scores == 'pass' else ''}".strip(),
        "items": words.ITEMS_LEAD,
        "interactions": words.INTERACTIONS_LEAD,
        "groups": words.GROUPS_LEAD,
        "students": " ".join(students),
    }


def decision_section(document: "Document") -> dict[str, Any] | None:
    """Sentences and pictures of the section besides its tables; None if nothing was decided."""
    found, plan = document.decisions, document.remark
    if found is None:
        return None
    cut = words.DECISIONS["cuts" if len(found.cuts.score) > 1 else "cut"]
    return {
        "lead": cut.format(cuts=", ".join(f"{one:g}" for one in found.cuts.score.round(2))),
        "words": found.words(),
        "cut_off": found.table.height > MOST_STUDENTS,
        "picture": both_widths(decisions(found)),
        "plan": [] if plan is None else plan.words(),
    }


def settings(fit: "Result") -> tuple[tuple[str, str], ...]:
    """Settings and course of the fit, as (setting, value)."""
    ended = f"{'yes, in' if fit.converged else 'no, after'} {counted(fit.optimiser.iterations, 'iteration')}"
    errors = words.COVARIANCES.get(fit.covariance, fit.covariance)
    found = {
        "model": words.MODELS.get(fit.model, fit.model),
        "method": words.METHODS.get(fit.method, fit.method),
        "link": words.LINKS.get(fit.link, fit.link),
        "data": size_words(fit),
        "loglik": f"{number(fit.loglik, 4)} with {counted(fit.n_parameters, 'parameter')}",
        "information": f"{number(fit.aic, 1)}, {number(fit.bic, 1)}",
        "sigma": number(fit.sigma, 4),
        "alpha": number(fit.alpha, 4),
        "yardstick": f"{fit.yardstick.reference}, {fit.yardstick.population}, {fit.yardstick.origin}",
        **_effects(fit),
        "covariance": errors if has_errors(fit) else words.NO_ERRORS,
        "converged": ended if fit.converged else f"{ended}: {fit.optimiser.stopped}",
    }
    return tuple((words.SETTINGS[name], value) for name, value in found.items())


def _effects(fit: "Result") -> dict[str, str]:
    """Effects that scores share besides ability, if the model has any."""
    found: dict[str, str] = {}
    raters, apart = fit.table("raters"), "piece effect" in fit.tables
    if "halo" in raters.columns:
        halo = raters["halo"].to_numpy()
        low, high = number(float(halo.min())), number(float(halo.max()))
        spread = low if low == high else f"{low}-{high}"
        found["halo" if apart else "reading"] = (words.HALO if apart else words.READING).format(spread=spread)
    if apart:
        own = fit.table("piece effect").row(0, named=True)
        spread, speaks = number(own["spread"], 2), number(own["speaks"], 2)
        found["piece"] = words.PIECES.format(spread=spread, speaks=speaks)
    if "spreads" in fit.tables:
        rows = fit.table("spreads").iter_rows(named=True)
        found["interactions"] = "; ".join(
            words.INTERACTION.format(
                term=row["term"],
                spread=number(row["spread"], 2),
                interval=words.NO_UPPER_LIMIT
                if math.isnan(row["high"])
                else f"{number(row['low'], 2)}-{number(row['high'], 2)}",
                p=p_words(row["p"]),
            )
            for row in rows
        )
    return found


def has_errors(fit: "Result") -> bool:
    return bool(fit.table("raters")["kappa_se"].is_not_nan().any())


def assumptions(fit: "Result") -> tuple[str, ...]:
    if fit.model not in words.NORMAL_FREE:
        return tuple(words.LATENT_ASSUMPTIONS)
    abilities, work, raters = words.ASSUMPTIONS
    if fit.config.ability == "smooth":
        abilities = words.SMOOTH_ASSUMPTION
    return abilities, work, words.INTERACTING_ASSUMPTION if fit.config.interactions else raters


def reproduced(fit: "Result", reproduction: Reproduction | None) -> tuple[tuple[str, str], ...]:
    """How to make the fit again, as (where, what to type)."""
    found = reproduction or from_python(fit.config)
    command = () if found.command is None else ((words.IN_SHELL, found.command),)
    return (*command, (words.IN_PYTHON, found.call))
