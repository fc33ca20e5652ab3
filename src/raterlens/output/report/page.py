"""From a fit to one self-contained HTML page: what it means, who needs attention and why, then the evidence."""

from typing import TYPE_CHECKING, Any

from raterlens.base.threads import in_background
from raterlens.diagnostics.findings import PanelFindings, panel_findings
from raterlens.diagnostics.wording import caveats
from raterlens.output.report import english as words
from raterlens.output.report.assets import FEW_ROWS, FIRST_ROWS, environment, script, style
from raterlens.output.report.decision_section import decision_section, decision_tables
from raterlens.output.report.document import Document
from raterlens.output.report.drawings import category_numbers, category_shares, frames, pictures
from raterlens.output.report.encode import embedded
from raterlens.output.report.method import assumptions, reproduced, settings
from raterlens.output.report.opening import opening, panel_rows
from raterlens.output.report.page_tables import (
    MOST_STUDENTS,
    design_tables,
    draw_tables,
    fit_tables,
    group_tables,
    interaction_tables,
    item_table,
    student_table,
)
from raterlens.output.report.rater_pages import curves, rater_data
from raterlens.ratings.design import TARGET_SE, Linking, examine_links
from raterlens.version import __version__

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.output.report.reproduce import Reproduction
    from raterlens.ratings.coded import Ratings

OPTIONAL = (
    "repairs",
    "few",
    "interactions",
    "groups",
    "draws",
    "fit",
    "unexpected",
    "bias",
    "pairs",
    "scores",
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
    with in_background(lambda: (curves(fit, raters), _links(ratings))) as beside:
        shares = category_shares(found.diagnosis, ratings)
        drawn = pictures(fit, shares, ranked=found.ranked)
        numbers = rater_data(fit, found, raters, lambda: beside()[0])
        numbers["categories"] = category_numbers(shares, raters["rater"].to_list())
        drawn["frames"] = frames(fit, numbers, shares)
        _, linking = beside()
    tables = _tables(fit, found, linking, document)
    warnings = (
        *caveats(fit),
        *fit.warnings,
        *(() if found.diagnosis is None else found.diagnosis.warnings(shared=False)),
        *document.cautions,
        *(() if linking is None else linking.warnings),
    )
    decided = decision_section(document)
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
        "scores": "marks" if fit.link == "identity" else "ordered" if fit.ordered else "pass",
        "target_se": f"{TARGET_SE:.1f}",
        "students_lead": _students_lead(fit, tables["students"]["columns"]),
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


def _links(ratings: "Ratings | None") -> Linking | None:
    return None if ratings is None else examine_links(ratings)


def _tables(fit: "Fit", found: PanelFindings, linking: Linking | None, document: Document) -> dict[str, Any]:
    return {
        "items": item_table(fit, found.diagnosis),
        "students": student_table(fit, found.diagnosis),
        **fit_tables(fit, found.diagnosis),
        **interaction_tables(fit),
        **draw_tables(fit),
        **group_tables(fit),
        **design_tables(linking),
        **decision_tables(document),
    }


def _students_lead(fit: "Fit", columns: list[str]) -> str:
    lead = [words.STUDENTS_LEAD]
    if "fair_average" in columns:
        lead.append(words.FAIR_LEAD)
    if fit.n_students > MOST_STUDENTS:
        lead.append(words.STUDENTS_CUT.format(shown=f"{MOST_STUDENTS:,}", all=f"{fit.n_students:,}"))
    return " ".join(lead)
