"""Interactions: raters who are more severe than usual on some items, or on some levels of another facet.

Each rater and level that occur together have a severity of their own, besides the rater's. Without a prior nothing
would tell these from the rater's severity and the level's difficulty.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array, Indices
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.text import Message, Option, counted
from raterlens.config import FitConfig
from raterlens.config.fit_config import facets_of
from raterlens.config.limits import ADAPTED_PARAMETERS, INTERACTION_CELLS
from raterlens.models.requested import Candidate, Part, Setting, says, unsaid
from raterlens.models.term import Contexts, Designs, Estimated, Tables, Term, one_per_row
from raterlens.ratings.coded import Ratings
from raterlens.ratings.design import components

ITEM = "item"
_BLOCK = "interaction "


@dataclass(frozen=True, slots=True, eq=False)
class Interaction(Term):
    """h_rj, which is subtracted from the predictor; a cell is a rater and a level that occur together."""

    facet: str
    """`item`, or the name of a further facet."""
    rater: Indices
    """(cells,)"""
    level: Indices
    """(cells,)"""
    shape: tuple[int, int]
    """Raters and levels."""
    name: str
    drawn = True
    candidates = (
        Candidate(
            "rater x item",
            {"interactions": ("rater:item",)},
            lambda ratings, config: (
                1 < ratings.n_items <= ADAPTED_PARAMETERS // ratings.n_raters
                and unsaid(config, "interactions", "anchors")
            ),
            "rater:item",
            missed="A rater's severity does not vary from item to item beyond chance.",
            order=4,
            spread="A rater's severity varies from item to item by {size}.",
            there=lambda config: ITEM in facets_of(config.interactions),
        ),
    )
    parts = (
        Part(
            "interactions",
            says("interactions"),
            ("method", "log link", "covariance", "known", "trusted", "piece"),
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        for facet in at.options.interactions:
            yield cls.of(at.rows, facet)

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        if config.interactions is None:
            return
        names = [ITEM, *(facet.name for facet in ratings.facets)]
        for facet in facets_of(config.interactions):
            choose("facet in interactions", facet, names, option="interactions")
        if config.covariates is not None and config.prior != "panel":
            raise OptionError(
                Message(
                    Option("interactions", config.interactions),
                    " with ",
                    Option("covariates"),
                    ", which take the place of the raters' own severities: what a rater adds on all items alike would "
                    "be taken for interactions",
                ),
                Message(
                    "use ",
                    Option("prior", "panel"),
                    ", under which raters keep their own, or leave out one of them",
                ),
                option="covariates",
            )
        contexts = Contexts.of(ratings)
        terms = [cls.of(contexts, facet) for facet in facets_of(config.interactions)]
        cells = sum(term.size for term in terms)
        if cells > INTERACTION_CELLS:
            raise InputError(
                f"{cells:,} interactions are more than the {INTERACTION_CELLS:,} that are estimated together",
                "fit without them: fit.diagnose(ratings) tests each rater on every item",
                value=cells,
                option="interactions",
            )
        for term in terms:
            term.check_told(contexts)

    @staticmethod
    def of(contexts: Contexts, facet: str) -> "Interaction":
        n_levels = contexts.n_items if facet == ITEM else contexts.facet_sizes[facet]
        levels = contexts.of_level(_level(facet))
        rated = (np.arange(len(contexts)) < contexts.n_rated) & (levels < n_levels)
        cells = np.unique(contexts.rater[rated] * n_levels + levels[rated])
        shape = contexts.n_raters, n_levels
        return Interaction(facet, *np.divmod(cells, n_levels), shape, f"{_BLOCK}{facet}")

    def check_told(self, contexts: Contexts) -> None:
        """Cells have to be more than raters and levels explain, and ratings more than cells."""
        given = np.bincount(self.cells(contexts), contexts.given.sum(axis=1), self.size)
        raters, levels = len(np.unique(self.rater)), len(np.unique(self.level))
        place = np.unique(self.level, return_inverse=True)[1] + contexts.n_raters
        idle = contexts.n_raters - raters
        groups = components(contexts.n_raters + levels, self.rater, place)[0] - idle
        noun, plural = f"level of {self.facet}", f"levels of {self.facet}"
        if self.facet == ITEM:
            noun, plural = "item", "items"
        if self.size <= raters + levels - groups:
            why = (
                f"{counted(raters, 'rater')} on {levels} {noun if levels == 1 else plural}, {self.size} "
                "combinations of which occur, tell no interaction from severities and difficulties"
            )
        elif given.max() < 2:
            why = f"no rater has two ratings on any {noun}, so an interaction cannot be told from chance"
        else:
            return
        raise InputError(
            Message(Option("interactions", f"rater:{self.facet}"), f": {why}"),
            "leave it out; it takes raters who each rate several students on several of them",
        )

    @property
    def size(self) -> int:
        return len(self.rater)

    def cells(self, rows: Contexts) -> Indices:
        """(rows,): the cell of each; `size` where there is none."""
        levels = rows.of_level(_level(self.facet))
        place = np.full(self.shape, self.size)
        place[self.rater, self.level] = np.arange(self.size)
        rated = (rows.rater < self.shape[0]) & (levels < self.shape[1])
        found = np.full(len(rows), self.size)
        found[rated] = place[rows.rater[rated], levels[rated]]
        return found

    def designs(self, rows: Contexts) -> Designs:
        return {"intercept": one_per_row(self.cells(rows), self.size)}

    @property
    def in_severity(self) -> sparse.csr_array:
        """The mean over all levels: with it, a severity is what is expected of the rater on an average one."""
        share = np.full(self.size, 1 / self.shape[1])
        return sparse.csr_array((share, (self.rater, np.arange(self.size))), (self.shape[0], self.size))

    def effect_of(self, x: Array) -> Array:
        return np.asarray(self.effect_jacobian(x) @ x)

    def effect_jacobian(self, x: Array) -> sparse.csr_array:
        """Less the rater's mean."""
        return sparse.csr_array(sparse.eye_array(self.size, format="csr") - self.in_severity[self.rater])

    @property
    def levels(self) -> tuple[str, ...]:  # type: ignore[override]  # of this facet
        return "rater", _level(self.facet)

    def table(self, x: Array) -> Array:
        """(raters, levels): 0 where a rater and a level do not occur together."""
        found = np.zeros(self.shape)
        found[self.rater, self.level] = x
        return found

    def parameters(self, table: Array) -> Array:
        return np.asarray(table[self.rater, self.level])

    @property
    def title(self) -> str:
        return f"rater:{self.facet}"

    def tables(self, found: Estimated) -> Tables:
        """A row for every rater and level that occur together: how much more severe than elsewhere the rater is."""
        ratings, (severity, error) = found.ratings, found.of(self.name)
        labels = next((each.labels for each in ratings.facets if each.name == self.facet), ratings.items)
        rows = found.model.contexts
        n, total = (
            np.bincount(self.cells(rows), each)[: self.size]
            for each in (rows.given.sum(axis=1), rows.given @ found.values)
        )
        columns = {
            "rater": ratings.raters.gather(self.rater),
            "facet": [self.facet] * self.size,
            "level": labels.cast(pl.String).gather(self.level),
            "n": n.astype(np.int64),
            "mean_score": total / n,
            "severity": severity,
            "severity_se": error,
        }
        return {"interactions": pl.DataFrame(columns)}


def _level(facet: str) -> str:
    return facet if facet == ITEM else f"facet {facet}"


def interacting_facets(blocks: Iterable[str]) -> tuple[str, ...]:
    """The facets that raters interact with, by the names of blocks or effects."""
    return tuple(name.removeprefix(_BLOCK) for name in blocks if name.startswith(_BLOCK))
