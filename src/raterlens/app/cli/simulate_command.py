"""`raterlens simulate`: a file of ratings drawn from a model, and one of the truth that they were drawn from."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from raterlens.app.cli.convert_command import kind_of, put, write_ratings
from raterlens.errors import OptionError

if TYPE_CHECKING:
    import polars as pl

    from raterlens.simulation.simulate import Simulated

# Thresholds of ordered scores lie between minus this and this, in logits.
_WIDEST = 1.5


def simulate(out: Path, to: str | None, truth: Path | None, categories: int, **asked: Any) -> list[str]:
    """Write both files; return what was done."""
    kind = kind_of(out, to)
    if truth is not None and (kind_of(truth) != "csv" or truth.absolute() == out.absolute()):
        raise OptionError(
            f"the truth goes to a csv file of its own, not to {str(truth)!r}; give --truth NAME.csv"
        )
    import numpy as np

    from raterlens.reading.scores import HIGHEST
    from raterlens.simulation.simulate import simulate as draw

    if not 2 <= categories <= HIGHEST + 1:
        raise OptionError(f"{categories} categories; give 2 (pass or fail) to {HIGHEST + 1}")
    if categories > 2 and asked["model"] in ("probit", "hrm"):
        raise OptionError(
            f"{categories} categories, but model {asked['model']!r} has pass or fail only; leave --categories out, or "
            "use model 'gmf' or 'tfm'"
        )
    if categories > 2:
        asked["thresholds"] = np.linspace(-_WIDEST, _WIDEST, categories - 1)
    drawn = draw(**asked)
    said = [write_ratings(drawn.ratings, out, kind)]
    if truth is not None:
        put(truth, _true_raters(drawn).write_csv)
        said.append(f"the raters' true discrimination, severity and capability written to {truth}")
    return said


def _true_raters(drawn: "Simulated") -> "pl.DataFrame":
    """As in a fit's table of raters."""
    import polars as pl

    truth = drawn.truth
    return pl.DataFrame(
        {"rater": drawn.ratings.raters, "rho": truth.rho, "eta": truth.severity, "kappa": truth.kappa}
    )
