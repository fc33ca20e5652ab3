"""The charts by name, and what each needs: a list that costs nothing to look at."""

from typing import NamedTuple


class Needs(NamedTuple):
    """What a chart takes."""

    answers: str
    fit: bool = True
    ratings: bool = False
    time: bool = False
    value: bool = False
    """It may show one of several numbers"""
    fewest: int = 0
    """Raters to be named, at least"""
    most: int = 0


CHARTS = {
    "capability": Needs("how capable each rater is, with 95 % intervals"),
    "severity": Needs("severity against discrimination, over curves of equal capability"),
    "curves": Needs("capability along ability (--show up to six raters)", most=6),
    "what_if": Needs("capability of --show RATER at other severities", fewest=1, most=1),
    "wright": Needs("students, raters and items on one scale"),
    "information": Needs("what items tell about ability, and where"),
    "network": Needs("raters joined by common students (--ratings)", fit=False, ratings=True),
    "fit_statistics": Needs("infit and outfit (--ratings)", ratings=True),
    "expected": Needs(
        "observed against expected scores of --show RATER (--ratings)", ratings=True, fewest=1, most=1
    ),
    "drift": Needs(
        "severity, discrimination or capability over time (--ratings, --time COLUMN, --value)",
        ratings=True,
        time=True,
        value=True,
        most=12,
    ),
}

CHART_HELP = "Charts:\n" + "\n".join(f"  {name:<15} {needs.answers}" for name, needs in CHARTS.items())
