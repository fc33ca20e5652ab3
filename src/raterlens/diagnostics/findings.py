"""Findings about each rater and about the panel: numbers and categories, computed once.

Verdict, next step, letter, what-if, headline, tables, charts, files and the app read these records; `wording` puts them
into words. Each thing is judged by its own 95 % interval, on a scale that does not depend on who else is on the panel:
the *standard*, by how many of 100 borderline students (of whom the average rater passes 50) a rater passes;
*sharpness*, how closely scores follow ability; and, where each rater's was estimated, *halo*, what all scores of a
reading share besides ability.

A fault costs what the what-if gains without it: the best severity instead of the rater's own, the slope of a rater who
is just sharp enough, or no halo, all else being equal. Only a fault costs anything: what chance could have done is no
cause. How often raters without a fault are called so is measured by `benchmarks/truth/verdict_rates.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, limit_blas_threads
from raterlens.base.threads import in_background
from raterlens.diagnostics.diagnosis import Diagnosis, diagnose
from raterlens.diagnostics.differences import Consequences, Differences, consequences, differences
from raterlens.diagnostics.drift import Monitoring, monitor
from raterlens.diagnostics.flags import DRIFT, Flag
from raterlens.diagnostics.residuals import residuals
from raterlens.diagnostics.what_if import Levers
from raterlens.estimation.scoring import Placed
from raterlens.inference.expected_scores import fair_results, marks_less
from raterlens.inference.result import Result
from raterlens.models.terms.thresholds import uses_of_scale
from raterlens.ratings.design import connected_groups, in_small_group

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.ratings.coded import Ratings

FAIR = 0.5
"""Sharpness below which a rater is blunt. At 0.5 a rating shares a quarter of its variance with ability (for the probit
link, where sharpness is a correlation): a slope of 0.58 probits or 0.95 logits."""

SHARP = 0.7
"""From here on a rater is sharp: half of the variance is ability. The customary line for an acceptable correlation;
1.65 logits."""

BLIND = 0.2
"""Below it, 4 % of the variance, a score says next to nothing."""

OFF, FAR_OFF = 0.15, 0.2
"""Limits of the standard: passing 15 in 100 borderline students more or fewer than the average rater is severe or
lenient; 20 is too severe or too lenient, and costs a rater 13 % of the capability that their sharpness would give
them."""

HALO, STRONG_HALO = 0.5, 1.0
"""Standard deviation of the impression that all scores of a reading share, in the units of the link; from 1 on it costs
a rater with slope 1.5 a tenth of their sharpness (0.66 becomes 0.60)."""

WIDE = 0.5
"""An interval of sharpness wider than this, with the line for blunt inside, fits a good rater as well as a poor one."""

FEWEST = 10
"""With fewer ratings the pass rate alone is uncertain by 16 points or more (sqrt(0.25 / 10)), whatever the fit says."""

MOST, FEWEST_OF_A_PANEL = 0.5, 4
"""Where more than half of at least four raters share a fault, it is the panel's."""

StandardVerdict = Literal["too severe", "severe", "typical", "lenient", "too lenient", "unclear"]
_Clear = Literal["sharp", "fair or sharp", "fair", "blunt", "cannot tell students apart", "reversed"]
SharpnessVerdict = _Clear | Literal["probably fair", "probably blunt", "unclear"]
"""By the limits of its interval: above 0.7; above 0.5; between the two; with 0.5 inside, by the estimate; below 0.5;
below 0.5 and not clearly above 0; below 0; unclear where 0.5 lies in an interval wider than `WIDE`."""
HaloVerdict = Literal["none", "some", "strong", ""]
"""Empty where halo was not estimated for each rater."""
Fault = Literal["severity", "discrimination", "halo"]
Cause = Fault | Literal["nothing"]
Link = Literal["linked", "unlinked", "alone"]
"""Whether a rater shares students, directly or through others, with the rest of the panel; with some of it; nobody."""
Status = Literal["attention", "unclear", "borderline", "flagged", "fine"]
"""Whether somebody should look at a rater: yes; nobody can tell yet; perhaps, it may be chance; at another pattern in
their ratings; no."""
Reason = Cause | Literal["flag", "alarm", "unlinked", "too few", "borderline"]
"""The one thing that the sentence and the next step are about."""

