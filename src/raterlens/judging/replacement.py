"""Judges on the scale that people's agreement sets, without a say of their own in it.

Behind an ordered score lies a normal variable that is cut at thresholds of the rater's own. Two raters a and b who see
the quality of a piece of work with sharpness s_a and s_b, and err independently, have the latent correlation

    rho_ab = s_a s_b,      cov(y_a, y_b) = sum_kl g_ak g_bl int_0^rho phi(tau_ak, tau_bl; r) dr

with g the steps between scores and tau the thresholds, from each rater's shares of scores on the work that both rated
(for pass/fail, rho is the tetrachoric correlation). One factor of the people's correlations gives their sharpness; a
judge's is then a least-squares slope on it. So a judge who flips coins between the ends of the scale correlates with
nobody, one who uses two of five scores loses only what that costs, and judges cannot vouch for each other.

For pass/fail, t is a rater's threshold less the people's mean, on the same work, and `kappa = s exp(-t^2 / 2)`: the
capability against a rater without noise. Errors come from a jackknife over groups of students.

May a judge stand in for a person? With kappa the capability (sharpness for ordered scores),

    H0: kappa_judge <= mean kappa_people - margin,     z = (difference + margin) / se

with the jackknife's standard error and its correction for bias. Not rejecting is not proof of the contrary, so there
are three verdicts.

The alternative annotator test of Calderon, Reichart and Dror (2025) leaves out each person in turn. On every piece of
work that this person, the judge and at least one other person judged, the one that agrees better with the others
wins; a tie is a win for both. With W the indicator of a win, the judge's share of wins rho_f is tested against the
person's rho_h:
    H0: rho_f <= rho_h - epsilon        one-sided paired t test of W_h - W_f against epsilon

epsilon is what a person costs more than the judge. The hypotheses are tested together (Benjamini and Yekutieli 2001, as
they share the judge); the winning rate omega is the share of people whose hypothesis is rejected, and the judge may
replace annotators where omega >= 0.5. The test takes what the others say for the truth: raters who share a bias confirm
each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed, number
from raterlens.judging.gate import beside
from raterlens.judging.judges import Measure
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

GROUPS = 100
"""Number of groups of students for the jackknife: its standard errors are known to 7 %."""
FEWEST_SHARED = 20
"""Pieces of work that two raters must share to be compared."""
_PER_ITEM = 30
"""Scores per rater and item from which on each item has thresholds of its own."""
_ITEMS_APART = 4
"""Items that each item is paired with: all pairs of many items cost time and tell little more."""
_STRONGEST = float(np.arcsin(0.99))
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
MARGIN = 0.1
ONE_SIDED = float(special.ndtri(0.95))
EPSILON = 0.2
"""For experts; the authors suggest 0.15 for skilled annotators and 0.1 for crowd workers."""
_LEVEL = 0.05
_ENOUGH_WINS = 0.5
FEWEST_WITH_OTHERS = 30
"""Pieces of work per person, for a normal approximation."""
_LEAST_SHARPNESS = 0.2
Verdict = Literal["yes", "no", "unclear"]


@dataclass(frozen=True, slots=True, eq=False)
class OnPeopleScale:
    """(raters, 1 + groups) each: the estimate, then without each group of students. People come first."""

    sharpness: Array
    severity: Array
    n_shared: Indices
    """(raters,) pieces of work shared with people; for a person, with other people."""
    pass_fail: bool

    @property
    def capability(self) -> Array:
        """Against a rater without noise, the people's mean severity being 0; sharpness for ordered scores."""
        return self.sharpness * np.exp(-(self.severity**2) / 2) if self.pass_fail else self.sharpness


def jackknife_error(replicates: Array) -> Array:
    """Standard error of (..., 1 + groups): the estimate, then without each group."""
    each = replicates[..., 1:]
    n = each.shape[-1]
    return np.asarray(np.sqrt((n - 1) * each.var(axis=-1)))


def jackknife_bias(replicates: Array) -> Array:
    """By how much the estimate is expected to exceed the truth."""
    each = replicates[..., 1:]
    return np.asarray((each.shape[-1] - 1) * (each.mean(axis=-1) - replicates[..., 0]))


def fisher_measure(replicates: Array) -> Measure:
    """Numbers between -1 and 1, with 95 % intervals that are symmetric on Fisher's scale."""
    inside = np.clip(replicates[..., 0], -0.999, 0.999)
    half, middle = NORMAL_95 * jackknife_error(replicates) / (1 - inside**2), np.arctanh(inside)
    return Measure(replicates[..., 0], np.tanh(middle - half), np.tanh(middle + half))


