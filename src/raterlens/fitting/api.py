"""`rl.fit`, `rl.fit_models` and `rl.load`: from ratings, or from a file, to fits."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from raterlens.base.errors import OptionError
from raterlens.base.processes import map_in_processes
from raterlens.base.text import Message, Option
from raterlens.config import READ_OPTIONS, ColumnOptions, fit_config
from raterlens.estimation.optimiser import OnProgress
from raterlens.fitting.checks import Run, check, recorded
from raterlens.fitting.fit import Fit, fit_with_assumptions
from raterlens.inference.result import read_saved
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read

if TYPE_CHECKING:
    from distributed import Client

Options = Mapping[str, Any]
# What has to do with how one fit is done, not with its model.
_ALONE = ("progress", "checkpoint", "resume", "client")


def fit(
    ratings: Ratings | Any,
    model: str | None = None,
    method: str = "mml",
    link: str | None = None,
    *,
    start: Fit | None = None,
    progress: OnProgress | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    client: "Client | None" = None,
    **options: Unpack[ColumnOptions],
) -> Fit:
    """Estimate every rater's capability.

    Parameters
    ----------
    ratings
        From `rl.read`; a path or dataframe is read first, with its columns recognised, or named by `student`, `rater`,
        `item`, `score`, `items`, `cut` and the other options of `rl.read`.
    model
        None, the default: the data decide, starting from `gmf`, and `fit.assumptions` says what was added and why. Or
        exactly one of these: `gmf` (raters differ in severity and discrimination), `tfm` (in severity only), `probit`
        (raters see ability through noise), `hrm` (raters detect a true category, pass or fail, that depends on
        ability) or `dawid-skene` (the same without ability: each item has a prevalence).
    method
        `mml` (marginal maximum likelihood by quadrature), `laplace` (its Laplace approximation) or `hl`
        (hierarchical likelihood, the paper's procedure; biased with few ratings per student).
    link
        `logit` (the default), `probit`, `cauchit`, `cloglog` or `log`. The log link's pass rate exp(S) is capped at
        1 where S exceeds 0; how often that happens is among the warnings.
    scale
        How ordered scores get their thresholds: `rating scale` (shared), `partial credit` (each item its own, up to the
        highest score that anybody gave it) or `graded` (cumulative, shared); `rater`, `partial credit, rater` and
        `graded, rater` give each rater thresholds of its own around these, from a distribution whose spread is
        estimated (`fit.table("spreads")`), and `rater free` without one. No matter for pass/fail ratings.
    item_slopes
        Let items differ in how strongly they reflect ability.
    covariates
        A dataframe, or the path of a table, with the column `rater` and columns of numbers: severity and the logarithm
        of discrimination are linear functions of them, in `fit.table("covariates")`, instead of a number per rater.
    anchors
        Parameters to hold: `rl.Anchors(...)`, or an earlier fit, all of whose raters, items, levels and thresholds
        that occur here are held. Numbers are then on the earlier fit's scale: its yardstick and origin are the default,
        and the mean and standard deviation of the students on it are estimated, `fit.table("population")`.
    reference
        The yardstick, with discrimination rho = 1: `"max"`, the most discriminating rater (the default, as in the
        paper; the largest of noisy slopes is somewhat too large, so beyond 500 raters, with standard errors, it is
        the largest on average over what is known of all slopes); `"max corrected"`, the same less what chance adds
        to it, which needs standard errors; `"quantile 0.9"` of the slopes; a rater's label; the slope itself, a number;
        or `"perfect"`, a rater without noise, so that nobody's numbers depend on who else is on the panel (the default
        for model `probit`). With another rater or slope than the largest, rho and kappa may exceed 1.
    population
        The students over whom kappa averages: `"standard"` normal (the default), `(mean, sd)` for another normal
        population, `"estimated"` for these students as estimated, or `rl.Window(centre, half_width)`, abilities
        around a cut score.
    origin
        Severity relative to the `"average"` rater (the default, as in the paper) or `"absolute"`, with the actual
        difficulty for an average student (eta - alpha; the default for model `probit`).
    assumptions
        `"adapt"` (the default where no model is named) adds what the ratings show: raters as a sample, and for ordered
        scores thresholds of each item and rater x item interactions, each with an estimated spread; halo, item slopes
        and the students' distribution where a likelihood-ratio test leaves no doubt (p < 0.001). `"warn"` (the default
        where a model is named) fits exactly the model and warns about what it misses; `"ignore"` tests nothing. What
        other options say is kept as it is. `fit.assumptions` has every outcome.
    prior
        `"panel"` treats raters as a random sample: slopes come from a t distribution with 3 degrees of freedom,
        severities from a normal one, and how much raters differ is estimated with the rest (`fit.spread`), with what is
        not known about it in every interval. Errors are smaller and rankings better, most of all in small panels and
        where raters have few ratings; slopes may be negative, and sigma is the largest slope on average over what is
        known of all of them. With covariates, these say what is usual of such raters, and each rater differs from it.
        `"none"` judges each rater by its own ratings alone, as the paper does. For method `mml`.
    allow_reversed
        Let a slope be negative: a rater who scores against ability, or who passes failing work more often than
        passing work (`hrm`, `dawid-skene`), with negative kappa.
    halo
        What all scores of a student by a rater share besides ability, the impression of one reading: `"common"`, as
        strong for every rater, or `"rater"`, each rater's own. `fit.raters` then has its spread (`halo`), and intervals
        allow for it. `"none"` leaves it out. Where the same student, rater and item occur again, they are of the next
        reading. For method `mml` and every link but `log`.
    repeats
        Repeated answers of a rater to the same question (`rl.read(draw=...)`, or recognised): `"draws"`, the default,
        lets them share the rater's reading of it, by as much as the ratings show for each rater, and counts answers
        that never differ as one; `"separate"` takes them for independent ratings. For method `mml` and every link but
        `log`; by others they are independent, which a warning says.
    group_means
        Mean ability of the groups that `rl.read(group=...)` names: `"each"` has its own, `"linear"`: on a line in the
        group's number, or `"none"`. `"raters"`: students marked by the same raters are a group.
    fair
        `"within"`: abilities, decisions and fair results include what a student's group says; `"across"`: they do not.
    interactions
        Raters who differ from item to item, or between levels of a further facet: `("rater", "item")`,
        `("rater", "topic")`, or a list of such terms, each of which may be written `"rater:item"`. What a rater adds
        to its severity there comes from a normal distribution, whose spread is estimated with the rest and tested
        (`fit.interactions`, `fit.table("spreads")`). For method `mml` and every link but `log`.
    trusted
        Raters who define ability, such as human experts among LLM judges.
    shared
        Whether raters who are not trusted may share a second ability, that is, agree on something besides the truth,
        which known answers and trusted raters do not follow: `True`, `False` or `"auto"`, the default: where a test at
        5 % finds one (`fit.table("shared")`), given trusted raters or at least 20 known answers. `fit.raters` then has
        how much each follows it (`bias`), and kappa and sharpness are on the scale of the truth, on average over it.
    known_slope
        How strongly a known answer (`rl.read(known=...)`) shows ability: 6 says that it is hardly ever wrong. For
        method `mml`; see that 3 and 10 give about the same.
    ability
        How students' abilities are distributed: `"normal"`, or `"smooth"`, which estimates how skewed they are and how
        heavy their tails, with median 0 and the middle two thirds of students between about -1 and 1
        (`fit.table("ability")`).
        For method `mml` and every link but `log`.
    starts, seed
        Starting values to try at most, and the seed of the random ones: for `hrm` and `dawid-skene`, and for other
        models by `mml` with few ratings, whose likelihood may have several maxima. With more than 300 ratings, fewer
        are tried where three agree; with no more, raters at a limit are tried the other way besides, one at a time.
    covariance
        Where standard errors come from: `observed` information (the default; for method `laplace` that of its own
        approximation); `expected` information on this design; `sandwich`, clustered by student, which holds where
        ratings of a student depend on each other in ways that the model leaves out; `opg`, the students' outer
        products; or, for method `hl`, `conditional` on the abilities, as the paper's procedure implies: too small.
    standard_errors
        Compute standard errors and intervals.
    start
        A fit of the same model to begin from, of similar ratings: a few iterations are then enough.
    progress
        Called once per iteration with a `Progress` record.
    checkpoint, resume
        A file in which the fit keeps what it has done so far, for method `mml`; if it is interrupted, the same call
        with `resume=True` goes on from there, to the same estimates. The file is removed when the fit is done.
    client
        A client of a Dask cluster (`distributed.Client`), for method `mml`: the students' ratings are kept and worked
        on by its workers. Packed ratings beyond memory are read by the workers themselves, from a file that all of
        them can open. What is computed here: the optimiser's steps, and the covariance matrix from what the workers
        add up.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), model="gmf")
    >>> fit.converged
    True
    >>> fit.raters.columns[:4]
    ['rater', 'n', 'mean_score', 'rho']

    From a dataframe:

    >>> essays = rl.simulate(students=50, raters=3, items=2, seed=1).ratings.table().rename({"rater": "examiner"})
    >>> rl.fit(essays, student="student", rater="examiner", item="item", score="score").n_raters
    3
    """
    columns = {name: value for name, value in options.items() if name in READ_OPTIONS}
    asked = {name: value for name, value in options.items() if name not in columns}
    config = fit_config(recorded({"model": model, "method": method, "link": link, **asked}))
    run = Run(progress, checkpoint, resume, client, start)
    check(config, run)
    if not isinstance(ratings, Ratings):
        ratings = read(ratings, **columns)  # type: ignore[arg-type]
    elif columns:
        name = next(iter(columns))
        raise OptionError(
            Message(Option(name), " says how to read a table, and these ratings have been read"),
            "leave it out, or give rl.fit the table itself",
            value=columns[name],
        )
    return fit_with_assumptions(ratings, config, run)


def load(path: str | Path) -> Fit:
    """Read a fit that `Fit.save` or the command wrote. The file is data only: nothing in it is ever run."""
    return Fit(**read_saved(path))


def fit_models(
    ratings: Ratings | Any,
    models: Sequence[str] | Mapping[str, Options],
    *,
    workers: int | None = None,
    client: "Client | None" = None,
) -> dict[str, Fit]:
    """Fit several models at a time.

    Parameters
    ----------
    ratings
        As for `rl.fit`.
    models
        Names of models, or a name of your own for each with its options of `rl.fit`.
    workers
        Processes; as many as there are cores where left out.
    client
        A client of a Dask cluster (`distributed.Client`), whose workers then fit a model each. Packed ratings beyond
        memory are read by the workers themselves, from a file that all of them can open. To spread one model over all
        workers, use `rl.fit` with `client`.

    Returns
    -------
    dict of fits
        By name, in the order given, ready for `rl.compare(*fits.values(), names=list(fits))`.

    Examples
    --------
    >>> import raterlens as rl
    >>> fits = rl.fit_models(rl.load_example(), {"equal": {"model": "tfm"}, "free": {"model": "gmf"}}, workers=2)
    >>> rl.compare(*fits.values(), names=list(fits)).models.select("fit", "against", "df").rows()
    [('equal', None, None), ('free', 'equal', 15)]
    """
    wanted = _named(models)
    if not isinstance(ratings, Ratings):
        ratings = read(ratings)
    with closing(
        map_in_processes(_fitted, ratings, list(wanted.items()), workers=workers, client=client)
    ) as ready:
        found = {name: replace(one, ratings=ratings) for (name, _), one in ready}
    return {name: found[name] for name in wanted}


def _named(models: Sequence[str] | Mapping[str, Options]) -> dict[str, Options]:
    if isinstance(models, str) or not models:
        raise OptionError(
            f"models={models!r}",
            "give a list of models, for example ['tfm', 'gmf']",
            value=models,
            option="models",
        )
    if not isinstance(models, Mapping):
        if len(set(models)) < len(models):
            raise OptionError(
                f"models={models!r} names one twice",
                "give each a name of its own: {name: options}",
                value=models,
                option="models",
            )
        return {model: {"model": model} for model in models}
    for name, options in models.items():
        if not isinstance(options, Mapping):
            raise OptionError(
                f"the options of {name!r} are a {type(options).__name__}",
                "give a dict such as {'model': 'tfm'}",
                value=options,
                option="models",
            )
        for option in _ALONE:
            if option in options:
                raise OptionError(
                    f"{option!r} among the options of {name!r} is for a fit alone",
                    "leave it out",
                    option=option,
                )
    return dict(models)


def _fitted(ratings: Ratings, task: tuple[str, Options]) -> Fit:
    return replace(fit(ratings, **task[1]), ratings=None)  # the caller has them
