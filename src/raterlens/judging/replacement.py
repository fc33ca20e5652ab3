"""May a judge stand in for a person? A test of non-inferiority on the scale that people (or known answers) define.

With kappa the capability against a rater without noise, severity being counted from the people's average,

    H0: kappa_judge <= mean kappa_people - margin
    T = g(kappa_judge) - g(mean kappa_people - margin),    g(kappa) = -log(1 - kappa)
    z = (T - bias T) / sd T

with bias and standard deviation of T over normal draws of all slopes and severities with all their covariances: the
judge and the people rated the same work. Few ratings overstate a sharp rater's slope and understate people with a
severity of their own; g and the bias take care of the two, which the delta method alone does not (docs/judges.md has
the error rates). Not rejecting is no proof of the contrary, so there are three verdicts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import optimize, special

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed, number
from raterlens.capability.index import Index
from raterlens.capability.yardstick import PERFECT, Measure, Yardstick
from raterlens.inference.intervals import measure, rater_estimates, standards
from raterlens.inference.measurement import measured_fit
from raterlens.inference.panel_draws import Measured
from raterlens.judging.alt_test import EPSILON, AltTest, alt_test
from raterlens.judging.people_scale import Shared, sharpness_beside
from raterlens.judging.trusted_raters import ALONE, only
from raterlens.models.panel import Panel
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

MARGIN = 0.1
ONE_SIDED = float(special.ndtri(0.95))
TWO_SIDED = float(special.ndtri(0.975))
FEWEST_SHARED = 20
"""Pieces of work that a judge and a person must share."""
_DRAWS = 2_000
_WIDEST = 0.99
"""No two capabilities are further apart."""
_SHARPEST = 1 - 1e-6
_NOTHING = 1e-9
Verdict = Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True, eq=False)
class Replacement:
    """A judge beside the people it would stand in for."""

    judge: str
    people: tuple[str, ...]
    margin: float
    difference: float
    """Capability of the judge less the people's mean."""
    low: float
    """The difference is above this, with 95 % confidence."""
    high: float
    """The difference is below this, with 95 % confidence."""
    p: float
    """Of a judge who is worse by the margin doing as well as this."""
    table: pl.DataFrame
    """A row per rater, the judge first: rater, n, kappa (against a rater without noise) with its 95 % interval,
    sharpness, passes, and difference (judge less this person) with its 95 % interval."""
    alt_test: AltTest | None = None
    """The published test on the same ratings, where they were given."""
    backend: Backend = "polars"
    measure: str = "capability"
    """What is compared: `capability`, or `sharpness` for ordered scores."""

    @property
    def verdict(self) -> Verdict:
        """`yes`: worse by less than the margin, if at all. `no`: worse by more. `unclear`: the ratings fit both."""
        return "yes" if self.low > -self.margin else "no" if self.high < -self.margin else "unclear"

    def __bool__(self) -> bool:
        """Whether the judge may stand in for a person."""
        return self.verdict == "yes"

    @property
    def raters(self) -> Any:
        """`table` as the kind of dataframe that came in."""
        return to_backend(self.table, self.backend)

    def words(self) -> list[str]:
        """The verdict, what it rests on, and the published test's."""
        judge, *people = self.table["kappa" if self.measure == "capability" else "sharpness"].to_list()
        more, less = (
            ("more capable", "less capable") if self.measure == "capability" else ("sharper", "less sharp")
        )
        answer = {
            "yes": f"{self.judge} may stand in for a person",
            "no": f"{self.judge} may not stand in for a person",
            "unclear": f"It is not clear whether {self.judge} may stand in for a person",
        }[self.verdict]
        why = {
            "yes": f"it is at most {max(-self.low, 0.0):.2f} {less}, within the margin of {self.margin:g}"
            if self.low < 0
            else f"it is {more} than the people's mean",
            "no": f"it is at least {-self.high:.2f} {less}, beyond the margin of {self.margin:g}",
            "unclear": f"the margin of {self.margin:g} is within what the ratings allow; have it judge more work that "
            "people judge, too",
        }[self.verdict]
        numbers = (
            f"{self.measure.capitalize()} {number(judge)} against {number(float(np.mean(people)))} of "
            f"{counted(len(people), 'person', 'people')} ({listed(self.people, 4)}): difference "
            f"{self.difference:+.2f}, between {self.low:+.2f} and {self.high:+.2f} (each with 95 % confidence; p = "
            f"{self.p:.2g})."
        )
        known = [] if self.alt_test is None else [self.alt_test.words()]
        return [f"{answer}: {why}.", numbers, *known]

    def summary(self) -> str:
        """The verdict in plain words."""
        return "\n".join(self.words())

    def __repr__(self) -> str:
        return f"<Replacement of people by {self.judge!r}: {self.verdict}; see summary()>"

    def _repr_html_(self) -> str:
        heading, *rest = self.words()
        name = "kappa" if self.measure == "capability" else "sharpness"
        columns = (name, f"{name}_low", f"{name}_high")
        points: list[Point] = [
            (str(label), *numbers) for label, *numbers in self.table.select("rater", *columns).iter_rows()
        ]
        return shown(heading, lines(rest), intervals(points, (0.0, 1.0), self.measure))


