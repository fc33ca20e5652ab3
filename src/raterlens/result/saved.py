"""A result as JSON: what `fit.save` and the command write, and `rl.load` reads. Nothing in it is ever run."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from polars.exceptions import PolarsError

from raterlens.base.drafts import reason
from raterlens.base.errors import InputError, RaterlensError
from raterlens.base.text import shortened
from raterlens.capability.yardstick import Yardstick
from raterlens.config import FitConfig
from raterlens.estimation.optimiser import Optimiser
from raterlens.models.calibration import Calibration
from raterlens.result.record import Result
from raterlens.result.summary import summary

_FORMAT, _VERSION = "raterlens fit", 2
_KINDS: dict[str, tuple[type, ...]] = {"str": (str,), "int": (int,), "float": (int, float), "bool": (bool,)}
_NUMBERS = {
    *("n", "mean_score", "rho", "eta", "kappa", "kappa_low", "kappa_high", "difficulty", "ability"),
    *("sharpness", "sharpness_low", "sharpness_high", "passes", "passes_low", "passes_high"),
}
_DAMAGES = (KeyError, TypeError, ValueError, AttributeError, IndexError, PolarsError, RaterlensError)
# Floats from which on a list is long.
_LONG = 64
_ELSEWHERE = ("config", "optimiser", "tables", "sigma_se", "yardstick", "calibration")


def to_json(result: Result) -> str:
    """The whole result; at the top level what people look for first."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "model": result.model,
        "method": result.method,
        **{f.name: getattr(result, f.name) for f in fields(Result) if f.name not in _ELSEWHERE},
        "sigma_se": result.sigma_se if np.isfinite(result.sigma_se) else None,
        "converged": result.converged,
        "aic": result.aic,
        "bic": result.bic,
        "config": result.config.to_plain(),
        "optimiser": asdict(result.optimiser),
        "yardstick": asdict(result.yardstick),
        "calibration": None if result.calibration is None else result.calibration.to_plain(),
        "tables": {name: _columns(table) for name, table in result.tables.items()},
    }
    return encoded(content)


def encoded(value: Any) -> str:
    """As JSON; long lists of floats by polars, which writes the same digits in a tenth of the time."""
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        parts = (f"{json.dumps(key, ensure_ascii=False)}: {encoded(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list) and value and all(isinstance(part, np.ndarray) for part in value):
        return _rows(value)
    if isinstance(value, list) and (written := _written(value)):
        return written
    if isinstance(value, pl.Series):
        return (len(value) >= _LONG and _numbers(value)) or encoded(value.to_list())
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _rows(rows: list[NDArray[np.float64]]) -> str:
    """A matrix; polars lets go of the interpreter's lock, so that a large one does not hold up other threads."""
    if not all(np.isfinite(row).all() for row in rows):
        raise ValueError("JSON has no numbers that are not finite")
    texts = pl.Series(rows, dtype=pl.List(pl.Float64)).cast(pl.List(pl.String)).list.join(", ")
    return f"[[{texts.str.join('], [').item()}]]"


def _written(values: list[Any]) -> str | None:
    """As JSON, if they are many, and all of them finite floats or missing."""
    if len(values) < _LONG or not {*map(type, values)} <= {float, type(None)}:
        return None
    return _numbers(pl.Series(values, dtype=pl.Float64))


def _numbers(column: pl.Series) -> str | None:
    """As JSON, if all are finite or missing."""
    if column.dtype.is_float() and not column.is_finite().all():
        return None
    texts = column.cast(pl.String)
    if texts.null_count():
        texts = texts.fill_null("null")
    return f"[{texts.str.join(', ').item()}]"


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
        summary(Result(**known))  # needs what every page and table needs
    except _DAMAGES as problem:
        why = f"{type(problem).__name__}: {shortened(str(problem))}"
        raise InputError(
            f"{str(path)!r} is a damaged saved fit: a part is missing or of the wrong kind ({why})",
            "fit again",
        ) from None
    return known


def _check_types(known: dict[str, Any]) -> None:
    """Raise where a plain field is not of its kind, or a table has labels or numbers where the other belongs."""
    plain = [(field, known[field.name]) for field in fields(Result)]
    plain += [(field, getattr(known["optimiser"], field.name)) for field in fields(Optimiser)]
    for field, value in plain:
        kind = _KINDS.get(str(getattr(field.type, "__name__", field.type)))
        if kind is not None and (
            not isinstance(value, kind) or (isinstance(value, bool) and bool not in kind)
        ):
            raise TypeError(f"{field.name} is {shortened(value)}")
        if field.name in ("n_ratings", "n_students", "n_raters", "n_items") and value < 1:
            raise ValueError(f"{field.name} is {value}")
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
