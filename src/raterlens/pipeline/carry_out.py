"""The pipeline on one screen: check, estimate, covariance, tables. Every fit is made here."""

from collections.abc import Iterable, Iterator

from raterlens.base.errors import OptionError, choose
from raterlens.base.linear_algebra import suited_to
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.kernels.break_even import missed
from raterlens.models.registry import COMMON, MODELS, FacetsSpec
from raterlens.pipeline.facets_checks import check_together
from raterlens.pipeline.facets_task import FacetsTask
from raterlens.pipeline.steps import Run, Task
from raterlens.ratings.coded import Ratings
from raterlens.result.record import Result


def carry_out(config: FitConfig, ratings: Ratings, run: Run) -> Result:
    """What the request finds in the ratings."""
    if config.trusted is None and ratings.trusted:
        config = config.changed(trusted=ratings.trusted)
    check(config, run)
    ratings.check_estimable()
    with suited_to(ratings):
        task = _task(ratings, config, run)
        run.enter("fitting")
        estimate = task.estimate()
        wanted = config.standard_errors or task.needs_covariance
        run.enter("standard errors")
        covariance = task.covariance(estimate) if wanted else None
        found = task.found(estimate, covariance)
    return Result(
        config=config,
        link=found.link,
        loglik=found.loglik,
        sigma=found.sigma,
        sigma_se=found.sigma_se,
        alpha=found.alpha,
        n_parameters=found.n_parameters,
        n_ratings=ratings.n_ratings,
        n_students=ratings.n_students,
        n_raters=ratings.n_raters,
        n_items=ratings.n_items,
        optimiser=found.optimiser,
        warnings=(*found.warnings, *missed(ratings.n_ratings)),
        notes=ratings.notes,
        tables=found.tables,
        backend=ratings.backend,
        yardstick=found.yardstick,
        calibration=found.calibration,
    )


def check(config: FitConfig, run: Run) -> None:
    """Refuse what can be refused before the ratings are read."""
    spec = MODELS[choose("model", config.model, MODELS)]
    for name, offered in (("method", spec.methods), ("link", spec.links)):
        value = getattr(config, name)
        if value is not None and value not in offered:
            raise OptionError(
                f"model {spec.name!r} takes {name} {' or '.join(repr(one) for one in offered)}, not {value!r}",
                Message("leave ", name, " out, or use ", Option("model", "gmf")),
                value=value,
                option=name,
            )
    if strange := [name for name in config.given() if name not in spec.takes | COMMON]:
        raise OptionError(
            Message(f"model {spec.name!r} takes no ", *_or(Option(name) for name in strange)),
            Message("leave it out, or use ", Option("model", "gmf")),
            option=strange[0],
        )
    run.check(config, by_parts=isinstance(spec, FacetsSpec) and config.method == "mml")
    if isinstance(spec, FacetsSpec):
        check_together(config)


def _or(options: Iterable[Option]) -> Iterator[str | Option]:
    for place, option in enumerate(options):
        yield from (" or ", option) if place else (option,)


def _task(ratings: Ratings, config: FitConfig, run: Run) -> Task:
    if isinstance(MODELS[config.model], FacetsSpec):
        return FacetsTask.of(ratings, config, run)
    from raterlens.pipeline.latent_class_task import LatentClassTask  # most fits do without

    return LatentClassTask.of(ratings, config, run)
