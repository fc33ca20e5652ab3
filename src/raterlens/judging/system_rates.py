"""Share of good answers per system, from truths that are drawn under the known answers: `rl.pass_rate`.

Judges who err inflate low shares and deflate high ones, and they may err differently on one system. Here the truth of
every answer is uncertain and drawn, with an intercept per system in its regression on the verdicts (`truth.py`): what
the known answers of a system say about it weighs as much as it should, whatever judges do there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse, stats

from raterlens.base.arrays import NORMAL_95, Array, Indices
from raterlens.base.errors import InputError
from raterlens.base.notebook import Point, intervals, lines, shown, table
from raterlens.base.text import Message, Option, counted, interval, number
from raterlens.inference.rater_comparison import each_pair
from raterlens.judging.judges import DRAWS, PSEUDO_VERDICTS, Counts, share_measure
from raterlens.judging.truth import FEWEST_KNOWN, Answers, Truth, Verdicts, estimate_truth, read_verdicts
from raterlens.ratings.coded import Backend, Ratings, to_backend

_NAMED = 5
_FEW_KNOWN = 5
"""Known answers of a system below which its rate rests on the others'."""


@dataclass(frozen=True, slots=True, eq=False)
class PassRates:
    """Shares of good answers per system, with what they rest on."""

    tables: Mapping[str, pl.DataFrame]
    """`systems`, `differences` and `slices`, as polars has them."""
    by: str
    n_known: int
    warnings: tuple[str, ...] = ()
    backend: Backend = "polars"

    @property
    def rates(self) -> Any:
        """A row per system, the best first: its name, n (answers), known (answers), observed (share of passes among
        all verdicts), rate (share of good answers) with its 95 % interval, and the ranks that it may have."""
        return to_backend(self.tables["systems"], self.backend)

    @property
    def differences(self) -> Any:
        """A row per pair of systems, the better first: difference of their rates with its 95 % interval, p and p_holm
        (adjusted for the number of pairs)."""
        return to_backend(self.tables["differences"], self.backend)

    @property
    def slices(self) -> Any:
        """A row per judge and system: n, accuracy with its interval, and p, of a test whether accuracy differs from
        that on other systems."""
        return to_backend(self.tables["slices"], self.backend)

    def words(self) -> list[str]:
        """Conclusions, one sentence each."""
        pairs = self.tables["differences"]
        if not pairs.height:
            return [*self.warnings]
        clear = [
            f"{row[self.by]} beats {row['other']} by {100 * row['difference']:.0f} points "
            f"({100 * row['low']:.0f} to {100 * row['high']:.0f})"
            for row in pairs.filter(pl.col("p_holm") < 0.05).iter_rows(named=True)
        ]
        more = [f"and {counted(len(clear) - _NAMED, 'more pair')}"] if len(clear) > _NAMED else []
        found = "; ".join([*clear[:_NAMED], *more]) or f"No two values of {self.by} clearly differ"
        return [f"{found}.", *self.warnings]

    def lines(self) -> list[str]:
        """The rate of each system, one line each."""
        return [
            f"{row[self.by]}: {number(row['rate'])} ({interval(row['low'], row['high'])}), judges pass "
            f"{number(row['observed'])}; rank {row['rank_low']} to {row['rank_high']}; {row['n']:,} answers, "
            f"{row['known']:,} known"
            for row in self.tables["systems"].iter_rows(named=True)
        ]

    def summary(self) -> str:
        """The rates in plain words."""
        rates = self.tables["systems"]
        width = max(len(self.by), *(len(str(name)) for name in rates[self.by])) + 2
        head = (
            f"{self.by:<{width}}{'good':>7}  {'95 % interval':<15}{'observed':>9}{'answers':>9}{'known':>7}"
        )
        rows = [
            f"{row[self.by]!s:<{width}}{number(row['rate']):>7}  {interval(row['low'], row['high']):<15}"
            f"{number(row['observed']):>9}{row['n']:>9,}{row['known']:>7,}"
            for row in rates.iter_rows(named=True)
        ]
        return "\n".join([head, *rows, "", *self.words()])

    def __repr__(self) -> str:
        return (
            f"<PassRates of {counted(self.tables['systems'].height, 'group')} by {self.by!r}: see summary()>"
        )

    def _repr_html_(self) -> str:
        points: list[Point] = [
            (str(name), *numbers)
            for name, *numbers in self.tables["systems"].select(self.by, "rate", "low", "high").iter_rows()
        ]
        columns = (self.by, "other", "difference", "low", "high", "p_holm")
        return shown(
            f"Share of good answers by {self.by}",
            intervals(points, (0.0, 1.0), "share of good answers"),
            table(columns, self.tables["differences"].select(columns).iter_rows()),
            lines(self.words()),
        )


