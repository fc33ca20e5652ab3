"""Fit: what an estimation found. Thin: numbers come from the layers above, pages from those below."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from raterlens.capability.yardstick import ABSOLUTE, Origin, Reference, Students, Yardstick
from raterlens.errors import InputError, OptionError, choose
from raterlens.estimation.optimiser import Optimiser
from raterlens.estimation.scoring import score
from raterlens.export.xarray_dataset import dataset
from raterlens.models.calibration import Calibration
from raterlens.ratings.coded import Backend, Ratings
from raterlens.reading.reader import read_any
from raterlens.uncertainty.measurement import RATER_COLUMNS, check_measurable, measured

if TYPE_CHECKING:
    import xarray as xr

    from raterlens.diagnostics.advice import WhatIf
    from raterlens.diagnostics.diagnosis import Diagnosis

_FORMAT, _VERSION = "raterlens fit", 1


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Estimates with their uncertainty, as dataframes of the kind that came in.

    `raters` has one row a rater: rho (discrimination relative to the yardstick), eta (severity, average 0),
    kappa (mean capability, 1 is the best possible rater) with standard error and 95 % interval.
    """

    model: str
    method: str
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
    covariance: str = "observed"
    """Where standard errors come from."""
    yardstick: Yardstick = field(default_factory=Yardstick)
    """What rho and kappa are relative to."""
    calibration: Calibration | None = None
    """What the model was estimated to be; None for models that are not facets models."""

    @property
    def converged(self) -> bool:
        return self.optimiser.converged

    @property
    def aic(self) -> float:
        return 2 * self.n_parameters - 2 * self.loglik

    @property
    def bic(self) -> float:
        """With the number of students: they, not single ratings, are independent."""
        return float(np.log(self.n_students)) * self.n_parameters - 2 * self.loglik

    @property
    def raters(self) -> Any:
        return self._native("raters")

    @property
    def items(self) -> Any:
        return self._native("items")

    @property
    def students(self) -> Any:
        return self._native("students")

    def table(self, name: str) -> pl.DataFrame:
        """`raters`, `items`, `students` and what else the model has (`thresholds`, `facets`, `covariates`) as a
        polars DataFrame, whatever kind came in."""
        return self.tables[choose("table", name, self.tables)]

    def capability(
        self,
        *,
        reference: Reference | None = None,
        population: Students | None = None,
        origin: Origin | None = None,
        shrink: bool | None = None,
        item: str | None = None,
        theta: float | Sequence[float] | None = None,
    ) -> Any:
        """Capability on another yardstick, without fitting again.

        Parameters
        ----------
        reference, population, origin, shrink
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
            A row a rater: rho, eta and kappa with standard errors and the 95 % interval of kappa. With `theta` a
            row for every rater and ability: kappa with its pointwise 95 % interval. With more than 500 raters,
            covariances between raters are not kept, and intervals go without them.

        Examples
        --------
        >>> import raterlens as rl
        >>> fit = rl.fit(rl.load_example())
        >>> near_the_cut = fit.capability(population=rl.Window(0.5, 0.25))
        >>> curves = fit.capability(theta=[-1, 0, 1])
        >>> curves.columns
        ['rater', 'theta', 'kappa', 'kappa_low', 'kappa_high']
        """
        calibration, raters = (
            self._calibrated("its capability is the same on any"),
            self.table("raters")["rater"],
        )
        if item is not None and origin is None:
            origin = ABSOLUTE
        yardstick = Yardstick.chosen(self.yardstick, raters, reference, population, origin, shrink)
        has_errors = calibration.covariance is not None
        check_measurable(yardstick, len(raters), calibration.covariates, standard_errors=has_errors)
        students = self.table("students").select("theta", "theta_se").to_numpy()
        found = measured(calibration, yardstick, students[:, 0], students[:, 1], item)
        if theta is not None:
            return self._as_came(found.curves(raters, theta))
        estimates = found.raters()
        columns = {name: getattr(estimates, name) for name in RATER_COLUMNS}
        return self._as_came(pl.DataFrame({"rater": raters, **columns}))

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
        calibration = self._calibrated("students cannot be scored by it")
        new = ratings if isinstance(ratings, Ratings) else read_any(ratings, **columns)
        return as_came(score(calibration, new), new.backend)

    def diagnose(
        self, ratings: Ratings | Any, *, time: Any = None, groups: Mapping[str, Any] | None = None
    ) -> "Diagnosis":
        """Look for what the model does not foresee: `raterlens.diagnostics.diagnosis.diagnose`.

        Parameters
        ----------
        ratings
            Those that were fitted.
        time
            When each was given, one value a rating, or the name of a facet: tests drift.
        groups
            Further things that ratings differ in, one label a rating: tests bias.
        """
        from raterlens.diagnostics.diagnosis import diagnose  # a layer below, as `report`

        return diagnose(self, ratings, time=time, groups=groups)

    def what_if(self, rater: str, severity: float | Sequence[float] | None = None) -> "WhatIf":
        """Capability of a rater at other severities, the best one and what it would gain:
        `raterlens.diagnostics.advice.what_if`."""
        from raterlens.diagnostics.advice import what_if  # a layer below, as `report`

        return what_if(self, rater, severity)

    def advice(self) -> Any:
        """What each rater lost to severity and to discrimination, and a paragraph of feedback:
        `raterlens.diagnostics.advice.advice`."""
        from raterlens.diagnostics.advice import advice  # a layer below, as `report`

        return self._as_came(advice(self))

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
        outcome = "converged" if self.converged else "NOT converged"
        lines.append(f"{outcome} after {self.optimiser.iterations} iterations: {self.optimiser.stopped}")
        lines.extend(f"Warning: {warning}" for warning in self.warnings)
        return "\n".join(lines)

    def report(self, path: str | Path, ratings: Ratings | None = None) -> Path:
        """Write one self-contained HTML page. With the ratings that were fitted it also shows what stands out in them
        and what would mend the design."""
        from raterlens.report import render  # a layer below: pages know fits, not the other way round

        path = Path(path)
        path.write_text(render(self, ratings=ratings), encoding="utf-8")
        return path

    def to_excel(self, path: str | Path) -> Path:
        """Write an Excel workbook with the sheets Raters, Items, Students and Warnings: frozen headings, numbers as
        numbers, labels always as text, capability in colour. Needs the extra `excel`."""
        from raterlens.export.excel import write_workbook  # a layer below, as `report`

        path = Path(path)
        write_workbook(self, path)
        return path

    def to_xarray(self) -> "xr.Dataset":
        """Estimates, standard errors and intervals as an xarray Dataset with the dimensions rater, item and student
        (extra `xarray`).

        Examples
        --------
        >>> import raterlens as rl
        >>> estimates = rl.fit(rl.load_example()).to_xarray()
        >>> float(estimates["kappa"].sel(rater="AM:Sport").round(2))
        0.38
        """
        names = (
            "model",
            "method",
            "link",
            "loglik",
            "sigma",
            "sigma_se",
            "alpha",
            "n_parameters",
            "n_ratings",
        )
        return dataset(self.tables, {name: getattr(self, name) for name in names})

    def to_json(self) -> str:
        """The whole fit as JSON: what `save` writes and `load` reads."""
        scalars = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("optimiser", "tables", "sigma_se", "yardstick", "calibration")
        }
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            **scalars,
            "sigma_se": _plain(self.sigma_se),
            "converged": self.converged,
            "aic": self.aic,
            "bic": self.bic,
            "optimiser": asdict(self.optimiser),
            "yardstick": asdict(self.yardstick),
            "calibration": None if self.calibration is None else self.calibration.to_plain(),
            "tables": {name: _columns(table) for name, table in self.tables.items()},
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    def save(self, path: str | Path) -> Path:
        """Write the fit as JSON; `rl.load` reads it back."""
        path = Path(path)
        path.write_text(self.to_json(), encoding="utf-8")
        return path

    def _native(self, name: str) -> Any:
        return self._as_came(self.tables[name])

    def _as_came(self, table: pl.DataFrame) -> Any:
        return as_came(table, self.backend)

    def _calibrated(self, otherwise: str) -> Calibration:
        if self.calibration is None:
            raise OptionError(
                f"model {self.model!r} has no slopes and severities: {otherwise}; fit 'gmf' or 'tfm'"
            )
        return self.calibration