FAULTS: tuple[Fault, ...] = get_args(Fault)
BLUNT = ("blunt", "cannot tell students apart", "reversed")
CONSTANT_SCORES = ("all pass", "all fail", "all highest", "all lowest")
GRAVE_FLAGS = ("reversed", "random", "alternating")
"""Patterns that leave nothing else to be said about a rater."""
UNCLEAR: Literal["unclear"] = "unclear"


class Interval(NamedTuple):
    """An estimate with its 95 % limits; the estimate itself where there are none, which then decides."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RaterFindings:
    """All that is said about a rater rests on this."""

    rater: str
    n: int
    kappa: Interval
    sharpness: Interval
    passes: Interval
    """Share of borderline students who pass; of more scores than pass and fail, who get the middle mark"""
    halo: Interval | None
    standard: StandardVerdict
    sharpness_verdict: SharpnessVerdict
    halo_verdict: HaloVerdict
    losses: Mapping[Fault, float]
    """Capability without the fault less capability; 0 where there is none"""
    best_severity: float
    best_kappa: float
    constant: str
    """Where all scores are the same: one of `CONSTANT_SCORES`; else empty"""
    accuracy: tuple[float, float] | None
    """Sensitivity and specificity, where the model knows a true category"""
    ordered: bool
    """More scores than pass and fail"""
    category_use: str = ""
    """How the rater uses the scale, where that clearly differs from the panel's; else empty"""
    lost_to_categories: Interval | None = None
    """Capability with the panel's use of the scale less capability, where raters have thresholds of their own"""
    less: float = 0.0
    """Marks that an average student gets less than from the average rater, as the file counts; 0 for pass and fail"""
    flags: tuple[Flag, ...] = ()
    alarm: str = ""
    """How much the severity drifted, and since when, where chance does not explain it however often one looked"""
    link: Link = "linked"

    @property
    def cause(self) -> Cause:
        """The fault that costs most."""
        costliest = max(self.losses, key=lambda fault: self.losses[fault])
        return costliest if self.losses[costliest] > 0 else "nothing"

    @property
    def grave(self) -> Flag | None:
        """A pattern that voids the scores."""
        return next((flag for flag in self.flags if flag.effect in GRAVE_FLAGS), None)

    @property
    def status(self) -> Status:
        """Whether somebody should look at this rater."""
        off = self.standard.startswith("too ") or self.halo_verdict == "strong"
        if off or self.sharpness_verdict in BLUNT or self.grave or self.alarm:
            return "attention"
        if UNCLEAR in (self.standard, self.sharpness_verdict) or self.link != "linked":
            return "unclear"
        if abs(self.passes.value - 0.5) > FAR_OFF or self.sharpness_verdict == "probably blunt":
            return "borderline"
        return "flagged" if self.flags else "fine"

    @property
    def reason(self) -> Reason:
        """The deciding reason: a pattern that voids the scores, an alarm, the costliest fault, that nothing can be
        said, another pattern; in this order."""
        if self.grave or self.alarm:
            return "flag" if self.grave else "alarm"
        if self.cause != "nothing":
            return self.cause
        if self.link != "linked":
            return "unlinked"
        others: dict[Status, Reason] = {"unclear": "too few", "borderline": "borderline", "flagged": "flag"}
        return others.get(self.status, "nothing")