def measure_on_people_scale(ratings: Ratings, people: Sequence[int], judges: Sequence[int]) -> OnPeopleScale:
    """Measure people against each other, and judges (codes of raters) against the people."""
    raters = [*people, *judges]
    table = _Scores.of(ratings, raters)
    n_people = len(people)
    rho = np.zeros((len(raters), n_people, table.n_groups + 1))
    apart, shared = np.zeros_like(rho), np.zeros((len(raters), n_people))
    for one in range(len(raters)):
        for other in range(min(one, n_people)):
            shared[one, other], rho[one, other], apart[one, other] = table.compare(one, other)
            if one < n_people:
                shared[other, one], rho[other, one] = shared[one, other], rho[one, other]
                apart[other, one] = -apart[one, other]
    own = slice(0, n_people)
    sharpness = np.zeros((len(raters), table.n_groups + 1))
    sharpness[own] = _one_factor(rho[own], shared[own])
    severity = np.zeros_like(sharpness)
    severity[own] = _levels(apart[own], shared[own])
    w = shared[n_people:, :, None]
    with np.errstate(invalid="ignore", divide="ignore"):
        sharpness[n_people:] = (w * rho[n_people:] * sharpness[own]).sum(axis=1) / (
            w * sharpness[own] ** 2
        ).sum(axis=1)
        severity[n_people:] = (w * (apart[n_people:] + severity[own])).sum(axis=1) / w.sum(axis=1)
    np.clip(sharpness, -1.0, 1.0, out=sharpness)
    return OnPeopleScale(sharpness, severity, shared.sum(axis=1).astype(np.int64), ratings.n_categories == 2)


@dataclass(frozen=True, slots=True, eq=False)
class _Scores:
    """Scores by rater and item: units of work in order, each with its score."""

    units: list[list[Indices]]
    scores: list[list[Array]]
    group: Indices
    """(units,) of the jackknife"""
    n_groups: int

    @classmethod
    def of(cls, ratings: Ratings, raters: Sequence[int]) -> "_Scores":
        n_groups = min(GROUPS, ratings.n_students)
        group = np.random.default_rng(20250212).permutation(ratings.n_students) % n_groups
        piece = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
        by_item = ratings.n_ratings >= _PER_ITEM * ratings.n_items * len(raters)
        n_items = ratings.n_items if by_item else 1
        units: list[list[Indices]] = []
        scores: list[list[Array]] = []
        for rater in raters:
            rows = np.flatnonzero(ratings.rater == rater)
            own, place = np.unique(piece[rows], return_inverse=True)
            # several draws on one piece of work are one score, their mean
            mean = np.bincount(place, ratings.score[rows]) / np.bincount(place)
            item = own % ratings.n_items if by_item else np.zeros(len(own), dtype=np.int64)
            unit = own // ratings.n_items if by_item else own
            units.append([unit[item == each] for each in range(n_items)])
            scores.append([mean[item == each] for each in range(n_items)])
        whose = group if by_item else np.repeat(group, ratings.n_items)
        return cls(units, scores, whose, n_groups)

    def compare(self, one: int, other: int) -> tuple[float, Array, Array]:
        """How many units two raters share, their latent correlation, and how much higher the thresholds of the first
        are: (1 + groups,) each, means over items. Scores on different items of a student are correlated, too."""
        n_items = len(self.units[one])
        rho, apart = np.zeros((2, self.n_groups + 1))
        total, same = 0, 0
        for item in range(n_items):
            for further in range(min(n_items, _ITEMS_APART)):
                match = (item + further) % n_items
                both, left, right = np.intersect1d(
                    self.units[one][item], self.units[other][match], assume_unique=True, return_indices=True
                )
                if (n := len(both)) < FEWEST_SHARED:
                    continue
                a, b = self.scores[one][item][left], self.scores[other][match][right]
                pair = _pair(a, b, self.group[both], self.n_groups)
                rho, total = rho + n * pair[0], total + n
                if item == match:
                    apart, same = apart + n * pair[1], same + n
        return float(same), rho / max(total, 1), apart / max(same, 1)


