"""New students by a calibrated panel: everything about raters, items and scores fixed, only abilities asked for."""

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from raterlens.base.arrays import Array, Indices, Mask
from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, listed
from raterlens.estimation.facets_estimate import starting_widths
from raterlens.estimation.methods import sharp_moments, sharp_nodes
from raterlens.likelihood.marginal import FacetsMarginal, marginal
from raterlens.likelihood.nodes import Moments, Nodes, first_nodes, nested, nodes_for
from raterlens.likelihood.priors import Pseudo
from raterlens.models.build import KINDS, build
from raterlens.models.calibration import Calibration
from raterlens.models.facets import FacetsModel
from raterlens.models.registry import MODELS
from raterlens.models.terms.draws import DRAW
from raterlens.ratings.coded import Codes, Ratings, level_table
from raterlens.ratings.groupings import counted_once, with_sets_of_raters

_MOST_ROUNDS = 8
# Error of the log-likelihood per student, on average, that a test does not notice.
_ROUGH = 1e-4


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A calibrated panel on ratings: the model with everything fixed, ready to ask for abilities."""

    ratings: Ratings
    """With each score's place among those of the fit."""
    problem: FacetsMarginal
    parameters: Array
    moments: Moments | None = None
    """Moments of the students' abilities, if known at least roughly."""

    def abilities(self) -> Moments:
        """Posterior means and standard deviations, in units of the fit's population of students."""
        if (own := self.problem.own_nodes(self.parameters)) is not None:
            return self.problem.moments(self.parameters, own)
        return _abilities(self.problem, self.parameters, starting_widths(self.ratings, self.problem.response))

    def rough_nodes(self) -> Nodes:
        """A grid for tests, which need not be exact."""
        moments = self.moments
        if moments is None:
            widths = starting_widths(self.ratings, self.problem.response)
            moments = _rough_abilities(self.problem, self.parameters, widths)
        nodes = nodes_for(moments, _ROUGH * len(moments.sd))
        if not self.problem.nests:
            return nodes
        return nested(nodes, moments.sd, lambda each: self.problem.tables(self.parameters, each).cells)

    def loglik(self) -> float:
        """Marginal log-likelihood of the ratings."""
        nodes = self.problem.own_nodes(self.parameters)
        if nodes is None:
            nodes = sharp_nodes(self.problem, self.parameters, self.abilities())
        return self.problem.loglik(self.parameters, nodes)


def place(calibration: Calibration, ratings: Ratings, *, as_fitted: bool = False) -> Placed:
    """Put the calibrated effects in the places that these ratings' levels have.

    Every rater gets a slope, wherever the calibration's slopes came from, unless the model's parameters are wanted as
    they were fitted.
    """
    scores = calibration.scores
    if calibration.marks is not None and ratings.n_categories > len(scores):
        # A mark above the highest that the fit saw is one like others.
        scores = tuple(range(ratings.n_categories))
    every = with_scores(ratings, scores)
    coded = counted_once(every) if calibration.repeats == "draws" else every
    if calibration.group_means == "raters":
        coded = with_sets_of_raters(coded)
    for kind in KINDS:
        if kind.name in calibration.effects:
            kind.check_new(coded)
    slope = None if coded.known is None else calibration.known_slope
    options = calibration.options(draws=_drawing(calibration, coded), known_slope=slope)
    if as_fitted:
        options = replace(options, spec=MODELS[calibration.model])
    model, response = build(coded, options, len(scores), known_highest(calibration, coded))
    nobody = Pseudo(np.zeros((len(model.contexts), response.n_categories)))
    return Placed(every, marginal(coded, model, response, nobody), _parameters(calibration, coded, model))


def _drawing(calibration: Calibration, ratings: Ratings) -> Mask | None:
    """(raters,): whose answers to the same question share more than ability."""
    known = calibration.effects.get(DRAW)
    return None if known is None else np.isfinite(known[level_places(calibration, ratings, "rater")])


def score(calibration: Calibration, ratings: Ratings) -> pl.DataFrame:
    """Students' abilities, posterior means given the fit's population of students, with standard deviations."""
    moments = place(calibration, ratings).abilities()
    mean, sd = calibration.population
    estimates = {"theta": mean + sd * moments.mean, "theta_se": sd * moments.sd}
    return level_table(ratings, ratings.students, "student", estimates)


