"""A result as JSON: what `fit.save` and the command write, and `rl.load` reads. Nothing in it is ever run."""

import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from raterlens.capability.yardstick import Yardstick
from raterlens.config import FitConfig
from raterlens.errors import InputError
from raterlens.estimation.optimiser import Optimiser
from raterlens.models.calibration import Calibration
from raterlens.result.record import Result

_FORMAT, _VERSION = "raterlens fit", 2
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
    return json.dumps(content, ensure_ascii=False, allow_nan=False)


def read_saved(path: str | Path) -> dict[str, Any]:
    """The fields of a saved `Result`, by name."""
    content = _content(Path(path))
    try:
        known = {f.name: content[f.name] for f in fields(Result)}
        known["config"] = FitConfig.from_plain(content["config"])
        known["optimiser"] = Optimiser(**content["optimiser"])
        known["tables"] = {name: _frame(table) for name, table in content["tables"].items()}
        known["yardstick"] = Yardstick(**content["yardstick"])
        known["calibration"] = content["calibration"] and Calibration.from_plain(content["calibration"])
        known["sigma_se"] = float("nan") if content["sigma_se"] is None else content["sigma_se"]
        known["warnings"], known["notes"] = tuple(content["warnings"]), tuple(content["notes"])
    except (KeyError, TypeError) as problem:
        raise InputError(
            f"{str(path)!r} is a saved fit with a part missing ({problem})", "fit again"
        ) from None
    return known


def _content(path: Path) -> dict[str, Any]:
    name, remedy = repr(str(path)), "give a file that `save` wrote"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"no such file: {name}", "give the path of a fit.json", value=path) from None
    except (UnicodeDecodeError, json.JSONDecodeError) as problem:
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