def can_replace(
    fit: "Fit",
    judge: str,
    ratings: Ratings | None = None,
    *,
    people: Sequence[str] | None = None,
    margin: float = MARGIN,
    epsilon: float = EPSILON,
) -> Replacement:
    """May this judge stand in for a person? A test on capability, on the scale of people or known answers.

    Parameters
    ----------
    fit
        A fit of the ratings. Without `ratings` it must be on the truth's scale: with known answers
        (`rl.read(..., known=)`) or `trusted` raters.
    judge
        The rater in question.
    ratings
        The ratings that were fitted. The judge is then fitted again beside the people alone (and known answers, if
        any), so that no other judge vouches for it, and the alt-test of Calderon et al. (2025) is made for comparison.
    people
        Whom the judge would stand in for; the trusted raters of the fit where left out.
    margin
        How much less capable than the people's mean the judge may be. Capability is that of `reference="perfect"`,
        1 for a rater without noise, with severity counted from the people's average. For ordered scores it is
        sharpness: the correlation with ability as the other people see it, whatever thresholds a rater uses.
    epsilon
        Of the alt-test: what the judge's lower cost is worth.

    Returns
    -------
    Replacement
        `verdict` (yes, no or unclear), which is also its truth value (only yes is true), `difference`, `p`, `raters`,
        `alt_test`, `summary()`. A judge who is worse by the margin gets a yes in at most 5 of 100 cases.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> people = ["CO:School", "CO:Family", "BE:School"]
    >>> found = rl.can_replace(rl.fit(ratings), "AM:Sport", ratings, people=people)
    >>> found.verdict
    'no'
    """
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 < margin < 1:
        raise OptionError(
            Message(Option("margin", margin)), "give a number between 0 and 1", value=margin, option="margin"
        )
    labels = fit.table("raters")["rater"].cast(pl.String).to_list()
    judge = choose("rater", str(judge), labels, "judge")
    chosen = _people(fit, judge, people, labels)
    calibration = fit.calibrated("there is no capability to compare")
    if ratings is not None and ratings.n_categories > 2:
        test = alt_test(ratings, judge, chosen, epsilon=epsilon)
        return _ordered(fit, ratings, judge, chosen, float(margin), test)
    if ratings is not None:
        alone = {**ALONE, "anchors": None, "reference": None, "origin": None, "standard_errors": True}
        fit = fit.refit(only(ratings, [judge, *chosen]), **alone)  # type: ignore[arg-type]
    elif calibration.known_slope is None and fit.config.trusted is None:
        raise OptionError(
            "this fit is on its panel's own scale, where judges vouch for each other",
            Message(
                "give the ratings too: rl.can_replace(fit, judge, ratings, ...); or fit with ",
                Option("trusted", chosen[:2]),
            ),
            option="ratings",
        )
    elif calibration.covariance is None:
        raise OptionError(
            "this fit has no standard errors", Message("fit with ", Option("standard_errors", True)),
            option="standard_errors",
        )  # fmt: skip
    panel = _Panel.of(fit, judge, chosen)
    return Replacement(
        judge,
        tuple(chosen),
        float(margin),
        panel.difference,
        *panel.ends(),
        float(special.ndtr(-panel.z(margin))),
        panel.table(fit),
        None if ratings is None else alt_test(ratings, judge, chosen, epsilon=epsilon),
        fit.backend,
    )