def with_scores(ratings: Ratings, scores: tuple[int, ...]) -> Ratings:
    """The same ratings with each score's place among `scores`."""
    if scores == tuple(range(len(scores))) and ratings.n_categories <= len(scores):
        return ratings
    seen = np.flatnonzero(ratings.score_counts)
    if strange := [int(score) for score in seen if score not in scores]:
        raise InputError(
            f"scores of {listed(strange)} occur, but the fit knows only {listed(scores)}",
            "correct them, or read with the cut that the fit's ratings were read with",
            value=strange,
            option="cut",
        )
    return ratings.with_scores(np.searchsorted(scores, np.arange(ratings.n_categories)).astype(np.int16))


def _parameters(calibration: Calibration, ratings: Ratings, model: FacetsModel) -> Array:
    """The calibrated effects of the levels that occur in these ratings."""
    _check_facets(calibration, ratings)
    found = []
    for term in model.terms:
        table = calibration.effects[term.name]
        for axis, facet in enumerate(term.levels):
            if facet == "group":
                table = np.append(table, 0.0)  # of sets of raters that the fit has not seen
            table = np.take(table, level_places(calibration, ratings, facet), axis=axis)
        term.check_known(table, ratings.items, calibration.scores)
        found.append(term.parameters(table))
    return np.concatenate(found)


def _check_facets(calibration: Calibration, ratings: Ratings) -> None:
    """Raise where the fit has other facets than these ratings."""
    wanted = {name.removeprefix("facet ") for name in calibration.effects if name.startswith("facet ")}
    given = {facet.name for facet in ratings.facets}
    if wanted != given:
        raise InputError(
            f"the fit has the facets {listed(sorted(wanted)) or 'none'}, these ratings "
            f"{listed(sorted(given)) or 'none'}",
            Message("read them with the same ", Option("facets")),
            value=sorted(given),
        )


def level_places(calibration: Calibration, ratings: Ratings, facet: str) -> Codes:
    """Where each level of `rater`, `item`, `group` or a further facet stands among those of the fit."""
    labels = {"rater": ratings.raters, "item": ratings.items}
    labels |= {f"facet {one.name}": one.labels for one in ratings.facets}
    if ratings.group is not None:
        labels["group"] = ratings.group.labels
    if facet == "group" and calibration.group_means == "raters":
        return _sets_known(labels[facet], calibration.labels[facet])
    name = facet if facet in labels else f"facet {facet}"
    further = name.removeprefix("facet ")
    what = f"{name}s" if further == name else f"levels of facet {further!r}"
    return places_of(labels[name], calibration.labels[name], what)


def _sets_known(sets: pl.Series, known: pl.Series) -> Codes:
    """Where each set of raters stands among the known ones; the place after them where it is new, with a mean of 0."""
    place = {label: number for number, label in enumerate(known.cast(pl.String))}
    return np.array([place.get(label, len(place)) for label in sets], dtype=np.int32)


def known_highest(calibration: Calibration, ratings: Ratings) -> Indices | None:
    """(items,): the highest score of each item of these ratings where items have thresholds of their own; 0 for items
    that the fit does not know."""
    thresholds = calibration.effects.get("threshold")
    if thresholds is None or len(thresholds) == 1:
        return None
    labels = calibration.labels["item"].cast(pl.String)
    highest = dict(zip(labels, np.isfinite(thresholds).sum(axis=1).tolist(), strict=True))
    return np.array([highest.get(label, 0) for label in ratings.items.cast(pl.String)], dtype=np.int64)


def places_of(labels: pl.Series, known: pl.Series, what: str) -> Codes:
    """Where each label stands among the known ones."""
    if labels.equals(known):
        return np.arange(len(known), dtype=np.int32)
    names, familiar = labels.cast(pl.String).to_list(), known.cast(pl.String).to_list()
    place = dict(zip(familiar, range(len(familiar)), strict=True))
    strangers = [label for label in names if label not in place]
    if strangers:
        raise InputError(
            f"{what} that the fit does not know: {listed(strangers)} (it knows {listed(familiar)})",
            Message(
                "leave their ratings out, or fit again with them and the others held fixed (",
                Option("anchors"),
                ")",
            ),
            value=strangers,
        )
    return np.array([place[label] for label in names], dtype=np.int32)


def _abilities(problem: FacetsMarginal, parameters: Array, widths: Array) -> Moments:
    return sharp_moments(problem, parameters, _rough_abilities(problem, parameters, widths))


def _rough_abilities(problem: FacetsMarginal, parameters: Array, widths: Array) -> Moments:
    """On a grid that follows the posteriors until it need not be finer."""
    nodes = first_nodes(widths)
    for _ in range(_MOST_ROUNDS):
        moments = problem.moments(parameters, nodes)
        following = nodes_for(Moments(moments.mean, np.maximum(moments.sd, nodes.step / 4)))
        if following.step > nodes.step / 2:
            break
        nodes = following
    return moments