def pass_rate(source: Any, *, by: str | Mapping[Any, Any], known: Any = None, **columns: Any) -> PassRates:
    """Estimate the share of good answers per system (or other group), allowing for judges' errors.

    Parameters
    ----------
    source
        A fit, ratings (`rl.read(..., known=)`), or what `rl.read` takes: a path or a dataframe. Pass or fail only.
    by
        A facet or column, such as the system that wrote an answer; `"item"`; or a mapping from students to groups.
    known
        The column of known answers, or a table of them: at least 15, a random sample of each system's. `rl.judge` has
        the judges beside these rates.
    columns
        Further options of `rl.read`, such as `cut=4`.

    Returns
    -------
    PassRates
        `rates`, `differences` between systems, `slices` (judges' accuracy per system), `summary()`.

    Examples
    --------
    >>> import raterlens as rl
    >>> drawn = rl.simulate(model="dawid-skene", students=400, raters=4, items=2, seed=1)
    >>> work = drawn.ratings.table().group_by("student", "item", maintain_order=True)
    >>> truth = work.agg(gold=(pl.col("score").mean() > 0.5).cast(int))
    >>> verdicts = drawn.ratings.table().join(truth.head(100), on=["student", "item"], how="left")
    >>> rl.pass_rate(verdicts, by="item", known="gold").rates.columns
    ['item', 'n', 'known', 'observed', 'rate', 'low', 'high', 'rank_low', 'rank_high']
    """
    ratings = read_verdicts(source, known, by, columns)
    if ratings.known is None:
        raise InputError(
            "no answer is known, and judges who agree may all be wrong",
            Message(
                f"look up at least {FEWEST_KNOWN} answers (",
                Option("known"),
                "); raters who err independently give shares without any: rl.fit(ratings, model='dawid-skene'), with "
                "the system as item, has them as prevalence",
            ),
        )
    if ratings.n_categories > 2:
        highest = ratings.n_categories - 1
        raise InputError(
            f"scores go from 0 to {highest * ratings.score_step:g}, but an answer is either good or not",
            Message("give the lowest passing score, for example ", Option("cut", highest)),
            value=highest,
        )
    answers = Answers.of(ratings)
    verdicts = answers.questions(np.zeros(0, dtype=np.int64))[0]
    group = answers.systems(ratings, by)
    name = by if isinstance(by, str) else "group"
    return rates_by_system(ratings, verdicts, group, name, None)


def rates_by_system(
    ratings: Ratings, verdicts: Verdicts, group: tuple[Indices, pl.Series], by: str, features: Array | None
) -> PassRates:
    """Rates, differences and slices of one question; `features` where they have been computed already."""
    system, labels = group
    truth = estimate_truth(verdicts, system, features)
    systems, covariance = system_rates(truth, labels, by)
    tables = {
        "systems": systems.sort("rate", descending=True),
        "differences": _differences(systems, covariance, by),
        "slices": slices(truth, ratings.raters.cast(pl.String), labels, by),
    }
    few = tables["systems"].filter(pl.col("known") < _FEW_KNOWN)
    warnings = tuple(
        f"{row[by]} has {counted(row['known'], 'known answer')}: its rate rests on how judges do on other answers."
        for row in few.head(_NAMED).iter_rows(named=True)
    )
    return PassRates(tables, by, len(verdicts.rows), warnings, ratings.backend)


