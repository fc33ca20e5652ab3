"""Halo: what all scores of a reading share besides ability, the impression of one student by one rater.

    S = a_r theta - b_r - delta_i + tau_r u         `halo`: in logits, u ~ N(0, 1) for each reading
    S = a_r (theta + omega u) - b_r - delta_i       `impression`: on the scale of ability

An impression on the scale of ability is as if each reading were a piece of work of its own; pieces differ from what
their student can do in general, by a quality with standard deviation omega around ability.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl
from scipy import sparse

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError, OptionError
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.models.requested import PROMISING, Candidate, Part, Setting, of_ratings, says
from raterlens.models.term import (
    RATING_INFORMATION,
    Beside,
    Contexts,
    Effect,
    Estimated,
    LevelTerm,
    Redrawn,
    Tables,
    Term,
)
from raterlens.models.terms.students import has_groups
from raterlens.ratings.coded import Facet, Ratings
from raterlens.ratings.groupings import by_piece, one_each, piece_tallies, read_once, readings_in, readings_of
from raterlens.ratings.packed import StoredRatings

if TYPE_CHECKING:
    from raterlens.models.facets import FacetsModel

HALO, IMPRESSION, PIECE = "halo", "impression", "piece"
LARGEST_HALO = 10.0
"""Bound of its spread in logits, at which the scores of a reading are almost identical."""
# Away from 0, where the likelihood is level in a spread.
_START = 0.5
LARGEST_PIECE = 5.0
"""Bound of the spread of pieces, in standard deviations of ability."""
_COLUMNS = ("halo", "halo_se", "halo_low", "halo_high")
"""In the table of raters."""
# Of a student about the variance.
_INFORMATION = 0.1


def _shows_halo(ratings: Ratings) -> bool:
    readings = readings_in(ratings)
    return readings.long and readings.second


def _may_have_halo(ratings: Ratings, config: FitConfig, *, on_ability: bool) -> bool:
    """On the ability scale, where it predicts better, unless pieces, groups or draws take its place there."""
    plain = config.ability != "smooth" and config.covariance == "observed"
    plain = plain and ratings.piece is None and not has_groups(ratings, config) and ratings.draw is None
    unsaid = config.halo is None and config.scale != "continuous"
    return plain == on_ability and unsaid and ratings.known is None and _shows_halo(ratings)


_ON_ABILITY = Candidate(
    "halo",
    {"halo": "ability"},
    lambda ratings, config: _may_have_halo(ratings, config, on_ability=True),
    IMPRESSION,
    "On the whole, a rater's scores of the same student are correlated beyond ability (halo, {p})",
    "Intervals of severity, capability and ability are too narrow",
    Option("halo", "none"),
    order=2,
    by_score=PROMISING,
    there=lambda config: config.halo not in (None, "none"),
    possible=_shows_halo,
)


class Pieces(Term):
    """omega^2, the variance of the quality of a piece around its student's ability."""

    name = PIECE
    size = 1
    variance = True
    around_ability = True
    begin = _START**2
    bound = (0.0, LARGEST_PIECE**2)
    asks: ClassVar[tuple[tuple[str, Any], ...]] = (("pieces", True),)
    parts: ClassVar[tuple[Part, ...]] = (
        Part("piece", of_ratings("piece", lambda ratings: ratings.piece and ratings.piece.name)),
        Part(
            "pieces",
            of_ratings(
                "piece",
                lambda ratings: ratings.piece.name if ratings.piece and not read_once(ratings) else None,
            ),
            ("method", "log link", "covariance", "smooth", "known", "trusted"),
        ),
    )

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        if ratings.piece is not None and one_each(ratings):
            raise InputError(
                f"every student has one piece of work only (column {ratings.piece.name!r}), so what a piece is like "
                "cannot be told from what its student can do",
                Message("leave out ", Option("piece")),
                value=ratings.piece.name,
            )

    @classmethod
    def cautions(cls, ratings: Ratings, config: FitConfig) -> Iterator[str]:
        if ratings.piece is not None and not pieces_differ(ratings):
            yield Message(
                "each piece is read by one rater, so what differs between a student's pieces cannot be told from what "
                "raters see in them: no piece effect is estimated. Have some pieces read by a second rater; ",
                Option("halo", "common"),
                " allows for both together, as a reading effect",
            )

    @classmethod
    def check_new(cls, ratings: Ratings) -> None:
        if ratings.piece is None:
            raise InputError(
                "the fit tells pieces of work apart, and these ratings name none",
                Message("read them with ", Option("piece")),
            )

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        return np.array([_INFORMATION * n_students])

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        pieces = by_piece(self.as_modelled(at.ratings))
        own = np.sqrt(x[0]) * at.random.standard_normal(len(pieces.student))
        return replace(at, off=at.off + own[pieces.ratings.student])

    def tables(self, found: Estimated) -> Tables:
        """The worth of each piece, on the scale of ability; and omega with its error and interval, with how far
        one piece speaks for its student."""
        ratings, quality = found.ratings, found.pieces()
        student, label, tally = piece_tallies(ratings)
        assert ratings.piece is not None
        pieces = pl.DataFrame(
            {
                "student": ratings.students.gather(student),
                "piece": ratings.piece.labels.gather(label),
                "n": tally.n,
                "mean_score": tally.mean * ratings.score_step,
                "quality": quality.mean,
                "quality_se": quality.sd,
            }
        )
        spread, error, low, high = found.spreads(self.name)
        effect = {"spread": spread, "spread_se": error, "low": low, "high": high}
        return {
            "pieces": pieces,
            "piece effect": pl.DataFrame({**effect, "speaks": 1 / np.sqrt(1 + spread**2)}),
        }


