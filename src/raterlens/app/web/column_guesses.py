"""Guesses about each column of a table, and open questions, by the reader's own rules."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from raterlens.app.web.option_labels import label
from raterlens.base.errors import InputError
from raterlens.base.text import sentence, worded
from raterlens.config import ROW, ReadConfig
from raterlens.reading.columns import likely_pattern
from raterlens.reading.detection.proposal import Finding
from raterlens.reading.detection.roles import Look, recognise
from raterlens.reading.detection.wide_layouts import score_columns, swapped_pattern
from raterlens.reading.formats.sources import open_table
from raterlens.reading.read import understood

TYPED = ("cut", "bands", "map")
"""Options about scores that have a field on the page."""


@dataclass(frozen=True, slots=True)
class Guess:
    """First values of the page."""

    roles: dict[str, str]
    """A role for every column whose role can be told."""
    config: ReadConfig
    findings: list[dict[str, object]] = field(default_factory=list)
    """Findings: what was seen and done, and whether it is certain."""

    @property
    def scores(self) -> list[str]:
        return [column for column, role in self.roles.items() if role == "score"]

    @property
    def patterns(self) -> dict[str, str]:
        """Meanings of score columns other than an item each, as the patterns that `rl.read` takes."""
        known, found = patterns(self.scores), self.config.wide
        if found is None:
            return known
        if "{item}" not in found:
            return known | {"rater": found}
        return known | {"grid": found, "turned": swapped_pattern(found)}

    @property
    def spread(self) -> str:
        """The most likely of them."""
        if self.config.wide is not None:
            return "grid" if "{item}" in self.config.wide else "rater"
        if "rater" in self.roles.values() or len(self.scores) < 2:
            return "item"
        return "grid" if "grid" in self.patterns else "rater"


def guess(source: object, config: ReadConfig) -> Guess:
    """Roles by the reader's understanding; where it cannot read the table, as many as can be told."""
    try:
        _, understanding = understood(source, config)
    except InputError:
        return Guess(_partly(source, config), config)
    found = understanding.config
    roles = dict.fromkeys(found.names("facets"), "facet")
    for role in ("student", "rater", "item", "score"):
        roles |= dict.fromkeys(found.names(role), role)
    roles |= dict.fromkeys(found.names("items"), "score")
    roles.pop(ROW, None)
    return Guess(roles, found, [_shown(finding) for finding in understanding.findings])


def patterns(scores: Sequence[str]) -> dict[str, str]:
    """One rater each, or, where the names make a grid, a rater and an item, in either order."""
    known = {"rater": "{rater}"}
    if (grid := likely_pattern(scores)) is not None:
        known |= {"grid": grid, "turned": swapped_pattern(grid)}
    return known


def _partly(source: object, config: ReadConfig) -> dict[str, str]:
    with open_table(source, config) as table:
        look = Look(table)
        found = recognise(table.columns, config, look)
        roles = {name: role for role, name in found.roles.items()}
        if "score" not in found.roles:
            scores, _ = score_columns([name for name in table.columns if name not in roles], look)
            roles |= dict.fromkeys(scores, "score")
    return roles


def _shown(finding: Finding) -> dict[str, object]:
    return {"text": sentence(worded(finding.note, label)), "certain": finding.certain}