def _ordered(
    fit: "Fit", ratings: Ratings, judge: str, people: list[str], margin: float, test: AltTest
) -> Replacement:
    """By sharpness on the scale of the other people, whom neither the judge nor the person compared has a say in."""
    if len(people) < 2:
        raise OptionError(
            "one person's ordered scores do not tell how sharp that person is",
            Message("name at least two ", Option("people")),
            value=people[0],
            option="people",
        )
    shared = [_shared(fit, ratings, judge, person, people) for person in people]
    found = sharpness_beside(shared, ratings.n_students)
    low, high = (found.difference + side * ONE_SIDED * found.error for side in (-1, 1))
    spread = found.bootstraps.std(axis=1)
    each = found.judge_beside - found.value[1:]
    apart = (found.judge_beside_bootstraps - found.bootstraps[1:]).std(axis=1)
    labels = ratings.raters.cast(pl.String).to_list()
    n = ratings.tally("rater").n[[labels.index(name) for name in (judge, *people)]]
    table = pl.DataFrame(
        {
            "rater": [judge, *people],
            "n": n,
            "sharpness": found.value,
            "sharpness_low": np.maximum(found.value - TWO_SIDED * spread, -1.0),
            "sharpness_high": np.minimum(found.value + TWO_SIDED * spread, 1.0),
            "difference": [None, *each.tolist()],
            "difference_low": [None, *(each - TWO_SIDED * apart).tolist()],
            "difference_high": [None, *(each + TWO_SIDED * apart).tolist()],
        }
    )
    p = float(special.ndtr(-(found.difference + margin) / max(found.error, _NOTHING)))
    return Replacement(
        judge, tuple(people), margin, found.difference, low, high, p, table, test, fit.backend, "sharpness"
    )


def _shared(fit: "Fit", ratings: Ratings, judge: str, person: str, people: list[str]) -> Shared:
    """What the judge and this person both rated, with abilities from the others' ratings alone."""
    others = [name for name in people if name != person]
    alone = {**ALONE, "anchors": None, "reference": None, "origin": None, "standard_errors": False}
    known = fit.refit(only(ratings, others), **alone).table("students")  # type: ignore[arg-type]
    abilities = known.select(pl.col("student").cast(pl.String), "theta", "theta_se").drop_nulls()

    def of(rater: str, name: str) -> pl.DataFrame:
        part = only(ratings, [rater])
        table = {
            "student": part.students.cast(pl.String).gather(part.student),
            "item": part.items.cast(pl.String).gather(part.item),
            name: part.score.astype(np.float64),
        }
        return pl.DataFrame(table).group_by("student", "item").agg(pl.col(name).mean())

    both = of(judge, "judge").join(of(person, "person"), on=["student", "item"]).join(abilities, on="student")
    if both.height < FEWEST_SHARED:
        raise InputError(
            f"{judge} and {person} rated {counted(both.height, 'piece')} of work that other people rated too",
            f"have them rate at least {FEWEST_SHARED}",
            value=both.height,
            option="people",
        )
    both = both.sort("student", "item")
    places = pl.DataFrame({"student": ratings.students.cast(pl.String)}).with_row_index("place")
    student = both.join(places, on="student", maintain_order="left")["place"].to_numpy().astype(np.int64)
    numbers = (both[name].to_numpy() for name in ("judge", "person", "theta", "theta_se"))
    return Shared(student, both["item"].rank("dense").to_numpy().astype(np.int64), *numbers)