def as_came(table: pl.DataFrame, backend: Backend) -> Any:
    """A dataframe of the kind that came in."""
    if backend == "polars":
        return table
    import narwhals as nw

    columns = {column: table[column].to_list() for column in table.columns}
    return nw.from_dict(columns, backend=backend).to_native()


def load(path: str | Path) -> Fit:
    """Read a fit that `Fit.save` wrote. The file is data only: nothing in it is ever run."""
    path = Path(path)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no such file: {str(path)!r}; give the path of a fit.json") from None
    except (UnicodeDecodeError, json.JSONDecodeError) as problem:
        raise InputError(f"{str(path)!r} is not JSON ({problem}); give a file that `save` wrote") from None
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise InputError(f"{str(path)!r} is JSON, but not a saved fit; give a file that `save` wrote")
    if content.get("version") != _VERSION:
        raise InputError(
            f"{str(path)!r} has format version {content.get('version')!r}, this release reads {_VERSION}; "
            "fit again, or use the release that wrote it"
        )
    try:
        known = {f.name: content[f.name] for f in fields(Fit)}
        known["optimiser"] = Optimiser(**content["optimiser"])
        known["tables"] = {name: _frame(table) for name, table in content["tables"].items()}
        known["yardstick"] = Yardstick(**content["yardstick"])
        known["calibration"] = content["calibration"] and Calibration.from_plain(content["calibration"])
        known["sigma_se"] = float("nan") if content["sigma_se"] is None else content["sigma_se"]
        known["warnings"], known["notes"] = tuple(content["warnings"]), tuple(content["notes"])
        return Fit(**known)
    except (KeyError, TypeError) as problem:
        raise InputError(f"{str(path)!r} is a saved fit with a part missing ({problem}); fit again") from None


def _plain(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _columns(table: pl.DataFrame) -> dict[str, list[Any]]:
    """Columns as lists; not-a-number becomes null, and labels that JSON does not know become text."""
    columns = {}
    for column in table:
        if column.dtype.is_float():
            columns[column.name] = column.fill_nan(None).to_list()
        elif column.dtype.is_integer() or column.dtype in (pl.String, pl.Boolean):
            columns[column.name] = column.to_list()
        else:
            columns[column.name] = column.cast(pl.String).to_list()
    return columns


def _frame(columns: dict[str, list[Any]]) -> pl.DataFrame:
    table = pl.DataFrame(columns, strict=False, infer_schema_length=None)
    floats = [c.name for c in table if c.dtype.is_float() or c.dtype == pl.Null]
    return table.with_columns(pl.col(floats).cast(pl.Float64).fill_null(float("nan")))
