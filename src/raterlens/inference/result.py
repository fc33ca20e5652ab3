"""Results of a fit as data, as a few lines of text, and as JSON, which `rl.load` reads. Nothing in a file is ever run.

`raterlens.fitting.fit.Fit` adds what can be done with it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import polars as pl
from polars.exceptions import PolarsError

from raterlens.base.atomic_files import reason, write_text
from raterlens.base.errors import InputError, OptionError, RaterlensError, choose
from raterlens.base.text import counted, shortened
from raterlens.capability.yardstick import Yardstick
from raterlens.config import FitConfig
from raterlens.estimation.optimiser import Optimiser
from raterlens.models.calibration import Calibration, PanelSpread
from raterlens.ratings.coded import Backend, to_backend

_FORMAT, _VERSION = "raterlens fit", 2
_KINDS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_NUMBERS = {
    *("n", "mean_score", "rho", "eta", "kappa", "kappa_low", "kappa_high", "difficulty", "ability"),
    *("sharpness", "sharpness_low", "sharpness_high", "passes", "passes_low", "passes_high"),
}
_DAMAGES = (
    *(KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError),
    *(PolarsError, RaterlensError),
)
# Floats from which on a list is long.
_LONG = 64
_ELSEWHERE = ("config", "optimiser", "tables", "sigma_se", "yardstick", "calibration")


SURE_LABEL = 0.9
"""Probability from which on a label stands without a person."""


ASSUMPTIONS = {
    "assumption": pl.String,
    "statistic": pl.Float64,
    "p": pl.Float64,
    "taken": pl.Boolean,
    "words": pl.String,
}
"""Columns of the table of assumptions."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Result:
    """Estimates with their uncertainty, as dataframes of the kind that came in."""

    config: FitConfig
    """The request."""
    link: str
    loglik: float
    """Marginal log-likelihood at the estimates (its Laplace approximation for method `laplace`)."""
    sigma: float
    """Slope of the yardstick: how strongly the most discriminating rater responds to ability."""
    sigma_se: float
    alpha: float
    """Predictor of an average student, rater and item (0 where severity is absolute)."""
    n_parameters: int
    n_ratings: int
    n_students: int
    n_raters: int
    n_items: int
    optimiser: Optimiser
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    tables: Mapping[str, pl.DataFrame]
    backend: Backend = "polars"
    yardstick: Yardstick = field(default_factory=Yardstick)
    """Reference of rho and kappa."""
    calibration: Calibration | None = None
    """Estimated model; None for models that are not facets models."""

    @property
    def model(self) -> str:
        return self.config.model_name

    @property
    def ordered(self) -> bool:
        """Whether scores are more than pass and fail."""
        return self.calibration is not None and len(self.calibration.scores) > 2

    @property
    def method(self) -> str:
        return self.config.method

    @property
    def covariance(self) -> str:
        """Where standard errors come from."""
        return self.config.covariance

    @property
    def converged(self) -> bool:
        return self.optimiser.converged

    def settled(self) -> dict[str, Any]:
        """Options that say what this fit found out, for fits that are not to find it out again."""
        if "shared" not in self.tables:
            return {}
        return {"shared": "yes" if self.tables["shared"]["found"][0] else "no"}

    @property
    def aic(self) -> float:
        return 2 * self.n_parameters - 2 * self.loglik

    @property
    def bic(self) -> float:
        """With the number of students: they, not single ratings, are independent."""
        return float(np.log(self.n_students)) * self.n_parameters - 2 * self.loglik

    @property
    def raters(self) -> Any:
        return to_backend(self.tables["raters"], self.backend)

    @property
    def items(self) -> Any:
        return to_backend(self.tables["items"], self.backend)

    @property
    def students(self) -> Any:
        return to_backend(self.tables["students"], self.backend)

    @property
    def pieces(self) -> Any:
        """Quality of each piece of work, on the scale of ability, if pieces were distinguished
        (`rl.read(..., piece=)`): student, piece, n, mean_score, quality, quality_se."""
        return to_backend(self.table("pieces"), self.backend)

    @property
    def assumptions(self) -> Any:
        """Outcomes of what was tested or added beyond the plain model: assumption, statistic, p, taken, words; no rows
        where nothing was tested."""
        return to_backend(self.tables.get("assumptions", pl.DataFrame(schema=ASSUMPTIONS)), self.backend)

    @property
    def interactions(self) -> Any:
        """How much more severe than usual each rater is on each item, or level of a further facet, where these are
        terms of the model (`rl.fit(..., interactions=)`): rater, facet, level, n, mean_score, severity, severity_se.
        `table("spreads")` has how much they vary, with a test."""
        return to_backend(self.table("interactions"), self.backend)

    @property
    def labels(self) -> Any:
        """The consensus of `hrm` and `dawid-skene` on each student and item, those that a person should look at first:
        student, item, label (the more probable score), probability (of this label), n (ratings) and needs_person
        (the label is less than 90 % probable).

        Examples
        --------
        >>> import raterlens as rl
        >>> ratings = rl.simulate(model="dawid-skene", students=100, raters=4, items=1, seed=1).ratings
        >>> rl.fit(ratings, model="dawid-skene").labels.columns
        ['student', 'item', 'label', 'probability', 'n', 'needs_person']
        """
        return to_backend(self.label_table(), self.backend)

    def label_table(self) -> pl.DataFrame:
        """`labels` as a polars DataFrame."""
        if "truth" not in self.tables:
            raise OptionError(
                f"model {self.model!r} has no true score of a student and item, only abilities",
                "fit 'dawid-skene' or 'hrm', or use rl.judge with known answers",
                option="model",
            )
        p = pl.col("probability")
        return (
            self.tables["truth"]
            .select(
                "student",
                "item",
                label=(p >= 0.5).cast(pl.Int64),
                probability=pl.max_horizontal(p, 1 - p),
                n="n",
            )
            .with_columns(needs_person=p < SURE_LABEL)
            .sort("needs_person", -p, descending=True, maintain_order=True)
        )

    @property
    def decided(self) -> tuple[str, ...]:
        """Decisions of the data about the model, in a sentence each; none where the request says it all."""
        found = self.tables.get("assumptions")
        return () if found is None or not any(found["taken"]) else tuple(found["words"])

    def table(self, name: str) -> pl.DataFrame:
        """`raters`, `items`, `students` and what else the model has (`thresholds`, `facets`, `covariates`) as a
        polars DataFrame, whatever kind came in."""
        return self.tables[choose("table", name, self.tables)]

    def calibrated(self, otherwise: str) -> Calibration:
        """The estimated model; raises an error that says what does not work if there is none."""
        if self.calibration is None:
            raise OptionError(
                f"model {self.model!r} has no slopes and severities: {otherwise}",
                "fit 'gmf' or 'tfm'",
                option="model",
            )
        return self.calibration

    @property
    def spread(self) -> PanelSpread | None:
        """How much raters differ, where they were fitted as a sample (`prior="panel"`): the spread of their slopes and
        of their severities, each with a 95 % interval, and the slope of a usual rater. None otherwise.

        Examples
        --------
        >>> import raterlens as rl
        >>> spread = rl.fit(rl.load_example(), model="gmf", prior="panel").spread
        >>> spread.slope_low < spread.slope < spread.slope_high
        True
        """
        return None if self.calibration is None else self.calibration.spread

    def summary(self) -> str:
        """The fit in a few lines: raters from most to least capable, then the model."""
        lines = [
            f"{'rater':<20}{'n':>7}{'kappa':>8}{'95 % interval':>16}{'severity':>10}{'discrimination':>16}"
        ]
        for row in self.table("raters").sort("kappa", descending=True).iter_rows(named=True):
            interval = f"{row['kappa_low']:.2f} to {row['kappa_high']:.2f}"
            lines.append(
                f"{row['rater']!s:<20}{row['n']:>7}{row['kappa']:>8.2f}{interval:>16}"
                f"{row['eta']:>10.2f}{row['rho']:>16.2f}"
            )
        lines.append("")
        lines.append(
            f"{self.model.upper()}, {self.link} link, method {self.method}: log-likelihood {self.loglik:.4f}, "
            f"sigma {self.sigma:.3f}, {self.n_parameters} parameters, AIC {self.aic:.1f}, BIC {self.bic:.1f}"
        )
        if self.calibration is not None and self.calibration.spread is not None:
            lines.append(differences(self.calibration.spread, self.calibration.unit))
        if self.decided:
            lines.extend(["The data decided:", *(f"  {words}" for words in self.decided)])
        lines.append(convergence(self.optimiser))
        lines.extend(f"Warning: {warning}" for warning in self.warnings)
        return "\n".join(lines)

    def to_json(self) -> str:
        """The whole fit as JSON, what people look for first at the top: what `save` writes and `load` reads."""
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "model": self.model,
            "method": self.method,
            **{f.name: getattr(self, f.name) for f in fields(Result) if f.name not in _ELSEWHERE},
            "sigma_se": self.sigma_se if np.isfinite(self.sigma_se) else None,
            "converged": self.converged,
            "aic": self.aic,
            "bic": self.bic,
            "config": self.config.to_plain(),
            "optimiser": asdict(self.optimiser),
            "yardstick": asdict(self.yardstick),
            "calibration": None if self.calibration is None else self.calibration.to_plain(),
            "tables": {name: _columns(table) for name, table in self.tables.items()},
        }
        return encoded(content)

    def save(self, path: str | Path) -> Path:
        """Write the fit as JSON; `rl.load` reads it back."""
        path, text = Path(path), self.to_json()
        write_text(path, text, option="path")
        return path