def _pair(a: Array, b: Array, group: Indices, n_groups: int) -> tuple[Array, Array]:
    """(1 + groups,): latent correlation, and difference of the mean thresholds."""

    def without_each(values: Array) -> Array:
        by_group = np.bincount(group, values, n_groups)
        return np.concatenate([[values.sum()], values.sum() - by_group])

    n = np.maximum(without_each(np.ones(len(a))), 1.0)
    (step_a, tau_a), (step_b, tau_b) = (_thresholds(scores, n, without_each) for scores in (a, b))
    apart = np.asarray(tau_a.mean(axis=0) - tau_b.mean(axis=0))
    if not (len(step_a) and len(step_b)):
        return np.zeros(n_groups + 1), apart
    covariance = without_each(a * b) / n - without_each(a) * without_each(b) / n**2
    return latent_correlation(covariance, (step_a, tau_a), (step_b, tau_b)), apart


def _thresholds(scores: Array, n: Array, without_each: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Steps between scores, and (steps, 1 + groups) thresholds; half a rating keeps them finite. Whoever gives only one
    score has no steps, and a threshold beyond everybody's."""
    levels = np.unique(scores)
    if len(levels) == 1:
        beyond = special.ndtri(0.5 / (n + 1))
        return np.zeros(0), np.asarray(beyond if levels[0] > 0 else -beyond)[None]
    below = np.array([without_each((scores <= level).astype(np.float64)) for level in levels[:-1]])
    return np.diff(levels), np.asarray(special.ndtri((below + 0.5) / (n + 1)))


def latent_correlation(covariance: Array, one: tuple[Array, Array], other: tuple[Array, Array]) -> Array:
    """The correlation behind ordered scores that gives their covariance, by Newton's method in arcsin(rho).

    `one` and `other` have the steps between scores (k,) and the thresholds (k, replicates). Replicates after the first
    start from it, so that few steps do."""
    (g, h), (f, k) = one, other
    first = _newton(covariance[:1], (g, h[:, :1]), (f, k[:, :1]), np.zeros(1), 30)
    start = np.full(len(covariance), first[0])
    return np.asarray(np.sin(_newton(covariance, one, other, start, 3)))


def _newton(
    covariance: Array, one: tuple[Array, Array], other: tuple[Array, Array], angle: Array, steps: int
) -> Array:
    (g, h), (f, k) = one, other
    weights = (g[:, None] * f)[:, :, None] / (2 * np.pi)
    squares = (h[:, None] ** 2 + k[None] ** 2) / 2
    products = h[:, None] * k[None]

    def height(at: Array) -> Array:
        return np.asarray(
            (weights * np.exp((products * np.sin(at) - squares) / np.cos(at) ** 2)).sum(axis=(0, 1))
        )

    for _ in range(steps):
        area = sum(w * height(angle * (x + 1) / 2) for x, w in zip(_NODES, _WEIGHTS, strict=True)) * angle / 2
        step = np.clip((covariance - area) / np.maximum(height(angle), 1e-12), -0.5, 0.5)
        angle = np.clip(angle + step, -_STRONGEST, _STRONGEST)
        if np.max(np.abs(step)) < 1e-9:
            break
    return np.asarray(angle)


def _one_factor(rho: Array, shared: Array) -> Array:
    """(people, replicates) sharpness: rho_pq = s_p s_q by weighted least squares. One person is the scale."""
    n = len(rho)
    if n == 1:
        return np.ones((1, rho.shape[2]))
    w = shared[:, :, None]
    mean = (w * rho).sum(axis=(0, 1)) / max(float(shared.sum()), 1.0)
    found = np.repeat(np.sqrt(np.maximum(mean, 1e-4))[None], n, axis=0)
    if n == 2:
        return found
    for _ in range(200):
        fitted = (w * rho * found).sum(axis=1) / np.maximum((w * found**2).sum(axis=1), 1e-9)
        moved = np.clip((found + fitted) / 2, 0.0, 1.0)
        if np.max(np.abs(moved - found)) < 1e-9:
            break
        found = moved
    return np.asarray(found)


def _levels(apart: Array, shared: Array) -> Array:
    """(people, replicates) severities with mean 0 whose differences fit those of pairs, weighted by shared work."""
    laplacian = np.diag(shared.sum(axis=1)) - shared
    return np.asarray(
        np.einsum("pq,qrg->pg", np.linalg.pinv(laplacian), shared[:, :, None] * apart, optimize=True)
    )


# --------------------------------------------------------------------------- may a judge stand in for a person?


@dataclass(frozen=True, slots=True, eq=False)
class AltTest:
    """The judge against each person."""

    table: pl.DataFrame
    """A row per person: rater, n (pieces of work), judge_wins, person_wins (a tie counts for both), p, beaten."""
    epsilon: float

    @property
    def winning_rate(self) -> float:
        """omega: the share of people against whom the judge holds; not-a-number where nobody could be left out."""
        return self._mean("beaten")

    @property
    def advantage(self) -> float:
        """rho: the judge's mean share of wins."""
        return self._mean("judge_wins")

    def _mean(self, column: str) -> float:
        return float(np.mean(self.table[column].to_numpy())) if self.table.height else float("nan")

    @property
    def passed(self) -> bool:
        return self.winning_rate >= _ENOUGH_WINS

    def words(self) -> str:
        """One sentence."""
        if not self.table.height:
            return (
                f"The alt-test says nothing: no person shares {FEWEST_WITH_OTHERS} pieces of work with the judge and "
                "another person."
            )
        held = int(self.table["beaten"].sum())
        verdict = "it may replace people" if self.passed else "it may not replace people"
        return (
            f"By the alt-test (epsilon {self.epsilon:g}), which takes people for the truth, {verdict}: winning rate "
            f"{self.winning_rate:.2f} ({held} of {self.table.height}), advantage {self.advantage:.2f}."
        )


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
    """Probability that a judge who is worse by the margin does as well as this."""
    table: pl.DataFrame
    """A row per rater, the judge first: rater, n (work shared with people), sharpness and kappa (capability against a
    rater without noise; pass/fail only), each with its 95 % interval, passes (share, where the people's average passes
    half), and difference (judge less this person) with its 95 % interval."""
    alt_test: AltTest
    """The published test on the same ratings."""
    backend: Backend = "polars"
    measure: str = "capability"
    """Measure that is compared: `capability`, or `sharpness` for ordered scores."""

    @property
    def verdict(self) -> Verdict:
        """`yes`: worse by less than the margin, if at all. `no`: worse by more. `unclear`: the ratings fit both."""
        return "yes" if self.low > -self.margin else "no" if self.high < -self.margin else "unclear"

    def __bool__(self) -> bool:
        """Whether the judge may stand in for a person."""
        return self.verdict == "yes"

    @property
    def _column(self) -> str:
        return "kappa" if self.measure == "capability" else "sharpness"

    @property
    def raters(self) -> Any:
        """`table` as the kind of dataframe that came in."""
        return to_backend(self.table, self.backend)

    def numbers(self) -> dict[str, Any]:
        """Numbers for programs."""
        names = ("judge", "verdict", "margin", "difference", "low", "high", "p")
        found = {name: getattr(self, name) for name in names}
        return found | {"alt_test_winning_rate": self.alt_test.winning_rate}

    def words(self) -> list[str]:
        """The verdict, what it rests on, and the published test's."""
        judge, *people = self.table[self._column].to_list()
        sharp = self.measure == "sharpness"
        more, less = ("sharper", "less sharp") if sharp else ("more capable", "less capable")
        margin = f"the margin of {self.margin:g}"
        answer = {
            "yes": f"{self.judge} may stand in for a person: it is {more} than the people's mean"
            if self.low >= 0
            else f"{self.judge} may stand in for a person: it is at most {beside(-self.low, self.margin)} {less}, "
            f"within {margin}",
            "no": f"{self.judge} may not stand in for a person: it is at least {beside(-self.high, self.margin)} "
            f"{less}, beyond {margin}",
            "unclear": f"It is not clear whether {self.judge} may stand in for a person: the ratings fit a loss within "
            f"{margin} and one beyond it; have it judge more work that people judge too",
        }[self.verdict]
        numbers = (
            f"{self.measure.capitalize()} {number(judge)} against {number(float(np.mean(people)))} of "
            f"{counted(len(people), 'person', 'people')} ({listed(self.people, 4)}): difference "
            f"{self.difference:+.2f}, between {self.low:+.2f} and {self.high:+.2f} (each with 95 % confidence; p = "
            f"{self.p:.2g})."
        )
        return [f"{answer}.", numbers, self.alt_test.words()]

    def summary(self) -> str:
        """The verdict in plain words."""
        return "\n".join(self.words())

    def __repr__(self) -> str:
        return f"<Replacement of people by {self.judge!r}: {self.verdict}; see summary()>"

    def _repr_html_(self) -> str:
        heading, *rest = self.words()
        columns = ("rater", *(f"{self._column}{end}" for end in ("", "_low", "_high")))
        points: list[Point] = [
            (str(label), *numbers) for label, *numbers in self.table.select(columns).iter_rows()
        ]
        return shown(heading, lines(rest), intervals(points, (0.0, 1.0), self.measure))


def can_replace(
    source: "Ratings | Fit",
    judge: str,
    ratings: Ratings | None = None,
    *,
    people: Sequence[str] | None = None,
    margin: float = MARGIN,
    epsilon: float = EPSILON,
) -> Replacement:
    """Test whether a judge may stand in for a person, on the scale of people.

    Parameters
    ----------
    source
        The ratings, or a fit of them whose trusted raters are the people.
    judge
        The rater in question.
    ratings
        The ratings, where `source` is a fit that was loaded from a file.
    people
        Whom the judge would stand in for, at least two; the trusted raters where left out. Their agreement with each
        other sets the scale; no judge has a say in it.
    margin
        How much less capable than the people's mean the judge may be. Capability is that of `reference="perfect"`,
        1 for a rater without noise, with severity counted from the people's average. For ordered scores it is
        sharpness: the correlation with quality, whatever thresholds a rater uses.
    epsilon
        For the alt-test: what the judge's lower cost is worth.

    Returns
    -------
    Replacement
        `verdict` (yes, no or unclear), which is also its truth value (only yes is true), `difference`, `p`, `raters`,
        `alt_test`, `summary()`. A judge who is worse by the margin gets a yes in about 5 of 100 cases.

    Examples
    --------
    >>> import raterlens as rl
    >>> ratings = rl.load_example()
    >>> people = ["CO:School", "CO:Family", "BE:School"]
    >>> found = rl.can_replace(ratings, "AM:Sport", people=people)
    >>> found.verdict
    'no'
    """
    if not isinstance(margin, int | float) or isinstance(margin, bool) or not 0 < margin < 1:
        raise OptionError(Message(Option("margin", margin)), "give a number between 0 and 1")
    data = source if isinstance(source, Ratings) else ratings or source.ratings
    if data is None:
        what = "this fit was loaded from a file, which does not contain the ratings"
        raise OptionError(what, "give them: rl.can_replace(ratings, judge, people=...)", option="ratings")
    named = people
    if named is None:
        named = source.trusted if isinstance(source, Ratings) else source.config.trusted
    labels = data.raters.cast(pl.String).to_list()
    judge = choose("rater", str(judge), labels, "judge")
    chosen = _people(judge, named, labels)
    codes = [labels.index(name) for name in chosen]
    found = measure_on_people_scale(data, codes, [labels.index(judge)])
    return replacement(data, found, judge, chosen, len(chosen), margin=float(margin), epsilon=epsilon)


def replacement(
    ratings: Ratings,
    found: OnPeopleScale,
    judge: str,
    people: Sequence[str],
    place: int,
    *,
    margin: float = MARGIN,
    epsilon: float = EPSILON,
) -> Replacement:
    """`can_replace` from measures on the people's scale, in which people come first and the judge is at `place`."""
    check_scale(found, people)
    if (n := int(found.n_shared[place])) < FEWEST_SHARED:
        what = f"{judge} and the people rated {counted(n, 'piece')} of work in common"
        remedy = f"have {judge} rate at least {FEWEST_SHARED} that people rated too"
        raise InputError(what, remedy, value=n, option="people")
    rows = [place, *range(len(people))]
    kappa, sharpness = found.capability[rows], found.sharpness[rows]
    ahead = kappa[0] - kappa[1:].mean(axis=0)
    difference = float(np.clip(ahead[0] - jackknife_bias(ahead), -2.0, 2.0))
    error = max(float(jackknife_error(ahead)), 1e-9)
    each = kappa[0] - kappa[1:]
    half = NORMAL_95 * jackknife_error(each)
    columns: dict[str, Any] = {"rater": [judge, *people], "n": found.n_shared[rows]}
    columns |= fisher_measure(sharpness).columns("sharpness")
    if found.pass_fail:
        columns |= fisher_measure(kappa).columns("kappa") | {"passes": special.ndtr(-found.severity[rows, 0])}
    apart = Measure(each[:, 0], each[:, 0] - half, each[:, 0] + half).columns("difference")
    columns |= {name: pl.Series([None, *values], dtype=pl.Float64) for name, values in apart.items()}
    return Replacement(
        judge,
        tuple(people),
        margin,
        difference,
        *(difference - ONE_SIDED * error, difference + ONE_SIDED * error),
        p=float(special.ndtr(-(difference + margin) / error)),
        table=pl.DataFrame(columns),
        alt_test=alt_test(ratings, judge, people, epsilon=epsilon),
        backend=ratings.backend,
        measure="capability" if found.pass_fail else "sharpness",
    )


def check_scale(found: OnPeopleScale, people: Sequence[str]) -> None:
    """Raise where the people's ratings set no scale."""
    who = f"the people ({listed(people, 4)})"
    if len(people) > 1 and not found.n_shared[: len(people)].sum():
        what = f"no two of {who} rated {FEWEST_SHARED} pieces of work in common"
        remedy = "have some work rated by two or more of them: their agreement sets the scale"
        raise InputError(what, remedy, option="people")
    if float(found.sharpness[: len(people), 0].mean()) < _LEAST_SHARPNESS:
        what = f"{who} agree with each other hardly better than chance, so they set no scale"
        raise InputError(
            what, "look into their ratings first, or give known answers instead", option="people"
        )


def _people(judge: str, named: Sequence[str] | str | None, labels: list[str]) -> list[str]:
    if not named:
        remedy = Message("name them, for example ", Option("people", ["Ann", "Bob"]))
        raise OptionError("nobody is named whom the judge would stand in for", remedy)
    several = [named] if isinstance(named, str) else named
    chosen = [choose("rater", str(name), labels, "people") for name in dict.fromkeys(several)]
    if judge in chosen:
        what = f"{judge!r} is among the people"
        raise OptionError(what, "leave it out of them", value=judge, option="people")
    if len(chosen) < 2:
        what = f"one person's ratings do not tell how good {chosen[0]} is"
        raise OptionError(what, Message("name at least two ", Option("people")), value=chosen[0])
    return chosen


def alt_test(ratings: Ratings, judge: str, people: Sequence[str], *, epsilon: float = EPSILON) -> AltTest:
    """Leave one person out at a time; pieces of work are student-items, each with a rater's first score."""
    scores = _scores(ratings, [judge, *people])
    by_judge, by_people = scores[:, 0], scores[:, 1:]
    rows = []
    for place, person in enumerate(people):
        others, own = np.delete(by_people, place, axis=1), by_people[:, place]
        usable = np.isfinite(by_judge) & np.isfinite(own) & np.isfinite(others).any(axis=1)
        if usable.sum() < FEWEST_WITH_OTHERS:
            continue
        of_judge, of_person = (_agreement(one[usable], others[usable]) for one in (by_judge, own))
        judge_wins, person_wins = of_judge >= of_person, of_person >= of_judge
        p = _t_test(person_wins.astype(np.float64) - judge_wins, epsilon)
        rows.append((person, int(usable.sum()), float(judge_wins.mean()), float(person_wins.mean()), p))
    shares = dict.fromkeys(("judge_wins", "person_wins", "p"), pl.Float64)
    table = pl.DataFrame(rows, schema={"rater": pl.String, "n": pl.Int64, **shares}, orient="row")
    p_all = table["p"].to_numpy()
    beaten = stats.false_discovery_control(p_all, method="by") < _LEVEL if len(p_all) else np.zeros(0, bool)
    return AltTest(table.with_columns(pl.Series("beaten", beaten, dtype=pl.Boolean)), epsilon)


def _scores(ratings: Ratings, raters: Sequence[str]) -> Array:
    """(student-items, raters): the first score of each, NaN where there is none."""
    labels = ratings.raters.cast(pl.String).to_list()
    codes = [labels.index(choose("rater of the ratings", rater, labels, "judge")) for rater in raters]
    key = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    given = pl.DataFrame({"piece": key, "rater": ratings.rater, "score": ratings.score.astype(np.float64)})
    of_each = given.pivot("rater", index="piece", values="score", aggregate_function="first")
    return of_each.select(str(code) for code in codes).fill_null(np.nan).to_numpy()


def _agreement(own: Array, others: Array) -> Array:
    """(pieces,): minus the root mean square distance from the others; for pass and fail it orders as the share of them
    who say the same."""
    return np.asarray(-np.sqrt(np.nanmean((own[:, None] - others) ** 2, axis=1)))


def _t_test(lead: Array, epsilon: float) -> float:
    """P-value of the person's lead being at least epsilon."""
    n, spread = len(lead), float(lead.std(ddof=1))
    if spread == 0:
        return 0.0 if lead[0] < epsilon else 1.0
    return float(special.stdtr(n - 1, (lead.mean() - epsilon) / (spread / np.sqrt(n))))
