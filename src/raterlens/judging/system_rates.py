"""The share of good work per group as if nobody erred: `rl.pass_rate`.

Raters who err inflate low shares and deflate high ones. A correction that takes people's verdicts for the truth carries
their errors along. Here nobody is taken for the truth: a piece of work is truly good or not, raters detect which at
rates of their own, and both are estimated together (`estimation/prevalence.py`), from pieces that several raters judged
and from pieces whose answer is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from raterlens.base.arrays import Indices
from raterlens.base.errors import InputError, OptionError, choose
from raterlens.base.notebook import Point, intervals, lines, shown, table
from raterlens.base.text import Message, Option, counted, interval, listed, number, shortened
from raterlens.estimation.prevalence import UNKNOWN, PrevalenceProblem
from raterlens.estimation.prevalence_estimate import NORMAL, PrevalenceEstimate
from raterlens.inference.ranks import each_pair
from raterlens.inference.result import Result
from raterlens.ratings.coded import Backend, Ratings, to_backend

ENTERS = 0.01
"""Level at which errors that raters share enter the model. Letting them in for nothing costs width, not truth."""
_NAMED = 5


@dataclass(frozen=True, slots=True, eq=False)
class PassRates:
    """Shares of good work per group as if nobody erred, with what they rest on."""

    tables: Mapping[str, pl.DataFrame]
    """`rates`, `differences` and `raters`, as polars has them."""
    by: str
    n_known: int
    """Pieces of work whose answer is known."""
    shared: bool
    """Raters share errors (beyond what the truth explains), and the model has that."""
    p_shared: float
    """Of the test for it; not-a-number where it was not made."""
    warnings: tuple[str, ...] = ()
    backend: Backend = "polars"

    @property
    def rates(self) -> Any:
        """A row per group, the best first: its name, n (pieces of work), known (answers), observed (share of
        passes among all verdicts), rate (share of good work) with its standard error and 95 % interval."""
        return to_backend(self.tables["rates"], self.backend)

    @property
    def differences(self) -> Any:
        """A row per pair of groups, the better first: difference of their rates with standard error, 95 % interval, p
        and p_holm (adjusted for the number of pairs)."""
        return to_backend(self.tables["differences"], self.backend)

    @property
    def raters(self) -> Any:
        """A row per rater: n, sensitivity (good work that passes) and specificity (bad work that fails), each with its
        95 % interval, and shares, how much it follows what raters share besides the truth (in logits)."""
        return to_backend(self.tables["raters"], self.backend)

    def words(self) -> list[str]:
        """What the numbers say, one sentence each."""
        rows = self.tables["differences"].filter(pl.col("p_holm") < 0.05)
        clear = [
            f"{one} beats {other} by {100 * d:.0f} points ({100 * low:.0f} to {100 * high:.0f})"
            for one, other, d, low, high in rows.select(
                self.by, "other", "difference", "low", "high"
            ).iter_rows()
        ]
        pairs = self.tables["differences"].height
        if not pairs:
            return [*self.warnings]
        found = (
            "; ".join(clear[:_NAMED])
            + (f"; and {len(clear) - _NAMED:,} more pairs" if len(clear) > _NAMED else "")
            if clear
            else "no two of them clearly differ"
        )
        return [f"Of {counted(pairs, 'pair')}: {found}.", *self.warnings]

    def summary(self) -> str:
        """The rates in plain words."""
        rates = self.tables["rates"]
        width = max(len(self.by), *(len(str(name)) for name in rates[self.by])) + 2
        head = f"{self.by:<{width}}{'good':>7}  {'95 % interval':<15}{'observed':>9}{'pieces':>9}{'known':>7}"
        rows = [
            f"{row[self.by]!s:<{width}}{number(row['rate']):>7}  {interval(row['low'], row['high']):<15}"
            f"{number(row['observed']):>9}{row['n']:>9,}{row['known']:>7,}"
            for row in rates.iter_rows(named=True)
        ]
        return "\n".join([head, *rows, "", *self.words()])

    def __repr__(self) -> str:
        return f"<PassRates of {counted(self.tables['rates'].height, 'group')} by {self.by!r}: see summary()>"

    def _repr_html_(self) -> str:
        points: list[Point] = [
            (str(name), *numbers)
            for name, *numbers in self.tables["rates"].select(self.by, "rate", "low", "high").iter_rows()
        ]
        columns = (self.by, "other", "difference", "low", "high", "p_holm")
        return shown(
            f"Share of good work by {self.by}, as if nobody erred",
            intervals(points, (0.0, 1.0), "share of good work"),
            table(columns, self.tables["differences"].select(columns).iter_rows()),
            lines(self.words()),
        )


def pass_rate(
    fit: Result | Ratings,
    ratings: Ratings | None = None,
    *,
    by: str | Mapping[Any, Any],
    people: Sequence[str] | None = None,
    shared: bool | str = "auto",
) -> PassRates:
    """The share of good work per group (such as the system that wrote an answer) as it would be if nobody erred.

    Parameters
    ----------
    fit
        A fit of the ratings, whose trusted raters are the `people`; or the ratings themselves.
    ratings
        The ratings: pass or fail, with the column of groups among their facets.
    by
        A facet of the ratings (`rl.read(..., facets="system")`), `"item"`, or a mapping from students to groups.
    people
        Raters whose errors are their own. The others may share errors: LLM judges that like the same answers.
    shared
        Whether the others' errors have something in common: `"auto"` (the default) lets it in where a test at 1 %
        says so, True and False decide it.

    Returns
    -------
    PassRates
        `rates`, `differences` between groups, `raters` with their sensitivities and specificities, `summary()`.
        Known answers (`rl.read(..., known=)`) must be a fair sample of each group's work. Where nothing is known,
        "good" is what raters pass more often. Ratings that do not tell error rates from shares are refused.

    Examples
    --------
    >>> import raterlens as rl
    >>> drawn = rl.simulate(model="dawid-skene", students=400, raters=4, items=2, seed=1)
    >>> found = rl.pass_rate(drawn.ratings, by="item")
    >>> found.rates.columns
    ['item', 'n', 'known', 'observed', 'rate', 'rate_se', 'low', 'high']
    """
    data, trusted = _given(fit, ratings, people)
    group, labels, name = _groups(data, by)
    known = known_of_ratings(data)
    sharing = ~np.isin(np.arange(data.n_raters), trusted)
    n_known = 0 if data.known is None else len(data.known)
    may_share = bool(n_known or trusted) and int(sharing.sum()) > 1
    if shared is True and not may_share:
        raise OptionError(
            "nothing tells shared errors from the truth here",
            Message("add known answers, name ", Option("people"), ", or leave out ", Option("shared", True)),
            option="shared",
        )
    nobody = np.zeros(data.n_raters, dtype=bool)
    plain = PrevalenceProblem.of(data, group, len(labels), known, nobody)
    found = PrevalenceEstimate.of(plain)
    p = np.nan
    if may_share and shared is not False:
        wider = PrevalenceEstimate.of(PrevalenceProblem.of(data, group, len(labels), known, sharing))
        gained = 2 * (wider.objective - found.objective)
        p = float(stats.chi2.sf(max(gained, 0.0), wider.problem.taken.shape[1]))
        if shared is True or p < ENTERS:
            found = wider
    _check(found, data, name)
    tables = {
        "rates": _rates(data, group, labels, name, known, found),
        "differences": _differences(labels, name, found),
        "raters": _raters(data, found),
    }
    return PassRates(
        tables, name, n_known, found.shared, p, _warnings(found, n_known, may_share, p), data.backend
    )


def _given(
    fit: Result | Ratings, ratings: Ratings | None, people: Sequence[str] | None
) -> tuple[Ratings, list[int]]:
    """The ratings, checked, and the codes of the raters whose errors are their own."""
    data = fit if isinstance(fit, Ratings) else ratings
    if data is None:
        raise OptionError(
            "shares are estimated from the ratings, which a fit does not keep",
            "give them too: rl.pass_rate(fit, ratings, by=...)",
            option="ratings",
        )
    if data.n_categories > 2:
        highest = int(data.score.max())
        raise InputError(
            f"scores go from {data.score.min()} to {highest}, but work is either good or not",
            Message("give the lowest passing score, for example ", Option("cut", highest)),
            value=highest,
            option="cut",
        )
    named = people
    if named is None:
        named = fit.trusted if isinstance(fit, Ratings) else fit.config.trusted or ()
    elif isinstance(named, str):
        named = [named]
    raters = data.raters.cast(pl.String).to_list()
    return data, [raters.index(choose("rater", str(who), raters, "people")) for who in named]


def _groups(ratings: Ratings, by: str | Mapping[Any, Any]) -> tuple[Indices, pl.Series, str]:
    """Of each rating, their labels, and what they are called."""
    if isinstance(by, Mapping):
        known = {str(student): str(group) for student, group in by.items()}
        students = ratings.students.cast(pl.String)
        missing = [student for student in students if student not in known]
        if missing:
            raise OptionError(
                f"{Option('by')} has no group for {counted(len(missing), 'student')}: {listed(missing, 3)}",
                "give one for every student",
                value=missing[0],
                option="by",
            )
        labels = pl.Series("group", sorted({known[student] for student in students}))
        places = {label: place for place, label in enumerate(labels)}
        return np.array([places[known[student]] for student in students])[ratings.student], labels, "group"
    facets = {facet.name: facet for facet in ratings.facets}
    if by not in ("item", *facets):
        raise OptionError(
            f"the ratings have no facet {shortened(by)}",
            Message(
                "read its column too, ",
                Option("facets", [str(by)]),
                f"; there are: {', '.join(['item', *facets])}",
            ),
            value=by,
            option="by",
        )
    if by == "item":
        return ratings.item.astype(np.int64), ratings.items.cast(pl.String), by
    facet = facets[by]
    piece = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    order = np.argsort(piece, kind="stable")
    differs = (np.diff(piece[order]) == 0) & (np.diff(facet.codes[order]) != 0)
    if differs.any():
        row = order[np.flatnonzero(differs)[0]]
        raise InputError(
            f"student {shortened(str(ratings.students[int(ratings.student[row])]))} has more than one {by}",
            "a piece of work belongs to one group: let the student column name the piece of work (answer), "
            "not the task",
            option="by",
        )
    return facet.codes.astype(np.int64), facet.labels.cast(pl.String), by


def known_of_ratings(ratings: Ratings) -> Indices:
    """(ratings,): the true class of the rated piece of work; -1 where it is not known."""
    found = np.full(ratings.n_ratings, UNKNOWN, dtype=np.int64)
    if ratings.known is None:
        return found
    pieces = ratings.known.student.astype(np.int64) * ratings.n_items + ratings.known.item
    order = np.argsort(pieces)
    own = ratings.student.astype(np.int64) * ratings.n_items + ratings.item
    place = np.minimum(np.searchsorted(pieces[order], own), len(pieces) - 1)
    is_known = pieces[order][place] == own
    found[is_known] = ratings.known.answer[order][place[is_known]]
    return found


def _check(found: PrevalenceEstimate, ratings: Ratings, by: str) -> None:
    """Raise where the ratings do not tell shares from error rates."""
    if found.determined:
        return
    n = int(np.sum(found.problem.times * (np.asarray(found.problem.units.members.sum(axis=1)) > 1)))
    known = 0 if ratings.known is None else len(ratings.known)
    raise InputError(
        f"these ratings do not tell the share of good work by {by} from the errors of raters "
        f"({counted(ratings.n_raters, 'rater')}, {counted(n, 'piece')} with several ratings, "
        f"{counted(known, 'known answer')})",
        Message(
            "have some work judged by three or more raters who err independently, or add known answers (",
            Option("known"),
            ")",
        ),
        value=known,
        option="known",
    )


def _rates(
    ratings: Ratings, group: Indices, labels: pl.Series, by: str, known: Indices, found: PrevalenceEstimate
) -> pl.DataFrame:
    problem, n_groups = found.problem, len(labels)
    rate, low, high = found.interval(problem.blocks["prevalence"])
    _, spread = found.rates()
    pieces, is_known = (
        np.bincount(problem.group, weights, n_groups).astype(np.int64)
        for weights in (problem.times, problem.times * (problem.truth != UNKNOWN))
    )
    observed = np.bincount(group, ratings.score, n_groups) / np.bincount(group, minlength=n_groups)
    columns = {"n": pieces, "known": is_known, "observed": observed, "rate": rate}
    ends = {"rate_se": np.sqrt(np.diag(spread)), "low": low, "high": high}
    return pl.DataFrame({by: labels, **columns, **ends}).sort("rate", descending=True)


def _differences(labels: pl.Series, by: str, found: PrevalenceEstimate) -> pl.DataFrame:
    one, other, tests = each_pair(*found.rates())
    half = NORMAL * tests.se
    return pl.DataFrame(
        {
            by: labels.gather(one),
            "other": labels.gather(other),
            "difference": tests.difference,
            "difference_se": tests.se,
            "low": tests.difference - half,
            "high": tests.difference + half,
            "p": tests.p,
            "p_holm": tests.holm,
        }
    ).sort("p")


def _raters(ratings: Ratings, found: PrevalenceEstimate) -> pl.DataFrame:
    """Sensitivities and specificities, on average over what is shared."""
    rate, low, high = found.pass_rates()
    columns = {
        "sensitivity": rate[:, 1], "sensitivity_low": low[:, 1], "sensitivity_high": high[:, 1],
        "specificity": 1 - rate[:, 0], "specificity_low": 1 - high[:, 0], "specificity_high": 1 - low[:, 0],
        "shares": found.problem.loading(found.parameters),
    }  # fmt: skip
    n = ratings.tally("rater").n
    return pl.DataFrame({"rater": ratings.raters.cast(pl.String), "n": n, **columns})


def _warnings(found: PrevalenceEstimate, n_known: int, may_share: bool, p: float) -> tuple[str, ...]:
    said = []
    if found.shared:
        chance = "< 0.001" if p < 0.001 else f"= {p:.3f}"
        said.append(
            f"Raters share errors beyond what the truth explains (p {chance}); the model allows for it."
        )
    elif not may_share and int(found.problem.n_raters) > 1:
        said.append(
            "Raters are taken to err independently of each other: known answers, or naming the people, would test it."
        )
    if not n_known:
        said.append("No answer is known: good is what raters pass more often.")
    return tuple(said)