@dataclass(frozen=True, slots=True, eq=False)
class PanelFindings:
    """Findings about a panel: each rater, whether raters differ at all, and what that means for students."""

    raters: tuple[RaterFindings, ...]
    """In the order of the fit"""
    consequences: Consequences
    differences: Differences
    diagnosis: Diagnosis | None = None
    monitoring: Monitoring | None = None
    """Drift within the ratings, where they have a time, and changes since an earlier fit, where there is one"""
    groups: int = 1
    """Groups of raters that no student links: raters of different groups cannot be compared"""

    @property
    def ranked(self) -> bool:
        """Whether a ranking would rank more than luck."""
        return not self.differences.equal

    @property
    def comparable(self) -> bool:
        """Whether any two raters can be compared."""
        return any(rater.link == "linked" for rater in self.raters)

    def count(self, status: Status) -> int:
        return sum(rater.status == status for rater in self.raters)

    @property
    def alarmed(self) -> tuple[str, ...]:
        """Raters with an alarm of drift."""
        return tuple(rater.rater for rater in self.raters if rater.alarm)

    def cautions(self, *, shared: bool = True) -> tuple[str, ...]:
        """Patterns in the ratings that the model does not predict, one sentence each; `shared`: by most raters, too."""
        return () if self.diagnosis is None else self.diagnosis.warnings(shared=shared, alarmed=self.alarmed)

    @property
    def common_fault(self) -> tuple[Fault, int] | None:
        """The fault that more than half of the raters share, and how many do."""
        if len(self.raters) < FEWEST_OF_A_PANEL:
            return None
        faults: tuple[Fault, ...] = ("discrimination", "halo")
        n, fault = max((sum(rater.cause == fault for rater in self.raters), fault) for fault in faults)
        return (fault, n) if n > MOST * len(self.raters) else None


def panel_findings(
    fit: "Fit",
    ratings: "Ratings | None" = None,
    diagnosis: Diagnosis | None = None,
    *,
    cuts: Sequence[float] | None = None,
    previous: Result | None = None,
    time: Any = None,
    placed: Placed | None = None,
    **asked: Any,
) -> PanelFindings:
    """All of it; without ratings, what the estimates alone say.

    Parameters
    ----------
    diagnosis
        Where it was made; it is made here otherwise, `asked` as `diagnose` is.
    cuts
        Mean scores at which grades begin, where they are known.
    previous
        An earlier fit to compare with.
    time
        When ratings were given, as for `diagnose`.
    placed
        The model on the ratings, if it is there.
    """
    passed = results = watched = None
    with limit_blas_threads(fit):
        if ratings is not None:
            with in_background(lambda: fair_results(fit, ratings)) as fair:
                passed = residuals(fit, ratings, compared=True, placed=placed)
                results = fair()
        with in_background(
            lambda: consequences(fit, ratings, cuts, passed=passed, results=results)
        ) as meaning:
            if ratings is not None and diagnosis is None:
                diagnosis = diagnose(fit, ratings, time=time, **asked, passed=passed, results=results)
            if previous is not None or (ratings is not None and time is not None):
                watched = monitor(fit, ratings, previous=previous, time=time, passed=passed)
            raters = rater_findings(fit, ratings, diagnosis, watched)
            groups = 1 if ratings is None else connected_groups(ratings).n
            differ = differences(fit, ratings, diagnosis)
            return PanelFindings(raters, meaning(), differ, diagnosis, watched, groups)


