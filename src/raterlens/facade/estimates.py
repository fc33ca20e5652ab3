"""What follows from the estimates alone: other yardsticks, comparisons, advice, and files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from raterlens.base.drafts import write_whole
from raterlens.base.text import counted, sentence
from raterlens.capability.yardstick import ABSOLUTE, Origin, Reference, Students, Yardstick
from raterlens.inference.measurement import RATER_COLUMNS, measured_fit
from raterlens.models.panel import PanelSpread
from raterlens.notebook import Point, intervals, lines, shown
from raterlens.ratings.backend import as_came
from raterlens.result.record import Result
from raterlens.result.saved import to_json
from raterlens.result.summary import summary

if TYPE_CHECKING:
    import xarray as xr

    from raterlens.diagnostics.advice import WhatIf
    from raterlens.facade.plots import Plots
    from raterlens.inference.rater_comparison import RaterComparison


class Estimates(Result):
    """Estimates with their uncertainty, and what can be done with them without the ratings."""

    __slots__ = ()

    def capability(
        self,
        *,
        reference: Reference | None = None,
        population: Students | None = None,
        origin: Origin | None = None,
        item: str | None = None,
        theta: float | Sequence[float] | None = None,
    ) -> Any:
        """Capability on another yardstick, without fitting again.

        Parameters
        ----------
        reference, population, origin
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
            A row per rater: rho, eta and kappa with standard errors and the 95 % interval of kappa. With `theta` a
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
        self.calibrated("its capability is the same on any yardstick")
        if item is not None and origin is None:
            origin = ABSOLUTE
        raters = self.table("raters")["rater"]
        yardstick = Yardstick.chosen(self.yardstick, raters, reference, population, origin)
        found = measured_fit(self, yardstick, item)
        if theta is not None:
            return as_came(found.curves(raters, theta), self.backend)
        estimates = found.raters()
        columns = {name: getattr(estimates, name) for name in RATER_COLUMNS}
        return as_came(pl.DataFrame({"rater": raters, **columns}), self.backend)

    @property
    def spread(self) -> PanelSpread | None:
        """How much raters differ, where they were fitted as a sample (`prior="panel"`): the spread of their slopes and
        of their severities, each with a 95 % interval, and the slope of a usual rater. None otherwise.

        Examples
        --------
        >>> import raterlens as rl
        >>> spread = rl.fit(rl.load_example(), prior="panel").spread
        >>> spread.slope_low < spread.slope < spread.slope_high
        True
        """
        return None if self.calibration is None else self.calibration.spread

    def compare_raters(
        self,
        *,
        k: int | None = None,
        alpha: float = 0.05,
        target_se: float = 0.05,
    ) -> "RaterComparison":
        """Who differs from whom and from the panel's mean, and who is among the best.

        Parameters
        ----------
        k
            How many count as the best, and as the worst; a fifth of the raters where left out.
        alpha
            Level of the findings named in the summary.
        target_se
            Standard error of kappa that is wanted, for the number of further ratings.
        Returns
        -------
        RaterComparison
            Tables `raters` and `pairs`; `summary()` says it in words.

        Examples
        --------
        >>> import raterlens as rl
        >>> found = rl.fit(rl.load_example()).compare_raters()
        >>> found.raters.filter(verdict="below the mean")["rater"].to_list()
        ['AM:Sport', 'AM:Work']
        """
        from raterlens.inference.rater_comparison import compare_raters  # loads scipy.stats

        return compare_raters(self, k=k, alpha=alpha, target_se=target_se)

    def verdicts(self) -> Any:
        """What the numbers say about each rater, what costs most, and what to do about that.

        Returns
        -------
        dataframe
            A row per rater: rater, standard (too severe, severe, typical, lenient, too lenient), sharpness (sharp,
            fair, blunt, cannot tell students apart, reversed), halo (none, some, strong) where each rater's was
            estimated, costs_most (severity, discrimination, halo, nothing), next_step. A verdict is "unclear" where
            ratings are too few. All rest on 95 % intervals and on scales that do not depend on who else is on the
            panel; docs/diagnostics.md has the lines and their error rates.

        Examples
        --------
        >>> import raterlens as rl
        >>> rl.fit(rl.load_example()).verdicts().filter(rater="DA:School").row(0)[:4]
        ('DA:School', 'too severe', 'sharp', 'severity')
        """
        from raterlens.diagnostics.panel_summary import judged  # a fit alone does without

        found = judged(self)
        sharpness, halo = pl.col("sharpness_verdict").alias("sharpness"), pl.col("halo_verdict").alias("halo")
        own = [] if (found["halo_verdict"] == "").all() else [halo]
        chosen = found.select("rater", "standard", sharpness, *own, "costs_most", "next_step")
        return as_came(chosen, self.backend)

    def what_if(
        self, rater: str, severity: float | Sequence[float] | None = None, *, halo: float | None = None
    ) -> "WhatIf":
        """Capability of a rater at other severities (and with another halo), the best one and what it would gain."""
        from raterlens.diagnostics.advice import what_if  # a fit alone does without

        return what_if(self, rater, severity, halo=halo)

    def advice(self) -> Any:
        """What each rater lost to severity, discrimination and halo, and a paragraph of feedback."""
        from raterlens.diagnostics.advice import advice  # a fit alone does without

        return as_came(advice(self), self.backend)

    def assignment(self, abilities: Sequence[float] = (-1.5, -0.5, 0.5, 1.5)) -> Any:
        """Who should mark whom: for each ability, raters from the most to the least capable there."""
        from raterlens.diagnostics.advice import assignment  # a fit alone does without

        return as_came(assignment(self, abilities), self.backend)

    @property
    def plot(self) -> "Plots":
        """Charts of this fit: `fit.plot.capability()`, `fit.plot.curves(["AM", "BE"])`; press Tab for all of them."""
        from raterlens.facade.plots import Plots  # a fit alone does without

        return Plots(self)

    # -- for people and for other programs --------------------------------------------------------------------

    def __repr__(self) -> str:
        return (
            f"<Fit of {self.model} by {self.method}: {counted(self.n_ratings, 'rating')} of "
            f"{counted(self.n_students, 'student')} by {counted(self.n_raters, 'rater')}"
            f"{'' if self.converged else ', NOT converged'}>"
        )

    def _repr_html_(self) -> str:
        from raterlens.diagnostics.panel_summary import headline, judged  # a fit alone does without

        rows = judged(self)
        points: list[Point] = [
            (f"{label} ({verdict})", *numbers)
            for label, verdict, *numbers in rows.select(
                "rater", "label", "kappa", "kappa_low", "kappa_high"
            ).iter_rows()
        ]
        answer = headline(rows)
        aside = [sentence(answer.aside)] if answer.aside else []
        cautions = [counted(len(self.warnings), "caution") + ": see fit.warnings"] if self.warnings else []
        about = f"{repr(self)[1:-1]}, log-likelihood {self.loglik:.1f}"
        domain = (min(0.0, *(point[1] for point in points)), max(1.0, *(point[1] for point in points)))
        return shown(answer.text, lines([*aside, about, *cautions]), intervals(points, domain, "capability"))

    def summary(self) -> str:
        """The fit in a few lines: raters from most to least capable, then the model."""
        return summary(self)

    def to_excel(self, path: str | Path) -> Path:
        """Write an Excel workbook with the sheets Raters, Items, Students and Warnings: frozen headings, numbers as
        numbers, labels always as text, capability in colour. Needs the extra `excel`."""
        from raterlens.output.excel import write_workbook  # needs an optional package

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
        from raterlens.output.xarray_dataset import dataset  # needs an optional package

        return dataset(self)

    def to_json(self) -> str:
        """The whole fit as JSON: what `save` writes and `load` reads."""
        return to_json(self)

    def save(self, path: str | Path) -> Path:
        """Write the fit as JSON; `rl.load` reads it back."""
        path = Path(path)
        text = self.to_json()
        write_whole(path, lambda draft: draft.write_text(text, encoding="utf-8"), option="path")
        return path