class Halo(LevelTerm):
    """tau_r^2, the variance of the reading effect: as large for every rater, or each rater's own."""

    name = HALO
    predictor = "halo"
    variance = True
    begin = _START**2
    bound = (0.0, LARGEST_HALO**2)
    covarying = True
    asks = (("halo", "rater"),)
    parts = (
        Part(
            "halo",
            says("halo", "common", "rater", "ability"),
            ("method", "log link", "scores' covariance", "known"),
        ),
    )
    candidates = (
        replace(
            _ON_ABILITY,
            options={"halo": "common"},
            applies=lambda ratings, config: _may_have_halo(ratings, config, on_ability=False),
            term=HALO,
        ),
    )

    @classmethod
    def asked_by(cls, at: Setting) -> Iterator[Term]:
        n, kind = at.rows.n_raters, at.options.halo
        if kind in ("common", "rater"):
            yield cls(Effect.common(n) if kind == "common" else Effect.each(n))

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        """Impressions have to be told from what each score is, and from ability."""
        if config.halo in (None, "none"):
            return
        if config.halo == "ability" and isinstance(ratings, StoredRatings):
            raise OptionError(
                Message(Option("halo", config.halo), " with packed ratings, which are not read at once"),
                Message("use ", Option("halo", "common"), ", or read the table itself"),
                option="halo",
            )
        found = [readings_in(part) for part in ratings.parts()]
        if not any(readings.long for readings in found):
            why = (
                " needs readings of at least 2 items, and here no rater scores a student on more than one item: what "
                "the scores of a reading share cannot be seen in a single score"
            )
        elif not any(readings.second for readings in found):
            why = (
                " needs students with at least 2 readings, and here each has one: what its scores share cannot be "
                "told from ability"
            )
        else:
            return
        raise InputError(Message(Option("halo", config.halo), why), Message("leave out ", Option("halo")))

    def information(self, model: "FacetsModel", parameters: Array, n_students: int) -> Array:
        """Information of a reading of n ratings about the variance: half the square of that about its effect."""
        given, n = model.contexts.given.sum(axis=1), model.n_items
        told = RATING_INFORMATION * n * float(model.lever.max()) ** 2
        each = 0.5 * (told / (1 + self.effect(parameters[model.blocks[self.name]]) * told)) ** 2
        readings = np.bincount(model.contexts.rater, given, model.n_raters) / n
        return np.asarray(self.effect.design.T @ (each * readings))

    def beside(self, x: Array, rows: Contexts, slope: Array) -> Beside:
        by = self.designs(rows)["halo"]
        return by @ x, None, by

    def redraw(self, x: Array, at: Redrawn) -> Redrawn:
        ratings = at.ratings
        whose = ratings.student if ratings.piece is None else by_piece(ratings).ratings.student
        reading, number = readings_of(whose, ratings.rater, ratings.item)
        impression = np.sqrt(self.effect(x))[ratings.rater] * at.random.standard_normal(number)[reading]
        return replace(at, besides=at.besides + impression)

    def tables(self, found: Estimated) -> Tables:
        return {"raters": pl.DataFrame(dict(zip(_COLUMNS, found.spreads(self.name), strict=True)))}


class Impressions(Pieces):
    """omega^2, the variance of a rater's impressions around ability, the same for all raters."""

    name = IMPRESSION
    covarying = True
    asks = (("halo", "ability"),)
    parts = (
        Part("impressions", says("halo", "ability"), ("piece", "group", "draw", "covariance", "smooth")),
    )
    candidates = (_ON_ABILITY,)

    @classmethod
    def check(cls, ratings: Ratings, config: FitConfig) -> None:
        """As for halo in logits."""

    @classmethod
    def cautions(cls, ratings: Ratings, config: FitConfig) -> Iterator[str]:
        return iter(())

    @classmethod
    def check_new(cls, ratings: Ratings) -> None:
        """Any ratings have readings."""

    def as_modelled(self, ratings: Ratings) -> Ratings:
        """With each reading in the place of a piece of work."""
        reading, number = readings_of(ratings.student, ratings.rater, ratings.item)
        labels = pl.Series("reading", np.arange(number))
        return replace(ratings, piece=Facet("reading", reading.astype(np.int32), labels))

    def beside(self, x: Array, rows: Contexts, slope: Array) -> Beside:
        return slope**2 * x[0], 2 * slope * x[0], sparse.csr_array((slope**2)[:, None])

    def tables(self, found: Estimated) -> Tables:
        """The same for each rater: in units of ability."""
        n, spreads = found.ratings.n_raters, found.spreads(self.name)
        columns = {name: np.repeat(each, n) for name, each in zip(_COLUMNS, spreads, strict=True)}
        return {"raters": pl.DataFrame(columns)}


def in_logits(effects: Mapping[str, Array]) -> Mapping[str, Array]:
    """The effects of a fit with the variance that impressions on the ability scale have in each rater's scores."""
    if IMPRESSION not in effects:
        return effects
    kept = {name: values for name, values in effects.items() if name != IMPRESSION}
    return {**kept, HALO: effects["slope"] ** 2 * float(effects[IMPRESSION][0])}


def pieces_differ(ratings: Ratings) -> bool:
    """Whether pieces differ in the model: wherever they are named and that can be told."""
    return ratings.piece is not None and not read_once(ratings)
