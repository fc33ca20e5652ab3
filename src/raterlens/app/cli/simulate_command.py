"""`raterlens simulate`: a file of ratings drawn from a model, and one of the truth that they were drawn from."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from cyclopts import Parameter

from raterlens.app.cli.convert_command import Kind, Target, kind_of, write_ratings
from raterlens.app.cli.options import one_of
from raterlens.base.drafts import write_whole
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config import LinkName
from raterlens.models.registry import MODELS

if TYPE_CHECKING:
    import polars as pl

    from raterlens.simulation.simulate import Simulated

SIMULATED = [name for name, spec in MODELS.items() if getattr(spec, "ability", True)]
"""Models whose ratings depend on an ability, which is drawn."""

# Thresholds of ordered scores lie between minus this and this, in logits.
_WIDEST = 1.5


@Parameter(name="*")
@dataclass(frozen=True)
class Design:
    """Who rates what, by which model."""

    students: Annotated[int, Parameter(help="Number of students.")] = 500
    raters: Annotated[int, Parameter(help="Number of raters.")] = 20
    items: Annotated[int, Parameter(help="Number of items.")] = 5
    raters_per_student: Annotated[
        int | None, Parameter(help="Raters per student, drawn at random; default: all.")
    ] = None
    common_students: Annotated[
        int | None, Parameter(help="Instead: students rated by every rater; the others have one rater each.")
    ] = None
    model: Annotated[str, Parameter(help=f"{one_of(SIMULATED)}.")] = "gmf"
    link: Annotated[
        str | None, Parameter(help=f"{one_of(get_args(LinkName))}; the model's own by default.")
    ] = None
    seed: Annotated[int, Parameter(help="The same seed gives the same ratings.")] = 0


DEFAULT_DESIGN = Design()


def simulate(
    *,
    out: Target,
    to: Kind = None,
    truth: Annotated[
        Path | None, Parameter(help="csv file for each rater's true discrimination, severity and capability.")
    ] = None,
    categories: Annotated[int, Parameter(help="Score categories; 2 is pass or fail.")] = 2,
    design: Design = DEFAULT_DESIGN,
) -> None:
    """Simulate ratings with known truth, to try out a design or a method."""
    kind = kind_of(out, to)
    if truth is not None and (kind_of(truth) != "csv" or truth.absolute() == out.absolute()):
        raise OptionError(
            f"the truth cannot go to {str(truth)!r}",
            Message("give it a csv file of its own: ", Option("truth", "NAME.csv")),
            value=str(truth),
            option="truth",
        )
    _check(categories, design.model)
    # heavy, so not before it is needed
    import numpy as np

    from raterlens.simulation.simulate import simulate as draw

    thresholds = None if categories == 2 else np.linspace(-_WIDEST, _WIDEST, categories - 1)
    drawn = draw(**vars(design), thresholds=thresholds)
    print(write_ratings(drawn.ratings, out, kind))
    if truth is not None:
        write_whole(truth, _true_raters(drawn).write_csv)
        print(f"the raters' true discrimination, severity and capability written to {truth}")


def _check(categories: int, model: str) -> None:
    # heavy, so not before it is needed
    from raterlens.reading.scores import HIGHEST

    if not 2 <= categories <= HIGHEST + 1:
        raise OptionError(
            Message(Option("categories", categories)),
            f"give 2 (pass or fail) to {HIGHEST + 1}",
            value=categories,
            option="categories",
        )
    if categories > 2 and model in MODELS and not MODELS[model].ordered:
        raise OptionError(
            Message(Option("categories", categories), f" with model {model!r}, which has pass or fail only"),
            Message("leave out ", Option("categories"), ", or use ", Option("model", "gmf")),
            value=categories,
            option="categories",
        )


def _true_raters(drawn: "Simulated") -> "pl.DataFrame":
    """As in a fit's table of raters."""
    # heavy, so not before it is needed
    import polars as pl

    truth = drawn.truth
    return pl.DataFrame(
        {"rater": drawn.ratings.raters, "rho": truth.rho, "eta": truth.severity, "kappa": truth.kappa}
    )
