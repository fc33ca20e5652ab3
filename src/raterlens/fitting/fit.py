"""`Fit`: what users hold. Its methods are thin: the work is done in the rooms above."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import polars as pl

from raterlens.base.atomic_files import write_text
from raterlens.base.errors import InputError
from raterlens.base.notebook import framed, lines, shown
from raterlens.base.text import counted, sentence
from raterlens.capability.yardstick import ABSOLUTE, Origin, Reference, Students, Yardstick
from raterlens.config import FitConfig, FitOptions, ReadConfig
from raterlens.estimation.scoring import score
from raterlens.fitting.assumptions import AbilityTest, HaloTest, ability_test, halo_test, result_under_policy
from raterlens.fitting.checks import Run, changed
from raterlens.fitting.line import carry_out
from raterlens.inference.measurement import RATER_COLUMNS, measured_fit
from raterlens.inference.result import Result, read_saved
from raterlens.ratings.coded import Ratings, to_backend
from raterlens.reading.read import read, read_ratings

if TYPE_CHECKING:
    import xarray as xr
    from distributed import Client

    from raterlens.base.processes import OnDone
    from raterlens.charts import Plots
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.diagnostics.differences import Consequences, Differences
    from raterlens.diagnostics.drift import Monitoring
    from raterlens.diagnostics.what_if import WhatIf
    from raterlens.grading.decisions import Decisions, Remark
    from raterlens.grading.grades import Cut, On
    from raterlens.inference.profile import Profiles
    from raterlens.inference.rater_comparison import RaterComparison
    from raterlens.inference.resampling import Bootstrap
    from raterlens.ratings.groupings import GroupColumns


def fitted(ratings: Ratings, config: FitConfig, run: Run | None = None) -> "Fit":
    """Fit exactly what a request says, without testing its assumptions."""
    return _as_fit(carry_out(config, ratings, run or Run()), ratings)


def fit_with_assumptions(ratings: Ratings, config: FitConfig, run: Run | None = None) -> "Fit":
    """Fit what a request asks for, under its policy about assumptions: `rl.fit`."""
    return _as_fit(result_under_policy(ratings, config, run or Run()), ratings)


def _as_fit(found: Result, ratings: Ratings) -> "Fit":
    return Fit(**{field.name: getattr(found, field.name) for field in fields(found)}, ratings=ratings)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Fit(Result):
    """Estimates with their uncertainty, as dataframes of the kind that came in, and what can be done with them.

    `raters` has one row per rater: rho (discrimination relative to the yardstick), eta (severity, average 0), kappa
    (mean capability, 1 is the best possible rater), sharpness (1 is a rater without noise) and passes (average 0.5).

    Methods about ratings work on those that were fitted, unless they are given others. A fit from `rl.load` has none,
    and has to be given them.
    """

    ratings: Ratings | None = None
    """Those that were fitted; None in a fit from `rl.load`."""

    def _of(self, ratings: Ratings | Any | None, method: str) -> Ratings:
        """The ratings that were given, or else those that were fitted."""
        if ratings is None and self.ratings is None:
            raise InputError(
                "this fit was loaded from a file, which does not contain the ratings",
                f"pass them: fit.{method}(..., ratings=rl.read(...))",
                option="ratings",
            )
        found = self.ratings if ratings is None else ratings
        return found if isinstance(found, Ratings) else read(found)

    # -- by another request, and on other ratings --------------------------------------------------------------

    def refit(
        self, ratings: Ratings | None = None, *, start: "Fit | None" = None, **changes: Unpack[FitOptions]
    ) -> "Fit":
        """Fit again, by the same request but for some changes.

        Parameters
        ----------
        start
            A fit of the same model to begin from.
        changes
            Options of `rl.fit`.

        Examples
        --------
        >>> import raterlens as rl
        >>> fit = rl.fit(rl.load_example(), model="gmf", reference="quantile 0.9")
        >>> fit.refit(model="tfm").config.given()
        {'model': 'tfm', 'reference': 'quantile 0.9'}
        """
        ratings = self._of(ratings, "refit")
        make = fitted if changes.get("assumptions") is None else fit_with_assumptions
        return make(ratings, changed(self.config, changes, ratings), Run(start=start))

    def score(self, ratings: Ratings | Any, **columns: Any) -> Any:
        """Abilities of new students, with everything else fixed at this fit's estimates.

        Parameters
        ----------
        ratings
            From `rl.read`, or a path or dataframe, in the fit's scores. Raters, items and levels of facets must be
            among those of the fit. One student will do.
        columns
            For a path or dataframe: `student`, `rater`, `cut` and so on, as in `rl.read`.

        Returns
        -------
        dataframe
            student, n, mean_score, theta (posterior mean, whatever the method of the fit, students being taken for
            a sample of the fit's population) and theta_se (posterior standard deviation).

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> fit = rl.fit(ratings, model="gmf")
        >>> abs(fit.score(ratings)["theta"] - fit.students["theta"]).max() < 1e-8
        True
        """
        calibration = self.calibrated("students cannot be scored by it")
        new = ratings if isinstance(ratings, Ratings) else read_ratings(ratings, ReadConfig(**columns))
        return to_backend(score(calibration, new), new.backend)

    def profile(
        self,
        ratings: Ratings | None = None,
        raters: str | Sequence[str] | None = None,
        *,
        level: float = 0.95,
    ) -> "Profiles":
        """Profile-likelihood intervals of kappa for some or all raters."""
        from raterlens.inference.profile import profile  # loads scipy.stats

        return profile(self, self._of(ratings, "profile"), raters, level=level)

    def bootstrap(
        self,
        ratings: Ratings | None = None,
        *,
        replicates: int = 500,
        kind: str = "students",
        seed: int = 0,
        workers: int | None = None,
        client: "Client | None" = None,
        folder: str | Path | None = None,
        progress: "OnDone | bool" = False,
    ) -> "Bootstrap":
        """Bootstrap standard errors and bias of kappa: `raters()`; `replicates` has all estimates.

        Parameters
        ----------
        replicates
            How many. 200 are enough for a standard error.
        kind
            `students` drawn with replacement, or `parametric`: ratings drawn from the fitted model.
        seed
            The same seed gives the same replicates, whatever the number of workers.
        workers
            Processes; as many as there are cores where left out, and none but this one for 1.
        client
            A client of a Dask cluster (`distributed.Client`), whose workers then do the work; to the same numbers.
        folder
            Where to keep finished replicates. Called again with the same folder, an interrupted bootstrap goes on,
            and one with more replicates adds to those there are.
        progress
            True for a bar on stderr; or what to call with the numbers of finished and of all replicates.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=80, raters=4, items=3, seed=1).ratings
        >>> again = rl.fit(ratings, model="gmf").bootstrap(replicates=10, workers=1)
        >>> again.raters().columns
        ['rater', 'kappa', 'bias', 'se', 'replicates']
        """
        from raterlens.inference.resampling import Plan, bootstrap  # loads scipy.stats

        plan = Plan(self._of(ratings, "bootstrap"), self, kind, seed, replicates)
        return bootstrap(plan, workers=workers, client=client, folder=folder, progress=progress)

    def diagnose(
        self, ratings: Ratings | Any = None, *, time: Any = None, groups: "GroupColumns | None" = None
    ) -> "Diagnosis":
        """Look for what the model does not foresee: misfit, bias, drift, and raters who do not judge at all.

        Parameters
        ----------
        time
            When each rating was given, one value per rating in the order of `ratings` (numbers, dates, or labels that
            sort), or the name of a column that was read (`rl.read(..., beside=["day"])`). Drift is then tested.
        groups
            Further things that ratings differ in, such as the student's school: names of columns that were read, or a
            mapping with one label per rating. With them, bias is tested; what holds for all raters alike is not
            counted as bias.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.read(rl.load_example().table().with_row_index("day"), beside=["day"])
        >>> rl.fit(ratings, model="gmf").diagnose(time="day").table("change").columns[:3]
        ['rater', 'n', 'since']
        """
        from raterlens.diagnostics.diagnosis import diagnose  # a fit alone does without

        return diagnose(self, self._of(ratings, "diagnose"), time=time, groups=groups)

    def monitor(
        self, ratings: Ratings | None = None, *, previous: "Fit | str | Path | None" = None, time: Any = None
    ) -> "Monitoring":
        """During the marking: what has changed since an earlier fit, and drift alarms.

        Over a whole exam the chance of any false alarm is at most 5 %, however often one looks.

        Parameters
        ----------
        previous
            An earlier fit, or its fit.json, of the first of these ratings or of another exam.
        time
            When each rating was given, as for `diagnose`: alarms are then about a change at any time.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=100, raters=4, items=3, seed=1).ratings
        >>> rl.fit(ratings, model="gmf").monitor(time=ratings.student).words()
        ['No drift alarm (4 raters; valid however often you look).']
        """
        from raterlens.diagnostics.drift import monitor  # a fit alone does without

        return monitor(self, self._of(ratings, "monitor"), previous=_loaded(previous), time=time)

    def consequences(self, ratings: Ratings | None = None, *, cut: float | None = None) -> "Consequences":
        """Tell what the raters' differences mean for students.

        Parameters
        ----------
        cut
            The lowest passing mean score; half of the highest score where left out.

        Returns
        -------
        Consequences
            `changed`, the students who would change between pass and fail if the average rater had marked them (None
            for a loaded fit without ratings, which does not know who rated whom); the
            chance that two raters agree; the reliability of mean scores; the most lenient and the most severe rater.
            `summary()` says it in words.

        Examples
        --------
        >>> import raterlens as rl
        >>> found = rl.fit(rl.load_example(), model="gmf").consequences()
        >>> found.students, found.changed
        (363, 10)
        """
        from raterlens.diagnostics.differences import consequences  # a fit alone does without

        return consequences(self, self.ratings if ratings is None else ratings, cut)

    def differences(
        self, ratings: Ratings | None = None, diagnosis: "Diagnosis | None" = None, *, replicates: int = 0
    ) -> "Differences":
        """Do raters differ at all? Tests of equal severity and sharpness, and with a diagnosis of halo and drift.

        Sharpness is tested by the likelihood ratio of two models; for a loaded fit without ratings, by the estimates.

        Parameters
        ----------
        diagnosis
            `fit.diagnose()`, for halo and (with a time) drift.
        replicates
            Test sharpness by this many panels drawn from equally sharp raters (a parametric bootstrap) instead of the
            chi-squared distribution, which small panels do not follow. It stops early where the answer is plain.

        Examples
        --------
        >>> import raterlens as rl
        >>> rl.fit(rl.load_example(), model="gmf").differences().words()[0]
        'Raters differ in severity (p < 0.001) and sharpness (p < 0.001).'
        """
        from raterlens.diagnostics.differences import differences  # a fit alone does without

        return differences(self, self.ratings if ratings is None else ratings, diagnosis, replicates)

    def sensitivity(
        self,
        ratings: Ratings | None = None,
        *,
        links: tuple[str, ...] = ("probit",),
        models: tuple[str, ...] = ("tfm",),
        groups: "GroupColumns | None" = None,
    ) -> Any:
        """Kappa-bar of every rater under other choices: rater, change, kappa (of the fit), other, difference.

        Parameters
        ----------
        links, models
            Others to fit; those of the fit itself are passed over.
        groups
            One label per rating for each name, such as the student's school: each group is left out in turn.

        Examples
        --------
        >>> import raterlens as rl
        >>> table = rl.fit(rl.load_example(), model="gmf", standard_errors=False).sensitivity(links=(), models=())
        >>> table["change"].unique().to_list()
        ['without AM:Family']
        """
        from raterlens.diagnostics.comparison import sensitivity  # a fit alone does without

        ratings = self._of(ratings, "sensitivity")
        return to_backend(sensitivity(self, ratings, links=links, models=models, groups=groups), self.backend)

    def worth_knowing(self, ratings: Ratings | None = None, n: int = 10) -> Any:
        """Which answers would it pay most to look up?

        Parameters
        ----------
        n
            How many.

        Returns
        -------
        dataframe
            student, item, worth (how much of the raters' squared standard errors of sharpness it would take off, after
            those before it) and expected (the score to expect). Looking up these first biases no estimate.

        Examples
        --------
        >>> import raterlens as rl
        >>> fit = rl.fit(rl.load_example(), model="gmf")
        >>> fit.worth_knowing(n=3)["worth"].is_sorted(descending=True)
        True
        """
        from raterlens.planning.next_marks import worth_knowing  # a fit alone does without

        return to_backend(worth_knowing(self, self._of(ratings, "worth_knowing"), n), self.backend)

    def report(
        self,
        path: str | Path,
        ratings: Ratings | None = None,
        *,
        title: str | None = None,
        previous: "Fit | str | Path | None" = None,
        decisions: "Decisions | None" = None,
        remark: "Remark | None" = None,
    ) -> Path:
        """Write one self-contained HTML page.

        Parameters
        ----------
        path
            The file to write.
        ratings
            Those that were fitted, for a fit from `rl.load`: without them the page cannot say what it means for
            students, what stands out in the ratings and what would mend the design.
        title
            Heading of the page; "Rater report" where left out.
        previous
            An earlier fit, or its fit.json: who has changed since then beyond chance?
        decisions, remark
            What `decisions` and `remark` returned: the page then has a section about them.
        """
        # charts and templates are loaded for a page alone
        from raterlens.output.report.page import Document, render

        path = Path(path)
        document = Document(previous=_loaded(previous), decisions=decisions, remark=remark)
        document = document if title is None else replace(document, title=title)
        page = render(self, ratings=self.ratings if ratings is None else ratings, document=document)
        write_text(path, page, option="path")
        return path

    # -- about students ------------------------------------------------------------------------------------------

    def decisions(
        self,
        ratings: Ratings | None = None,
        *,
        cut: "Cut",
        on: "On" = "score",
        grades: Sequence[str] | None = None,
        safe: float = 0.9,
    ) -> "Decisions":
        """Which grade each student should have, and how sure that is.

        Parameters
        ----------
        ratings
            Others by the same raters on the same items. For a loaded fit without ratings, and where raters share a
            second ability, posteriors are taken as normal, and what depends on who marked whom is left out.
        cut
            Where each grade but the lowest begins: a number, or several in rising order.
        on
            The scale of the cuts: `score`, the mean score over all items that the average rater would be expected to
            give, in the numbers that raters gave; or `ability`.
        grades
            Names, the lowest grade first. Default: fail and pass, or the cuts in words.
        safe
            How probable a grade must be for a decision to be safe.

        Returns
        -------
        Decisions
            `students` has a row per student; `exam` has accuracy and consistency; `summary()` says it in words.

        Examples
        --------
        >>> import raterlens as rl
        >>> found = rl.fit(rl.load_example(), model="gmf").decisions(cut=0.5)
        >>> found.students.columns[4:10]
        ['raw', 'raw_grade', 'fair', 'fair_se', 'would_change', 'grade']
        >>> found.students.filter(student="S001").select("raw", "grade", "safe").row(0)
        (0.45, 'fail', False)
        """
        from raterlens.grading.decisions import decisions  # a fit alone does without

        ratings = self.ratings if ratings is None else ratings
        return decisions(self, ratings, cut, on=on, grades=grades, safe=safe)

    def remark(
        self,
        ratings: Ratings | None = None,
        *,
        cut: "Cut | Decisions",
        budget: int = 50,
        raters: Sequence[str] | None = None,
        not_by: Sequence[str] = (),
        per_rater: int | None = None,
    ) -> "Remark":
        """Which work should be marked again, and by whom, to put most grades right.

        A further mark is one more rater's reading of all of a student's items: `marks`, the most useful first, with
        what each is expected to gain. Once they are in, fit again with them and ask again.

        Parameters
        ----------
        cut
            Where grades begin, as in `decisions`, or what `decisions` returned.
        budget
            Further marks.
        raters
            Who may mark; where left out, all raters but those whom `verdicts` finds in need of attention (too severe,
            too lenient, blunt, ...), unless that leaves nobody.
        not_by
            Who may not.
        per_rater
            The most marks that one of them gets; three times the even share where left out.

        Examples
        --------
        >>> import raterlens as rl
        >>> plan = rl.fit(rl.load_example(), model="gmf").remark(cut=0.5, budget=20)
        >>> plan.marks.columns
        ['student', 'rater', 'grade', 'right', 'gain', 'becomes_safe']
        >>> bool(plan.gain > 1)
        True
        """
        from raterlens.diagnostics.findings import needing_attention  # a fit alone does without
        from raterlens.grading.decisions import Markers, remark

        of, doubted = self._of(ratings, "remark"), needing_attention(self) if raters is None else ()
        who = Markers(raters, not_by, doubted, per_rater)
        return remark(self, of, cut, budget, who)

    def halo_test(self, ratings: Ratings | None = None) -> HaloTest:
        """Do the scores of a reading share more than ability? Fits without, with a common and with each rater's own
        reading effect, and likelihood-ratio tests between them (`table`).

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=100, raters=4, items=4, halo=1.0, seed=2).ratings
        >>> rl.fit(ratings, model="gmf", halo="none").halo_test().table["p"][0] < 0.001
        True
        """
        return halo_test(self, self._of(ratings, "halo_test"))

    def ability_test(self, ratings: Ratings | None = None) -> AbilityTest:
        """Are abilities normally distributed? The likelihood ratio of a smooth shape against a normal one (`table`).

        Examples
        --------
        >>> import raterlens as rl
        >>> rl.fit(rl.load_example(), model="gmf").ability_test().finding
        'no clear evidence against a normal distribution'
        """
        return ability_test(self, self._of(ratings, "ability_test"))

    # -- from the estimates alone ---------------------------------------------------------------------------------

    def capability(
        self,
        *,
        reference: Reference | None = None,
        population: Students | None = None,
        origin: Origin | None = None,
        item: str | None = None,
        theta: float | Sequence[float] | None = None,
    ) -> Any:
        """Capability on another yardstick, without fitting again.

        Parameters
        ----------
        reference, population, origin
            As in `rl.fit`; those of the fit where left out. With another reference than `"max"` rho and
            kappa may exceed 1.
        item
            On this item alone, at its actual difficulty (and with its thresholds and slope, where it has its own);
            the origin is then `"absolute"` unless given.
        theta
            Abilities at which to give kappa(theta), which may exceed 1 at some of them, instead of its mean.

        Returns
        -------
        dataframe
            A row per rater: rho, eta and kappa with standard errors and the 95 % interval of kappa. With `theta` a
            row for every rater and ability: kappa with its pointwise 95 % interval. With more than 500 raters,
            covariances between raters are not kept, and intervals go without them.

        Examples
        --------
        >>> import raterlens as rl
        >>> fit = rl.fit(rl.load_example(), model="gmf")
        >>> near_the_cut = fit.capability(population=rl.Window(0.5, 0.25))
        >>> curves = fit.capability(theta=[-1, 0, 1])
        >>> curves.columns
        ['rater', 'theta', 'kappa', 'kappa_low', 'kappa_high']
        """
        self.calibrated("its capability is the same on any yardstick")
        if item is not None and origin is None:
            origin = ABSOLUTE
        raters = self.table("raters")["rater"]
        yardstick = Yardstick.chosen(self.yardstick, raters, reference, population, origin)
        found = measured_fit(self, yardstick, item)
        if theta is not None:
            return to_backend(found.curves(raters, theta), self.backend)
        estimates = found.raters()
        columns = {name: getattr(estimates, name) for name in RATER_COLUMNS}
        return to_backend(pl.DataFrame({"rater": raters, **columns}), self.backend)

    def compare_raters(
        self, *, k: int | None = None, alpha: float = 0.05, target_se: float = 0.05
    ) -> "RaterComparison":
        """Who differs from whom and from the panel's mean, and who is among the best: tables `raters` and `pairs`.

        Parameters
        ----------
        k
            How many count as the best, and as the worst; a fifth of the raters where left out.
        alpha
            Level of the findings named in the summary.
        target_se
            Standard error of kappa that is wanted, for the number of further ratings.

        Examples
        --------
        >>> import raterlens as rl
        >>> found = rl.fit(rl.load_example(), model="gmf").compare_raters()
        >>> found.raters.filter(verdict="below the mean")["rater"].to_list()
        ['AM:Sport', 'AM:Work']
        """
        from raterlens.inference.rater_comparison import compare_raters  # loads scipy.stats

        return compare_raters(self, k=k, alpha=alpha, target_se=target_se)

    def verdicts(self) -> Any:
        """Judge each rater: standard, sharpness, what costs most, and the next step.

        Returns
        -------
        dataframe
            A row per rater: rater, standard (too severe, severe, typical, lenient, too lenient), sharpness (sharp,
            fair or sharp, fair, probably fair, probably blunt, blunt, cannot tell students apart, reversed), halo
            (none, some, strong) where each rater's was estimated, costs_most (severity, discrimination, halo,
            nothing), next_step. A verdict is "unclear" where ratings are too few. All rest on 95 % intervals and on
            scales that do not depend on who else is on the panel; docs/diagnostics.md has the lines and their error
            rates.

        Examples
        --------
        >>> import raterlens as rl
        >>> rl.fit(rl.load_example(), model="gmf").verdicts().filter(rater="DA:School").row(0)[:4]
        ('DA:School', 'too severe', 'fair or sharp', 'severity')
        """
        from raterlens.diagnostics.wording import rater_table  # a fit alone does without

        found = rater_table(self)
        sharpness, halo = pl.col("sharpness_verdict").alias("sharpness"), pl.col("halo_verdict").alias("halo")
        own = [] if (found["halo_verdict"] == "").all() else [halo]
        chosen = found.select("rater", "standard", sharpness, *own, "costs_most", "next_step")
        return to_backend(chosen, self.backend)

    def what_if(
        self, rater: str, severity: float | Sequence[float] | None = None, *, halo: float | None = None
    ) -> "WhatIf":
        """Capability of a rater at other severities (and with another halo), the best one and what it would gain."""
        from raterlens.diagnostics.what_if import what_if  # a fit alone does without

        return what_if(self, rater, severity, halo=halo)

    def advice(self) -> Any:
        """Tell what each rater lost to severity, discrimination and halo, with a paragraph of feedback."""
        from raterlens.diagnostics.wording import advice  # a fit alone does without

        return to_backend(advice(self), self.backend)

    def assignment(self, abilities: Sequence[float] = (-1.5, -0.5, 0.5, 1.5)) -> Any:
        """Who should mark whom: for each ability, raters from the most to the least capable there."""
        from raterlens.diagnostics.what_if import assignment  # a fit alone does without

        return to_backend(assignment(self, abilities), self.backend)

    @property
    def plot(self) -> "Plots":
        """Charts of this fit: `fit.plot.capability()`, `fit.plot.curves(["AM", "BE"])`; press Tab for all of them."""
        from raterlens.charts import Plots  # a fit alone does without

        return Plots(self)

    # -- for people and for other programs --------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"<Fit of {self.model} by {self.method}: {counted(self.n_ratings, 'rating')} of "
            f"{counted(self.n_students, 'student')} by {counted(self.n_raters, 'rater')}"
            f"{'' if self.converged else ', NOT converged'}>"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from raterlens.diagnostics.findings import rater_findings  # a fit alone does without
        from raterlens.diagnostics.wording import aside, who
        from raterlens.pictures.rater_pictures import capability

        found = rater_findings(self)
        beside = [sentence(aside(found))] if aside(found) else []
        cautions = [counted(len(self.warnings), "caution") + ": see fit.warnings"] if self.warnings else []
        about = f"{repr(self)[1:-1]}, log-likelihood {self.loglik:.1f}"
        return shown(who(found), lines([*beside, about, *cautions]), framed(capability(self), 640))

    def to_excel(self, path: str | Path, ratings: Ratings | None = None) -> Path:
        """Write a workbook: raters with verdicts, items, students, unexpected ratings, bias, pairs of raters, use of
        the scores and warnings; for a fit from `rl.load` without ratings, the estimates alone. Needs the extra
        `excel`."""
        from raterlens.output.excel import write_fit  # needs an optional package

        return write_fit(self, Path(path), self.ratings if ratings is None else ratings)

    def to_xarray(self) -> "xr.Dataset":
        """Estimates, standard errors and intervals as an xarray Dataset with the dimensions rater, item and student
        (extra `xarray`).

        Examples
        --------
        >>> import raterlens as rl
        >>> estimates = rl.fit(rl.load_example(), model="gmf").to_xarray()
        >>> float(estimates["kappa"].sel(rater="AM:Sport").round(2))
        0.38
        """
        from raterlens.output.result_tables import dataset  # needs an optional package

        return dataset(self)


def _loaded(fit: Fit | str | Path | None) -> Fit | None:
    """An earlier fit, read first where it is the path of one."""
    return fit if fit is None or isinstance(fit, Fit) else Fit(**read_saved(fit))