def _people(fit: "Fit", judge: str, people: Sequence[str] | None, labels: list[str]) -> list[str]:
    named = fit.config.trusted if people is None else [people] if isinstance(people, str) else people
    if not named:
        raise OptionError(
            "nobody is named whom the judge would stand in for",
            Message("name them, for example ", Option("people", ["Ann", "Bob"])),
            option="people",
        )
    chosen = [choose("rater", str(name), labels, "people") for name in dict.fromkeys(named)]
    if judge in chosen:
        raise OptionError(
            f"{judge!r} is among the people", "leave it out of them", value=judge, option="people"
        )
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class _Panel:
    """The judge (first) and the people, and draws of what their capabilities could be."""

    raters: list[str]
    rows: NDArray[np.int64]
    """Their places in the fit."""
    on: Measured
    index: Index
    drawn: Array
    """(raters, draws) capabilities"""

    @staticmethod
    def of(fit: "Fit", judge: str, people: list[str]) -> "_Panel":
        raters = [judge, *people]
        labels = fit.table("raters")["rater"].cast(pl.String).to_list()
        rows = np.array([labels.index(name) for name in raters])
        where = measured_fit(fit, Yardstick(PERFECT, fit.yardstick.population))
        mean = np.zeros(len(labels))
        mean[rows[1:]] = 1 / len(people)
        on = measure(where.panel, where.sigma, Measure(0.0, mean), is_most=False).of(rows)
        a, severity, halo = _drawn(where.panel, on, rows)
        eta = severity - severity[1:].mean(axis=0)
        return _Panel(raters, rows, on, where.index, where.index.kappa(a, eta, np.ones_like(a), halo))

    @property
    def kappa(self) -> Array:
        return self.index.kappa(self.on.a, self.on.eta, self.on.sigmas, self.on.halos)

    @property
    def difference(self) -> float:
        return _lead(self.kappa)

    def z(self, margin: float) -> float:
        """Of the test at a margin."""

        def statistic(kappa: Array) -> Array:
            return _steadied(kappa[0]) - _steadied(kappa[1:].mean(axis=0) - margin)

        found, drawn = float(statistic(self.kappa)), statistic(self.drawn)
        return float((2 * found - drawn.mean()) / max(float(drawn.std()), _NOTHING))

    def ends(self) -> tuple[float, float]:
        """Of the difference: the margins at which the test turns, one-sided at 5 % either way."""
        return tuple(
            -optimize.brentq(lambda margin, at=at: self.z(margin) - at, -_WIDEST, _WIDEST, xtol=1e-5)
            if self.z(-_WIDEST) < at < self.z(_WIDEST)
            else -_WIDEST * np.sign(at - self.z(0.0))
            for at in (ONE_SIDED, -ONE_SIDED)
        )

    def table(self, fit: "Fit") -> pl.DataFrame:
        found = rater_estimates(fit.calibrated("").panel(), self.on, self.index)
        each = found.kappa[0] - found.kappa[1:]
        low, high = np.quantile(self.drawn[0] - self.drawn[1:], [0.025, 0.975], axis=1)

        def beside(values: Array) -> pl.Series:
            return pl.Series([None, *values.tolist()], dtype=pl.Float64)

        return pl.DataFrame(
            {
                "rater": self.raters,
                "n": fit.table("raters")["n"].gather(self.rows),
                "kappa": found.kappa,
                "kappa_low": found.kappa_low,
                "kappa_high": found.kappa_high,
                "sharpness": found.sharpness,
                "passes": standards(self.on, self.index).passes,
                "difference": beside(each),
                "difference_low": beside(low),
                "difference_high": beside(high),
            }
        )


def _lead(kappa: Array) -> float:
    return float(kappa[0] - kappa[1:].mean())


def _steadied(kappa: Array) -> Array:
    """The scale on which the error of a capability hardly depends on its size."""
    return np.asarray(-np.log1p(-np.minimum(kappa, _SHARPEST)))


def _drawn(panel: Panel, on: Measured, rows: NDArray[np.int64]) -> tuple[Array, Array, Array | float]:
    """(raters, draws): slopes, severities and halos of some raters, from their joint normal approximation."""
    n = len(panel.slope)
    kinds = np.concatenate([rows, n + rows])
    assert panel.covariance is not None
    centre, spread = np.concatenate([on.a, panel.severity[rows]]), _block(panel.covariance, kinds, kinds)
    if panel.halo is not None and panel.halo_covariance is not None:
        of_halo = _block(panel.halo_covariance, rows, np.concatenate([kinds, 2 * n + rows]))
        centre = np.concatenate([centre, panel.halo[rows]])
        spread = np.block([[spread, of_halo[:, : len(kinds)].T], [of_halo]])
    values, vectors = np.linalg.eigh(spread)
    half = np.random.default_rng(20250212).standard_normal((_DRAWS // 2, len(centre)))
    normal = np.concatenate([half, -half])
    moved = centre[:, None] + (vectors * np.sqrt(np.maximum(values, 0.0))) @ normal.T
    a, severity, *halo = np.split(moved, len(centre) // len(rows))
    a = a if (on.a < 0).any() else np.maximum(a, 0.0)
    return a, severity, np.maximum(halo[0], 0.0) if halo else on.halos


def _block(matrix: Any, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Array:
    found = matrix[rows][:, columns]
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray())