def system_rates(truth: Truth, labels: pl.Series, by: str) -> tuple[pl.DataFrame, Array]:
    """A row per system, and the covariance of the rates: from truths drawn under a model in which every system has an
    intercept of its own."""
    system, verdicts, size = truth.system, truth.verdicts, len(labels)
    assert system is not None
    n = np.bincount(system, minlength=size).astype(np.float64)
    place = (system, np.arange(len(system)))
    member = sparse.csr_array((np.ones(len(system)), place), shape=(size, len(system)))
    rate = member @ truth.probability / n
    drawn = np.concatenate([(member @ each) / n[:, None] for each in truth.draws(DRAWS)], axis=1)
    shrunk = (rate * n + 1) / (n + 2)
    chance = shrunk * (1 - shrunk) / n
    covariance = np.cov(drawn).reshape(size, size) + np.diag(chance)
    measure = share_measure(np.clip(rate, 0.25 / n, 1 - 0.25 / n), np.diag(covariance))
    noise = np.random.default_rng(2).standard_normal(drawn.shape) * np.sqrt(chance)[:, None]
    ranks = stats.rankdata(-(rate[:, None] + drawn - drawn.mean(axis=1, keepdims=True) + noise), axis=0)
    lowest, highest = np.quantile(ranks, [0.025, 0.975], axis=1)
    passes, given = (member @ np.asarray(each.sum(axis=1)) for each in (verdicts.passes, verdicts.judged))
    columns = {
        by: labels,
        "n": n.astype(np.int64),
        "known": np.bincount(system[verdicts.rows], minlength=size).astype(np.int64),
        "observed": passes / np.maximum(given, 1),
        "rate": rate,
        "low": measure.low,
        "high": measure.high,
        "rank_low": np.floor(lowest).astype(np.int64),
        "rank_high": np.ceil(highest).astype(np.int64),
    }
    return pl.DataFrame(columns), covariance


def _differences(systems: pl.DataFrame, covariance: Array, by: str) -> pl.DataFrame:
    one, other, tests = each_pair(systems["rate"].to_numpy(), covariance)
    half = NORMAL_95 * tests.se
    columns = {
        by: systems[by].gather(one),
        "other": systems[by].gather(other),
        "difference": tests.difference,
        "low": tests.difference - half,
        "high": tests.difference + half,
        "p": tests.p,
        "p_holm": tests.holm,
    }
    return pl.DataFrame(columns).sort("p")


def slices(truth: Truth, judges: pl.Series, labels: pl.Series, by: str) -> pl.DataFrame:
    """A row per judge and system: its accuracy there, under the truth with system intercepts, and p of a test against
    that on the judge's other answers."""
    size = len(labels)
    assert truth.system is not None
    apart = truth.verdicts.apart(truth.system, size)
    counts = Counts.under(apart, truth.probability)
    n, right = (each.reshape(-1, size) for each in (counts.n, counts.right))
    drawn = np.concatenate([Counts.under(apart, each).right for each in truth.draws(DRAWS)], axis=1)
    drawn = drawn.reshape(-1, size, drawn.shape[1])
    rest = n.sum(axis=1, keepdims=True) - n
    here, there = np.maximum(n, 1), np.maximum(rest, 1)
    inside = drawn / here[:, :, None]
    outside = (drawn.sum(axis=1, keepdims=True) - drawn) / there[:, :, None]
    mean = ((right.sum(axis=1) + 0.5) / (n.sum(axis=1) + 1))[:, None]
    value = (right + PSEUDO_VERDICTS * mean) / (n + PSEUDO_VERDICTS)
    chance = value * (1 - value) / (n + PSEUDO_VERDICTS + 1)
    accuracy = share_measure(value, inside.var(axis=2) + chance)
    gap = right / here - (right.sum(axis=1, keepdims=True) - right) / there
    variance = (inside - outside).var(axis=2) + mean * (1 - mean) * (1 / here + 1 / there)
    p = 2 * stats.norm.sf(np.abs(gap) / np.sqrt(variance))
    who, where = (part.ravel() for part in np.indices(n.shape))
    columns = {
        "judge": judges.gather(who),
        by: labels.gather(where),
        "n": n.ravel().astype(np.int64),
        **{name: column.ravel() for name, column in accuracy.columns("accuracy").items()},
        "p": pl.Series(np.where(rest > 0, p, np.nan).ravel()).fill_nan(None),
    }
    return pl.DataFrame(columns).filter(pl.col("n") > 0)