def rater_findings(
    fit: Result,
    ratings: "Ratings | None" = None,
    diagnosis: Diagnosis | None = None,
    monitoring: Monitoring | None = None,
) -> tuple[RaterFindings, ...]:
    """Findings in the order of the fit's table; from the estimates alone where nothing else is given."""
    table, at, single = fit.table("raters"), Levers(fit), fit.n_raters == 1
    kappa, sharpness, passes = (_intervals(table, name) for name in ("kappa", "sharpness", "passes"))
    halo: Sequence[Interval | None] = [None] * table.height
    if "halo" in table.columns and table["halo"].n_unique() > 1:  # one that is common to all is the panel's
        halo = _intervals(table, "halo")
    use, lost = _category_use(fit, at)
    less = marks_less(fit.calibration) if fit.calibration and fit.ordered else np.zeros(table.height)
    names, ns, marked = (table[name].to_list() for name in ("rater", "n", "flag"))
    linked = {} if ratings is None else _links(fit, ratings)
    links: list[Link] = ["alone" if single else linked.get(str(name), "linked") for name in names]
    # Who shares no students has a severity by assumption: that groups of students are equally able.
    standards = [
        standard_verdict(*one) if link == "linked" else UNCLEAR
        for *one, link in zip(ns, passes, links, strict=True)
    ]
    sharp = [
        UNCLEAR if link == "alone" and not single else sharpness_verdict(*one)
        for *one, link in zip(ns, sharpness, marked, links, strict=True)
    ]
    halos = [halo_verdict(*one) for one in zip(ns, halo, strict=True)]
    losses = _losses(at, list(zip(standards, sharp, halos, strict=True)))
    known = table.select(pl.col("^(sensitivity|specificity)$")).rows() or [()] * table.height
    alarms = {} if monitoring is None else monitoring.drifting()
    flags = _flags(diagnosis, alarms)
    return tuple(
        RaterFindings(
            rater=name,
            n=ns[r],
            kappa=kappa[r],
            sharpness=sharpness[r],
            passes=passes[r],
            halo=halo[r],
            standard=standards[r],
            sharpness_verdict=sharp[r],
            halo_verdict=halos[r],
            losses=losses[r],
            best_severity=float(at.best_severity[r]),
            best_kappa=float(at.best_kappa[r]),
            constant=marked[r] if marked[r] in CONSTANT_SCORES else "",
            accuracy=known[r] or None,
            ordered=fit.ordered,
            less=float(less[r]),
            category_use=use[r],
            lost_to_categories=lost[r],
            flags=tuple(flags.get(name, ())),
            alarm=alarms.get(name, ""),
            link=links[r],
        )
        for r, name in enumerate(map(str, names))
    )


def needing_attention(fit: Result) -> tuple[str, ...]:
    """Raters who, by the estimates alone, need attention."""
    return tuple(it.rater for it in rater_findings(fit) if it.status == "attention")


def _category_use(fit: Result, at: Levers) -> tuple[list[str], list[Interval | None]]:
    """How each rater uses the scale, in words, and what that costs; nothing where all use it alike."""
    known, where = fit.calibration, at.measurement
    n = len(at.slope)
    if known is None or where is None or where.index.own is None:
        return [""] * n, [None] * n
    lost, error = where.index.lost_to_curves(at.slope, at.severity, where.on.sigmas, at.halo)
    reach = NORMAL_95 * np.where(np.isfinite(error), error, 0.0)
    ends = np.column_stack([lost, lost - reach, lost + reach])
    return uses_of_scale(known), [Interval(*row) for row in ends.tolist()]


def _intervals(table: pl.DataFrame, column: str) -> list[Interval]:
    names = [name if name in table.columns else column for name in (f"{column}_low", f"{column}_high")]
    value, *ends = (table[name].cast(pl.Float64).to_numpy() for name in (column, *names))
    known = [np.where(np.isfinite(end), end, value) for end in ends]
    return [Interval(*row) for row in np.column_stack([value, *known]).tolist()]


# ------------------------------------------------------------------------------------------------- verdicts


def standard_verdict(n: int, passes: Interval) -> StandardVerdict:
    """Judge by the interval: a rater is off where all of it is."""
    low, high = passes.low - 0.5, passes.high - 0.5
    if n < FEWEST or not np.isfinite(passes.value):
        return UNCLEAR
    if high < -OFF:
        return "too severe" if high < -FAR_OFF else "severe"
    if low > OFF:
        return "too lenient" if low > FAR_OFF else "lenient"
    return UNCLEAR if high - low > 2 * FAR_OFF else "typical"


