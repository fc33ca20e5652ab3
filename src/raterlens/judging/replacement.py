"""May a judge stand in for a person? A test of non-inferiority on the people's scale, and the alt-test beside it.

The judge and the people are measured by `people_scale`. With kappa the capability (sharpness for ordered scores),

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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl
from scipy import special, stats

from raterlens.base.arrays import Array
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.notebook import Point, intervals, lines, shown
from raterlens.base.text import Message, Option, counted, listed, number
from raterlens.judging.people_scale import (
    FEWEST_SHARED,
    OnPeopleScale,
    fisher_interval,
    jackknife_bias,
    jackknife_error,
    measure_on_people_scale,
)
from raterlens.ratings.coded import Backend, Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

MARGIN = 0.1
ONE_SIDED = float(special.ndtri(0.95))
TWO_SIDED = float(special.ndtri(0.975))
EPSILON = 0.2
"""For experts; the authors suggest 0.15 for skilled annotators and 0.1 for crowd workers."""
_LEVEL = 0.05
_ENOUGH_WINS = 0.5
FEWEST_WITH_OTHERS = 30
"""Pieces of work per person, for a normal approximation."""
_LEAST_SHARPNESS = 0.2
Verdict = Literal["yes", "no", "unclear"]


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
    def raters(self) -> Any:
        """`table` as the kind of dataframe that came in."""
        return to_backend(self.table, self.backend)

    def numbers(self) -> dict[str, Any]:
        """Numbers for programs."""
        names = ("judge", "verdict", "margin", "difference", "low", "high", "p")
        return {name: getattr(self, name) for name in names} | {
            "alt_test_winning_rate": self.alt_test.winning_rate
        }

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
        return [f"{answer}: {why}.", numbers, self.alt_test.words()]

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
        raise OptionError(
            Message(Option("margin", margin)), "give a number between 0 and 1", value=margin, option="margin"
        )
    data = source if isinstance(source, Ratings) else ratings or source.ratings
    if data is None:
        raise OptionError(
            "this fit was loaded from a file, which does not contain the ratings",
            "give them instead: rl.can_replace(ratings, judge, people=...)",
            option="ratings",
        )
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
    if found.n_shared[place] < FEWEST_SHARED:
        raise InputError(
            f"{judge} and the people rated {counted(int(found.n_shared[place]), 'piece')} of work in common",
            f"have {judge} rate at least {FEWEST_SHARED} that people rated too",
            value=int(found.n_shared[place]),
            option="people",
        )
    rows = [place, *range(len(people))]
    kappa, sharpness = found.capability[rows], found.sharpness[rows]
    ahead = kappa[0] - kappa[1:].mean(axis=0)
    difference = float(np.clip(ahead[0] - jackknife_bias(ahead), -2.0, 2.0))
    error = max(float(jackknife_error(ahead)), 1e-9)
    each = kappa[0] - kappa[1:]
    half = TWO_SIDED * jackknife_error(each)
    columns: dict[str, Any] = {"rater": [judge, *people], "n": found.n_shared[rows]}
    for name, numbers in {"sharpness": sharpness, **({"kappa": kappa} if found.pass_fail else {})}.items():
        low, high = fisher_interval(numbers)
        columns |= {name: numbers[:, 0], f"{name}_low": low, f"{name}_high": high}
    if found.pass_fail:
        columns["passes"] = special.ndtr(-found.severity[rows, 0])
    for name, values in {
        "difference": each[:, 0],
        "difference_low": each[:, 0] - half,
        "difference_high": each[:, 0] + half,
    }.items():
        columns[name] = pl.Series([None, *values.tolist()], dtype=pl.Float64)
    return Replacement(
        judge,
        tuple(people),
        margin,
        difference,
        difference - ONE_SIDED * error,
        difference + ONE_SIDED * error,
        float(special.ndtr(-(difference + margin) / error)),
        pl.DataFrame(columns),
        alt_test(ratings, judge, people, epsilon=epsilon),
        ratings.backend,
        "capability" if found.pass_fail else "sharpness",
    )


def check_scale(found: OnPeopleScale, people: Sequence[str]) -> None:
    """Raise where the people's ratings set no scale."""
    if len(people) > 1 and not found.n_shared[: len(people)].sum():
        raise InputError(
            f"no two of the people ({listed(people, 4)}) rated {FEWEST_SHARED} pieces of work in common",
            "have some work rated by two or more of them: their agreement sets the scale",
            option="people",
        )
    if float(found.sharpness[: len(people), 0].mean()) < _LEAST_SHARPNESS:
        raise InputError(
            f"the people ({listed(people, 4)}) agree with each other hardly better than chance, so they set no scale",
            "look into their ratings first, or give known answers instead",
            option="people",
        )


def _people(judge: str, named: Sequence[str] | str | None, labels: list[str]) -> list[str]:
    if not named:
        raise OptionError(
            "nobody is named whom the judge would stand in for",
            Message("name them, for example ", Option("people", ["Ann", "Bob"])),
        )
    several = [named] if isinstance(named, str) else named
    chosen = [choose("rater", str(name), labels, "people") for name in dict.fromkeys(several)]
    if judge in chosen:
        raise OptionError(
            f"{judge!r} is among the people", "leave it out of them", value=judge, option="people"
        )
    if len(chosen) < 2:
        raise OptionError(
            f"one person's ratings do not tell how good {chosen[0]} is",
            Message("name at least two ", Option("people")),
            value=chosen[0],
        )
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
    schema = {
        "rater": pl.String, "n": pl.Int64, "judge_wins": pl.Float64, "person_wins": pl.Float64, "p": pl.Float64
    }  # fmt: skip
    table = pl.DataFrame(rows, schema=schema, orient="row")
    p_all = table["p"].to_numpy()
    beaten = stats.false_discovery_control(p_all, method="by") < _LEVEL if len(p_all) else np.zeros(0, bool)
    return AltTest(table.with_columns(pl.Series("beaten", beaten, dtype=pl.Boolean)), epsilon)


def _scores(ratings: Ratings, raters: Sequence[str]) -> Array:
    """(student-items, raters): the first score of each, NaN where there is none."""
    labels = ratings.raters.cast(pl.String).to_list()
    codes = [labels.index(choose("rater of the ratings", rater, labels, "judge")) for rater in raters]
    rows = np.flatnonzero(np.isin(ratings.rater, codes))[::-1]  # the first score is written last
    key = ratings.student[rows].astype(np.int64) * ratings.n_items + ratings.item[rows]
    keys, piece = np.unique(key, return_inverse=True)
    column = np.zeros(ratings.n_raters, dtype=np.int64)
    column[codes] = np.arange(len(codes))
    found = np.full((len(keys), len(raters)), np.nan)
    found[piece, column[ratings.rater[rows]]] = ratings.score[rows]
    return found


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
