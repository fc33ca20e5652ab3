"""A gate for pipelines: does every rater stay within the bounds?"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import polars as pl

from raterlens.base.arrays import NORMAL_95, Array, Indices, Mask
from raterlens.base.errors import OptionError, choose
from raterlens.base.notebook import MOST, lines, shown
from raterlens.base.text import MISSING, Message, Option, counted, number, printable
from raterlens.diagnostics.drift import COMPARED, changes, in_words
from raterlens.diagnostics.fit_statistics import rater_fit
from raterlens.diagnostics.residuals import residuals
from raterlens.inference.result import Result
from raterlens.judging import Bounds
from raterlens.ratings.coded import Ratings, to_backend

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit

NEW, PASSED, FAILED = -1, 0, 1
"""A rater's verdict in an earlier run."""
CLEAR = 3.3 / 1.96
"""How much further than the 95 % interval an earlier pass must be contradicted: p < 0.001."""


def beyond(estimate: Array, ends: tuple[Array, Array], span: tuple[float, float], before: Indices) -> Mask:
    """Who fails: the whole 95 % interval is on the wrong side of a bound.

    A verdict of an earlier run stands until it is clearly wrong, so that chance does not turn it back and forth: who
    passed fails only beyond 3.3 standard errors, and who failed passes once the estimate is within the bounds.
    """
    (low, high), (least, most) = ends, span
    reach_low, reach_high = estimate - CLEAR * (estimate - low), estimate + CLEAR * (high - estimate)
    outside = ~((least <= estimate) & (estimate <= most))
    now = (high < least) | (low > most)
    clearly = (reach_high < least) | (reach_low > most)
    return np.asarray(np.select([before == PASSED, before == FAILED], [clearly, outside], now))


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """How every rater did at every bound."""

    failed: tuple[str, ...]
    """Raters outside a bound."""
    bounds: dict[str, float]
    confident: bool
    converged: bool
    table: pl.DataFrame
    """One row per rater and bound: rater, measure, bound, value, low, high, passed, certain (the 95 % interval lies
    entirely on one side of the bound)."""
    notes: tuple[str, ...] = ()
    """Notes of what was read and left out: a rater whose rows were left out is not judged."""
    backend: Any = "polars"
    changes: pl.DataFrame | None = None
    """With a baseline: rater, measure, before, now, and whether the change is clear."""

    @property
    def passed(self) -> bool:
        """No rater failed, and the fit converged."""
        return not self.failed and self.converged

    def __bool__(self) -> bool:
        """Whether it passed."""
        return self.passed

    @property
    def changed(self) -> tuple[str, ...]:
        """Changes since the baseline beyond chance, in words."""
        return () if self.changes is None else tuple(in_words(self.changes))

    @property
    def checks(self) -> Any:
        """`table` as the kind of dataframe that came in."""
        return to_backend(self.table, self.backend)

    def summary(self) -> str:
        """One line for the whole, one for every bound that a rater failed."""
        n = self.table["rater"].n_unique()
        if self.passed:
            unsure = self.table.filter(~pl.col("certain"))["rater"].n_unique()
            aside = f"; {counted(unsure, 'rater')} too close to a bound to be certain" if unsure else ""
            return f"passed: none of {counted(n, 'rater')} {self._outside()}{aside}"
        lines = [f"failed: {len(self.failed):,} of {counted(n, 'rater')} {self._outside()}"]
        if not self.converged:
            lines.append("  the fit did not converge, so its numbers cannot be judged; allow more iterations")
        rows = self.table.filter(~pl.col("passed")).sort("rater", maintain_order=True)
        lines += [f"  {self.worded(row)}" for row in rows.iter_rows(named=True)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Gate: {self.summary().splitlines()[0]}>"

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        heading, *rest = self.summary().splitlines()
        return shown(heading, lines([*rest[:MOST], *self.changed]))

    def to_markdown(self) -> str:
        """For a pull request: what `raterlens check --markdown` writes. Raters who failed or are close to a bound."""
        answer, *rest = self.summary().splitlines()
        rows = self.table.filter(~pl.col("passed") | ~pl.col("certain"))
        shown = map(_cells, rows.sort("passed", "rater", maintain_order=True).to_dicts())
        headings = ("Rater", "Measure", "Value", "95 % interval", "Bound", "")
        return markdown(
            answer, markdown_table(headings, shown) if rows.height else map(cell, rest), self.changed
        )

    def to_junit(self) -> str:
        """As a test suite, a case per rater and bound: what `raterlens check --junit` writes."""
        rows = self.table.iter_rows(named=True)
        cases = [(f"{row['rater']}: {row['measure']}", self.worded(row), row["passed"]) for row in rows]
        fitted = f"the fit {'converged' if self.converged else 'did not converge'}"
        return junit([("the fit converged", fitted, self.converged), *cases])

    def to_json(self) -> str:
        """The record as JSON: what `raterlens check --json` prints."""
        own = ("passed", "failed", "converged", "bounds", "notes")
        content = {
            "format": "raterlens gate",
            "version": 1,
            **{name: getattr(self, name) for name in own},
            "decided_by": "interval" if self.confident else "estimate",
            "checks": self.table.fill_nan(None).to_dicts(),
            "changes": None if self.changes is None else self.changes.fill_nan(None).to_dicts(),
        }
        return json.dumps(content, ensure_ascii=False, allow_nan=False)

    @staticmethod
    def worded(row: dict[str, Any]) -> str:
        """A bound that a rater failed: "AM: kappa 0.38 (0.23 to 0.52), needs 0.6"."""
        value, interval = _numbers(row)
        bound = f"{row['bound']:g}"
        needs = bound
        if row["measure"] == "severity":
            needs = f"-{bound} to {bound}"
        elif row["measure"] in ("infit", "outfit"):
            needs = f"at most {bound}"
        inside = f" ({interval})" if interval else ""
        sure = "" if row["certain"] else "; the interval includes it"
        return f"{row['rater']}: {row['measure']} {value}{inside}, needs {needs}{sure}"

    def _outside(self) -> str:
        """Where a rater who fails would be: "below kappa 0.6 or outside severity -1.5 to 1.5"."""
        places = {
            name: f"{'below' if name.startswith('min_') else 'above'} {name[4:]} {value:g}"
            for name, value in self.bounds.items()
        }
        if (most := self.bounds.get("max_severity")) is not None:
            places["max_severity"] = f"outside severity {-most:g} to {most:g}"
        if (fewest := self.bounds.get("min_ratings")) is not None:
            places["min_ratings"] = f"with fewer than {counted(int(fewest), 'rating')}"
        return " or ".join(places.values())


def gate(
    fit: "Fit",
    ratings: Ratings | None = None,
    *,
    min_kappa: float | None = None,
    min_sharpness: float | None = None,
    max_severity: float | None = None,
    min_discrimination: float | None = None,
    max_infit: float | None = None,
    max_outfit: float | None = None,
    min_ratings: int | None = None,
    confident: bool = True,
    raters: Sequence[str] | None = None,
    baseline: Result | None = None,
) -> Gate:
    """Judge raters by bounds, so that a pipeline can go on or stop.

    Parameters
    ----------
    fit
        The fit whose raters are judged.
    ratings
        The ratings that were fitted; `max_infit` and `max_outfit` need them.
    min_kappa, min_sharpness, max_severity, min_discrimination, max_infit, max_outfit, min_ratings
        The bounds. `min_sharpness` does not depend on who else is on the panel; nor does `min_kappa` for a fit with
        `reference="perfect"`. `max_severity` is a distance from the origin, so it fails lenient raters as well as
        severe ones.
    confident
        A rater fails only where its whole 95 % interval is on the wrong side of a bound; one whose interval includes
        the bound passes as "not certain", so that nobody fails one day and passes the next by chance. A rater with few
        ratings then passes for lack of evidence; set `min_ratings` too. With False, or where a rater has no interval,
        the estimate decides.
    raters
        Judge only these, such as the LLM judges of a panel with human raters.
    baseline
        The fit of an earlier run, `rl.load("fit.json")`, to compare with: `changes` has what moved, and whether chance
        explains it. With `confident`, a rater keeps the earlier verdict until it is clearly wrong: who passed fails
        beyond 3.3 standard errors, who failed passes once the estimate is within the bounds.

    Returns
    -------
    Gate
        `passed`, which is also its truth value, `failed`, `checks`, `summary()`, `to_json()`, `to_markdown()` and
        `to_junit()`. A fit that did not converge fails.

    Examples
    --------
    >>> import raterlens as rl
    >>> fit = rl.fit(rl.load_example(), model="gmf")
    >>> result = rl.gate(fit, min_kappa=0.6)
    >>> result.passed, result.failed
    (False, ('AM:Sport', 'AM:Work'))
    >>> print(result.summary())
    failed: 2 of 16 raters below kappa 0.6
      AM:Sport: kappa 0.38 (0.24 to 0.52), needs 0.6
      AM:Work: kappa 0.45 (0.32 to 0.57), needs 0.6
    """
    bounds = Bounds(
        min_kappa=min_kappa,
        min_sharpness=min_sharpness,
        max_severity=max_severity,
        min_discrimination=min_discrimination,
        max_infit=max_infit,
        max_outfit=max_outfit,
        min_ratings=min_ratings,
        confident=confident,
        raters=raters,
    )
    return apply_bounds(fit, ratings, bounds, baseline)


def apply_bounds(fit: "Fit", ratings: Ratings | None, bounds: Bounds, baseline: Result | None = None) -> Gate:
    """`gate`, with the bounds in one record."""
    asked = bounds.given()
    if not asked:
        raise OptionError(
            "no bound is set, so every rater would pass",
            Message("set one, for example ", Option("min_kappa", 0.6)),
        )
    labels = fit.table("raters")["rater"].cast(pl.String)
    raters = [bounds.raters] if isinstance(bounds.raters, str) else bounds.raters
    chosen = list(labels) if raters is None else [choose("rater", str(name), labels) for name in raters]
    misfit = _misfit(fit, ratings) if {"max_infit", "max_outfit"} & asked.keys() else None
    table, earlier = fit.table("raters"), None if baseline is None else baseline.table("raters")
    found = pl.concat(
        [_judged(name, bound, table, misfit, bounds.confident, earlier) for name, bound in asked.items()]
    ).filter(pl.col("rater").is_in(chosen))
    failed = tuple(found.filter(~pl.col("passed"))["rater"].unique(maintain_order=True))
    moved = None
    if baseline is not None:
        measures = tuple(name for name in COMPARED if any(bound.endswith(name) for bound in asked))
        moved = changes(fit, baseline, measures).filter(pl.col("rater").is_in(chosen))
    return Gate(failed, asked, bounds.confident, fit.converged, found, _notes(fit), fit.backend, moved)


def _notes(fit: Result) -> tuple[str, ...]:
    """Those of the fit; where some raters are to set the scale, whether the others can still vouch for each other."""
    shared = fit.calibration is not None and fit.calibration.second_ability
    if shared or (fit.config.trusted is None and fit.config.anchors is None):
        return tuple(fit.notes)
    vouching = (
        "raters who share a bias vouch for each other in a fit of all; raterlens judge --trusted measures each on the "
        "scale of the trusted raters alone"
    )
    return (*fit.notes, vouching)


def _misfit(fit: Result, ratings: Ratings | None) -> pl.DataFrame:
    if ratings is None:
        raise OptionError(
            "infit and outfit are computed from the ratings", "give them too: rl.gate(fit, ratings, ...)"
        )
    if fit.calibration is None:
        remedy = Message("leave these bounds out, or use ", Option("model", "gmf"))
        raise OptionError(f"model {fit.model!r} has no infit or outfit", remedy, value=fit.model)
    return rater_fit(residuals(fit, ratings))


def _judged(
    name: str,
    bound: float,
    raters: pl.DataFrame,
    misfit: pl.DataFrame | None,
    confident: bool,
    earlier: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Every rater at one bound."""
    value, low, high = _measured(name, raters, misfit)
    least, most = (bound, np.inf) if name.startswith("min_") else (-np.inf, bound)
    if name == "max_severity":
        least = -bound
    low, high = (np.where(np.isfinite(end), end, value) for end in (low, high))
    labels = raters["rater"].cast(pl.String)
    before = np.full(len(value), NEW)
    # Infit and outfit of an earlier run would need its ratings.
    if earlier is not None and confident and name not in ("max_infit", "max_outfit"):
        then = _judged(name, bound, earlier, None, confident)
        verdicts = dict(zip(then["rater"], np.where(then["passed"], PASSED, FAILED), strict=True))
        before = np.array([verdicts.get(label, NEW) for label in labels])
    within, outside = (least <= value) & (value <= most), beyond(value, (low, high), (least, most), before)
    columns = {
        "rater": labels,
        "measure": name.split("_")[1],
        "bound": float(bound),
        **{"value": value, "low": low, "high": high},
        "passed": ~outside & np.isfinite(value) if confident else within,
        "certain": (high < least) | (low > most) | ((least <= low) & (high <= most)),
    }
    return pl.DataFrame(columns)


def _measured(name: str, raters: pl.DataFrame, misfit: pl.DataFrame | None) -> tuple[Array, Array, Array]:
    """The estimate and its 95 % interval."""

    def column(label: str) -> Array:
        return raters[label].to_numpy().astype(np.float64)

    if name == "min_ratings":
        return column("n"), column("n"), column("n")
    if name in ("min_kappa", "min_sharpness"):
        return column(name[4:]), column(f"{name[4:]}_low"), column(f"{name[4:]}_high")
    if name in ("max_infit", "max_outfit"):
        assert misfit is not None
        square, z = (misfit[f"{name[4:]}{end}"].to_numpy() for end in ("", "_z"))
        # z is the distance from 1 in standard errors.
        half = NORMAL_95 * np.abs(square - 1) / np.maximum(np.abs(z), 1e-9)
        return square, np.maximum(square - half, 0.0), square + half
    label = "eta" if name == "max_severity" else "rho"
    half = NORMAL_95 * column(f"{label}_se")
    return column(label), column(label) - half, column(label) + half


def _numbers(row: dict[str, Any]) -> tuple[str, str]:
    """A rater's value and interval at a bound; the interval is empty where there is none."""
    if row["measure"] == "ratings":
        return f"{row['value']:.0f}", ""
    bounds = (row["bound"], -row["bound"])
    interval = ends(row["low"], row["high"], *bounds) if row["low"] < row["high"] else ""
    return beside(row["value"], *bounds), interval


def _cells(row: dict[str, Any]) -> list[str]:
    value, interval = _numbers(row)
    verdict = ("passed" if row["passed"] else "**failed**") + ("" if row["certain"] else ", not certain")
    return [cell(row["rater"]), row["measure"], value, interval or MISSING, f"{row['bound']:g}", verdict]


def beside(value: float | None, *bounds: float) -> str:
    """A number with as many digits, two at least, as show on which side of the bounds it lies.

    >>> beside(0.4971), beside(0.4971, 0.5), beside(0.5, 0.5)
    ('0.50', '0.497', '0.50')
    """
    for digits in range(2, 7):
        text = number(value, digits)
        if text == MISSING or all(
            np.sign(float(text) - each) == np.sign(float(value or 0) - each) for each in bounds
        ):
            break
    return text


def ends(low: float | None, high: float | None, *bounds: float) -> str:
    """An interval, each end as `beside` writes it."""
    found = beside(low, *bounds), beside(high, *bounds)
    return MISSING if MISSING in found else " to ".join(found)


def cell(text: object) -> str:
    """Text that neither ends a cell nor begins markup."""
    found = printable(str(text)).strip()
    for mark in "\\`*_[]<>|":
        found = found.replace(mark, f"\\{mark}")
    return found


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lines of a table; cells are text that may be markup."""
    return [f"| {' | '.join(row)} |" for row in (headings, ["---"] * len(headings), *rows)]


def markdown(heading: str, body: Iterable[str], changed: Sequence[str]) -> str:
    """A heading, what is below it, and what has changed since the last run."""
    lines = [f"### Raterlens: {cell(heading)}", "", *body]
    if changed:
        lines += ["", "Since the last run:", "", *(f"- {cell(text)}" for text in changed)]
    return "\n".join(lines) + "\n"


def junit(cases: Sequence[tuple[str, str, bool]]) -> str:
    """A test suite: the name of each case, its numbers in words, and whether it passed."""
    failures = sum(not passed for _, _, passed in cases)
    suite = ElementTree.Element(
        "testsuite", name="raterlens", tests=str(len(cases)), failures=str(failures), errors="0"
    )
    for name, words, passed in cases:
        case = ElementTree.SubElement(suite, "testcase", classname="raterlens", name=printable(name))
        if passed:
            ElementTree.SubElement(case, "system-out").text = printable(words)
        else:
            ElementTree.SubElement(case, "failure", message=printable(words))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"