def sharpness_verdict(n: int, sharpness: Interval, flag: str = "") -> SharpnessVerdict:
    """Judge by the interval's limits; by the estimate, and called probable, only where the line for blunt is inside.

    Examples
    --------
    >>> sharpness_verdict(300, Interval(0.8, 0.72, 0.86)), sharpness_verdict(300, Interval(0.8, 0.65, 0.9))
    ('sharp', 'fair or sharp')
    """
    value, low, high = sharpness
    # A slope at its limit has an interval only where the likelihood was followed down from it.
    unknown = flag in CONSTANT_SCORES or (flag == "slope at limit" and not low < value)
    if n < FEWEST or unknown or not np.isfinite(value):
        return UNCLEAR
    if high < 0:
        return "reversed"
    if high < FAIR:
        return "cannot tell students apart" if low <= 0 or high < BLIND else "blunt"
    if low >= FAIR:
        return "sharp" if low >= SHARP else "fair" if high < SHARP else "fair or sharp"
    if high - low > WIDE:
        return UNCLEAR
    return "probably fair" if value >= FAIR else "probably blunt"


def halo_verdict(n: int, halo: Interval | None) -> HaloVerdict:
    if halo is None:
        return ""
    if n < FEWEST or not halo.low > HALO:
        return "none"
    return "strong" if halo.low > STRONG_HALO else "some"


# --------------------------------------------------------------------------------------------------- losses


_LEAST = 1e-6
"""A fault costs something, however little."""


def _losses(
    at: Levers, verdicts: Sequence[tuple[StandardVerdict, SharpnessVerdict, HaloVerdict]]
) -> list[dict[Fault, float]]:
    """Cost of each rater's faults; 0 where there is none."""
    severe = np.array([standard not in (UNCLEAR, "typical") for standard, _, _ in verdicts])
    blunt = np.array([sharp in BLUNT for _, sharp, _ in verdicts])
    halo = np.array([impression in ("some", "strong") for *_, impression in verdicts])
    lost = {"severity": np.where(severe, np.maximum(at.best_kappa - at.kappa, _LEAST), 0.0)}
    lost["discrimination"] = lost["halo"] = np.zeros_like(at.kappa)
    if blunt.any():
        just_fair = np.maximum(at.slope_of_sharpness(FAIR), at.slope)
        gained = at.kappa_at(just_fair, at.severity, at.halo) - at.kappa
        lost["discrimination"] = np.where(blunt, np.maximum(gained, _LEAST), 0.0)
    if halo.any():
        gained = at.kappa_at(at.slope, at.severity, np.zeros_like(at.halo)) - at.kappa
        lost["halo"] = np.where(halo, np.maximum(gained, _LEAST), 0.0)
    return [dict(zip(FAULTS, row, strict=True)) for row in np.column_stack(list(lost.values())).tolist()]


# -------------------------------------------------------------------------------------------- links and flags


def _links(fit: Result, ratings: "Ratings") -> dict[str, Link]:
    """Raters who cannot be compared with the rest of the panel."""
    groups = connected_groups(ratings)
    anchored = fit.calibration is not None and fit.calibration.anchored
    if groups.n == 1 or ratings.known is not None or anchored:
        return {}
    student = ratings.marked_pairs() // ratings.n_raters
    shared = np.bincount(student, minlength=ratings.n_students) > 1
    with_others = np.bincount(ratings.rater[shared[ratings.student]], minlength=ratings.n_raters) > 0
    small = in_small_group(groups)
    apart = small if len(np.unique(groups.rater[~small])) <= 1 else np.ones(ratings.n_raters, bool)
    each = zip(ratings.raters, apart.tolist(), with_others.tolist(), strict=True)
    return {str(rater): "unlinked" if others else "alone" for rater, one, others in each if one}


def _flags(diagnosis: Diagnosis | None, alarms: Mapping[str, str]) -> dict[str, list[Flag]]:
    """Flags of each rater; an alarm says already that a rater drifts, and by how much."""
    found: dict[str, list[Flag]] = {}
    for row in () if diagnosis is None else diagnosis.tables["flags"].iter_rows(named=True):
        if row["effect"] != DRIFT or row["rater"] not in alarms:
            found.setdefault(row["rater"], []).append(Flag(**row))
    return found