def differences(spread: PanelSpread, unit: float = 1.0) -> str:
    """How much raters differ, in a line; `unit`: marks per unit of the model, where scores are marks on a fine scale.

    Examples
    --------
    >>> differences(PanelSpread(1.5, 0.4, 0.2, 0.7, 0.8, 0.5, 1.2))
    'Raters differ by 0.40 (0.20 to 0.70) in slope around 1.50, and by 0.80 (0.50 to 1.20) in severity'
    >>> differences(PanelSpread(1.5, None, None, None, 0.8, 0.5, 1.2), unit=10)
    'Raters differ by 8.00 (5.00 to 12.00) marks in severity'
    >>> differences(PanelSpread(1.5, None, None, None, 0.1, 0.1, 0.2, severity_p=0.6))
    'Raters differ by at most 0.20 in severity, if at all (p = 0.60)'
    """

    def size(value: float, low: float | None, high: float | None, p: float | None, of: str) -> str:
        if low is None or high is None:
            return f"{unit * value:.2f}{marks} in {of}"
        if p is not None and p >= 0.05:  # the interval of a spread never has 0 in it
            return f"at most {unit * high:.2f}{marks} in {of}, if at all (p = {p:.2f})"
        return f"{unit * value:.2f} ({unit * low:.2f} to {unit * high:.2f}){marks} in {of}"

    parts, marks = [], "" if unit == 1.0 else " marks"
    if spread.slope is not None:
        around = f"slope around {unit * spread.mean_slope:.2f}"
        parts.append(size(spread.slope, spread.slope_low, spread.slope_high, spread.slope_p, around))
    of = spread.severity, spread.severity_low, spread.severity_high, spread.severity_p
    parts.append(size(*of, "severity"))
    return f"Raters differ by {', and by '.join(parts)}"


