"""`Fit`, what users hold: what was found, and what can be done with it. Thin: the work is done in the rooms above."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from raterlens.base.drafts import write_whole
from raterlens.config import FitConfig, FitOptions, ReadConfig
from raterlens.estimation.scoring import score
from raterlens.facade.assumption_tests import AssumptionTests
from raterlens.pipeline.carry_out import carry_out
from raterlens.pipeline.request import changed
from raterlens.pipeline.steps import Run
from raterlens.ratings.backend import as_came
from raterlens.ratings.coded import Ratings
from raterlens.reading.reader import read, read_ratings
from raterlens.result.saved import read_saved

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.base.resumable import OnDone
    from raterlens.diagnostics.consequences import Consequences
    from raterlens.diagnostics.diagnosis import Diagnosis
    from raterlens.diagnostics.differences import Differences
    from raterlens.diagnostics.monitoring import Monitoring
    from raterlens.grading.decisions import Decisions
    from raterlens.grading.remarking import Remark
    from raterlens.inference.bootstrap import Bootstrap
    from raterlens.inference.profile import Profiles


def fitted(ratings: Ratings, config: FitConfig, run: Run | None = None) -> "Fit":
    """The fit that a request makes of ratings."""
    found = carry_out(config, ratings, run or Run())
    return Fit(**{field.name: getattr(found, field.name) for field in fields(found)})


class Fit(AssumptionTests):
    """Estimates with their uncertainty, as dataframes of the kind that came in, and what can be done with them.

    `raters` has one row per rater: rho (discrimination relative to the yardstick), eta (severity, average 0), kappa
    (mean capability, 1 is the best possible rater), sharpness (1 is a rater without noise) and passes (average 0.5).
    """

    __slots__ = ()

    def refit(self, ratings: Ratings, *, start: "Fit | None" = None, **changes: Unpack[FitOptions]) -> "Fit":
        """Fit again, by the same request but for some changes.

        Parameters
        ----------
        ratings
            The same, or others.
        start
            A fit of the same model to begin from.
        changes
            Options of `rl.fit`.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> fit = rl.fit(ratings, reference="quantile 0.9")
        >>> fit.refit(ratings, model="tfm").config.given()
        {'model': 'tfm', 'reference': 'quantile 0.9'}
        """
        return fitted(ratings, changed(self.config, changes, ratings), Run(start=start))

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
        >>> fit = rl.fit(ratings)
        >>> abs(fit.score(ratings)["theta"] - fit.students["theta"]).max() < 1e-8
        True
        """
        calibration = self.calibrated("students cannot be scored by it")
        new = ratings if isinstance(ratings, Ratings) else read_ratings(ratings, ReadConfig(**columns))
        return as_came(score(calibration, new), new.backend)

    def profile(
        self, ratings: Ratings, raters: str | Sequence[str] | None = None, *, level: float = 0.95
    ) -> "Profiles":
        """Of the rater in that place."""
        from raterlens.inference.profile import profile  # loads scipy.stats

        return profile(self, ratings, raters, level=level)

    def bootstrap(
        self,
        ratings: Ratings,
        *,
        replicates: int = 500,
        kind: str = "students",
        seed: int = 0,
        workers: int | None = None,
        client: "Client | None" = None,
        folder: str | Path | None = None,
        progress: "OnDone | bool" = False,
    ) -> "Bootstrap":
        """Fit again and again on ratings that could have been.

        Parameters
        ----------
        ratings
            Those that were fitted.
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

        Returns
        -------
        Bootstrap
            `raters()` has standard errors and bias; `replicates` all estimates.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=80, raters=4, items=3, seed=1).ratings
        >>> again = rl.fit(ratings).bootstrap(ratings, replicates=10, workers=1)
        >>> again.raters().columns
        ['rater', 'kappa', 'bias', 'se', 'replicates']
        """
        from raterlens.inference.bootstrap import Plan, bootstrap  # loads scipy.stats

        plan = Plan(ratings, self, kind, seed, replicates)
        return bootstrap(plan, workers=workers, client=client, folder=folder, progress=progress)

    def diagnose(
        self, ratings: Ratings | Any, *, time: Any = None, groups: Mapping[str, Any] | None = None
    ) -> "Diagnosis":
        """Look for what the model does not foresee: misfit, bias, drift, and raters who do not judge at all.

        Parameters
        ----------
        ratings
            The ratings that were fitted (or others by the same raters on the same items).
        time
            When each rating was given, one value per rating in the order of `ratings` (numbers, dates, or labels that
            sort), or the name of a facet. With it, drift is tested.
        groups
            Further things that ratings differ in, by name: one label per rating, such as the student's school. With
            them, bias is tested; what holds for all raters alike is not counted as bias.

        Returns
        -------
        Diagnosis

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> found = rl.fit(ratings).diagnose(ratings)
        >>> found.table("raters").columns[:4]
        ['rater', 'n', 'infit', 'infit_z']
        """
        from raterlens.diagnostics.diagnosis import diagnose  # a fit alone does without

        return diagnose(
            self, ratings if isinstance(ratings, Ratings) else read(ratings), time=time, groups=groups
        )

    def monitor(
        self, ratings: Ratings, *, previous: "Fit | str | Path | None" = None, time: Any = None
    ) -> "Monitoring":
        """During the marking: what has changed since an earlier fit, and drift alarms.

        Over a whole exam the chance of any false alarm is at most 5 %, however often one looks.

        Parameters
        ----------
        ratings
            Those that were fitted.
        previous
            An earlier fit, or its fit.json, of the first of these ratings or of another exam.
        time
            When each rating was given, as for `diagnose`: alarms are then about a change at any time.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(students=100, raters=4, items=3, seed=1).ratings
        >>> rl.fit(ratings).monitor(ratings, time=ratings.student).words()
        ['No drift alarm (4 raters; valid however often you look).']
        """
        from raterlens.diagnostics.monitoring import monitor  # a fit alone does without

        before = previous if previous is None or isinstance(previous, Fit) else Fit(**read_saved(previous))
        return monitor(self, ratings, previous=before, time=time)

    def consequences(self, ratings: Ratings | None = None, *, cut: float | None = None) -> "Consequences":
        """What the raters' differences mean for students.

        Parameters
        ----------
        ratings
            Those that were fitted. Without them it is not known who rated whom: `changed` is then None.
        cut
            The lowest passing mean score; half of the highest score where left out.

        Returns
        -------
        Consequences
            `changed`, the students who would change between pass and fail if the average rater had marked them; the
            chance that two raters agree; the reliability of mean scores; the most lenient and the most severe rater.
            `summary()` says it in words.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> found = rl.fit(ratings).consequences(ratings)
        >>> found.students, found.changed
        (363, 10)
        """
        from raterlens.diagnostics.consequences import consequences  # a fit alone does without

        return consequences(self, ratings, cut)

    def differences(
        self,
        ratings: Ratings | None = None,
        diagnosis: "Diagnosis | None" = None,
        *,
        replicates: int = 0,
    ) -> "Differences":
        """Do raters differ at all? Tests of equal severity and sharpness, and with a diagnosis of halo and drift.

        Parameters
        ----------
        ratings
            Those that were fitted: sharpness is then tested by the likelihood ratio of two models.
        diagnosis
            `fit.diagnose(ratings)`, for halo and (with a time) drift.
        replicates
            Test sharpness by so many panels drawn from equally sharp raters (a parametric bootstrap) instead of the
            chi-squared distribution, which small panels do not follow. It stops early where the answer is plain.

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.load_example()
        >>> rl.fit(ratings).differences(ratings).words()[0]
        'Raters differ in severity (p < 0.001) and sharpness (p < 0.001).'
        """
        from raterlens.diagnostics.differences import differences  # a fit alone does without

        return differences(self, ratings, diagnosis, replicates)

    def sensitivity(
        self,
        ratings: Ratings,
        *,
        links: tuple[str, ...] = ("probit",),
        models: tuple[str, ...] = ("tfm",),
        groups: Mapping[str, Any] | None = None,
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
        >>> ratings = rl.load_example()
        >>> table = rl.fit(ratings, standard_errors=False).sensitivity(ratings, links=(), models=())
        >>> table["change"].unique().to_list()
        ['without AM:Family']
        """
        from raterlens.diagnostics.sensitivity import sensitivity  # a fit alone does without

        return as_came(sensitivity(self, ratings, links=links, models=models, groups=groups), self.backend)

    def worth_knowing(self, ratings: Ratings, n: int = 10) -> Any:
        """Which answers would it pay most to look up?

        Parameters
        ----------
        ratings
            Those that were fitted, with the known answers if there are any.
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
        >>> ratings = rl.load_example()
        >>> fit = rl.fit(ratings)
        >>> fit.worth_knowing(ratings, 3)["worth"].is_sorted(descending=True)
        True
        """
        from raterlens.judging.worth_knowing import worth_knowing  # a fit alone does without

        return as_came(worth_knowing(self, ratings, n), self.backend)

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
            Those that were fitted: the page then opens with what it means for students, and shows what stands out in
            the ratings and what would mend the design.
        title
            Heading of the page; "Rater report" where left out.
        previous
            An earlier fit, or its fit.json: who has changed since then beyond chance?
        decisions, remark
            What `decisions` and `remark` returned: the page then has a section about them.
        """
        from raterlens.output.report.document import (
            Document,  # charts and templates are loaded only for a page
        )
        from raterlens.output.report.page import render

        path = Path(path)
        before = previous if previous is None or isinstance(previous, Fit) else Fit(**read_saved(previous))
        document = Document(previous=before, decisions=decisions, remark=remark)
        document = document if title is None else replace(document, title=title)
        page = render(self, ratings=ratings, document=document)
        write_whole(path, lambda draft: draft.write_text(page, encoding="utf-8"), option="path")
        return path