def convergence(record: Optimiser) -> str:
    """Whether the estimates converged, and why not.

    Examples
    --------
    >>> convergence(Optimiser("Newton", 1e-5, 500, 10, 12, 1e-6, True, "the gradient is zero within the tolerance"))
    'Converged in 10 iterations'
    >>> convergence(Optimiser("Newton", 1e-5, 3, 3, 4, 0.2, False, "it reached the limit of 3 iterations"))
    'Did not converge in 3 iterations: it reached the limit of 3 iterations'
    """
    steps = counted(record.iterations, "iteration")
    return f"Converged in {steps}" if record.converged else f"Did not converge in {steps}: {record.stopped}"


def encoded(value: Any) -> str:
    """As JSON; long lists of floats by polars, which writes the same digits in a tenth of the time."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        parts = (f"{json.dumps(key, ensure_ascii=False)}: {encoded(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list) and value and all(isinstance(part, np.ndarray) for part in value):
        return f"[{', '.join(encoded(pl.Series(row)) for row in value)}]"
    if isinstance(value, list) and len(value) >= _LONG and {*map(type, value)} <= {float, type(None)}:
        value = pl.Series(value, dtype=pl.Float64)
    if isinstance(value, pl.Series):
        if len(value) >= _LONG and (not value.dtype.is_float() or value.is_finite().all()):
            return f"[{value.cast(pl.String).fill_null('null').str.join(', ').item()}]"
        value = value.to_list()
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def read_saved(path: str | Path) -> dict[str, Any]:
    """The fields of a saved `Result`, by name."""
    content = _content(Path(path))
    try:
        known = {f.name: content[f.name] for f in fields(Result)}
        known["config"] = FitConfig.from_plain(content["config"])
        known["optimiser"] = Optimiser(**content["optimiser"])
        known["tables"] = {name: _frame(table) for name, table in content["tables"].items()}
        known["yardstick"] = Yardstick(**content["yardstick"])
        known["calibration"] = (
            None if content["calibration"] is None else Calibration.from_plain(content["calibration"])
        )
        known["sigma_se"] = float("nan") if content["sigma_se"] is None else content["sigma_se"]
        known["warnings"], known["notes"] = tuple(content["warnings"]), tuple(content["notes"])
        _check_types(known)
        Result(**known).summary()  # needs what every page and table needs
    except _DAMAGES as problem:
        why = f"{type(problem).__name__}: {shortened(str(problem))}"
        raise InputError(
            f"{str(path)!r} is a damaged saved fit: a part is missing or of the wrong kind ({why})",
            "fit again",
        ) from None
    return known


def _check_types(known: dict[str, Any]) -> None:
    """Raise where a plain field is not of its kind, or a table has labels or numbers where the other belongs."""
    plain = [(one, known[one.name]) for one in fields(Result)]
    plain += [(one, getattr(known["optimiser"], one.name)) for one in fields(Optimiser)]
    for one, value in plain:
        kind = _KINDS.get(str(getattr(one.type, "__name__", one.type)))
        if kind is not None and (
            not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind)
        ):
            raise TypeError(f"{one.name} is {shortened(value)}")
        if (
            isinstance(value, float) and not np.isfinite(value) and one.name != "sigma_se"
        ):  # NaN where unknown
            raise ValueError(f"{one.name} is {value}")
        if one.name in ("n_ratings", "n_students", "n_raters", "n_items") and value < 1:
            raise ValueError(f"{one.name} is {value}")
    choose("backend", known["backend"], get_args(Backend))
    for name in ("raters", "items", "students"):
        if name not in known["tables"]:
            raise KeyError(name)
    held = known["calibration"]
    if held is not None and any(labels.is_empty() for labels in held.labels.values()):
        raise ValueError("labels of the calibration are missing")
    for part, table in known["tables"].items():
        if wrong := [
            name for name in table.columns if name in _NUMBERS and not table[name].dtype.is_numeric()
        ]:
            raise TypeError(f"{wrong[0]} of {part} are no numbers")


def _content(path: Path) -> dict[str, Any]:
    name, remedy = repr(str(path)), "give a file that `save` wrote"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no such file: {name}", "give the path of a fit.json", value=path) from None
    except OSError as error:
        raise InputError(f"cannot read {name}: {reason(error)}", "give the path of a fit.json") from None
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError) as problem:
        raise InputError(f"{name} is not JSON ({problem})", remedy, value=path) from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{name} is JSON, but not a saved fit", remedy, value=path)
    if content.get("version") != _VERSION:
        raise InputError(
            f"{name} has format version {content.get('version')!r}, this release reads {_VERSION}",
            "fit again, or use the release that wrote it",
            value=content.get("version"),
        )
    return content


def _columns(table: pl.DataFrame) -> dict[str, pl.Series | list[Any]]:
    """Numbers as they are, null for not-a-number; the rest as lists, labels that JSON does not know as text."""
    columns: dict[str, pl.Series | list[Any]] = {}
    for column in table.with_columns(pl.selectors.float().fill_nan(None)):
        if column.dtype.is_float() or column.dtype.is_integer():
            columns[column.name] = column
        elif column.dtype in (pl.String, pl.Boolean):
            columns[column.name] = column.to_list()
        else:
            columns[column.name] = column.cast(pl.String).to_list()
    return columns


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    table = pl.DataFrame(columns, strict=False, infer_schema_length=None)
    floats = [c.name for c in table if c.dtype.is_float() or c.dtype == pl.Null]
    return table.with_columns(pl.col(floats).cast(pl.Float64).fill_null(float("nan")))
