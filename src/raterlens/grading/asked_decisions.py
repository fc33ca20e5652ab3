"""Decisions as a command or a form asks for them: checked before the work, made after it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config import FitConfig
from raterlens.grading.cuts import given_cuts
from raterlens.models.registry import is_latent_class

if TYPE_CHECKING:
    from raterlens.fitting.fit import Fit
    from raterlens.grading.decisions import Decisions
    from raterlens.grading.remarking import Remark
    from raterlens.ratings.coded import Ratings


@dataclass(frozen=True, slots=True)
class AskedDecisions:
    """Cuts as text, and how many further marks to plan."""

    decide: str | None = None
    remark: int | None = None

    def check(self, fit: FitConfig) -> None:
        """Raise on what can be seen to be wrong without ratings."""
        if self.decide is None:
            if self.remark is not None:
                raise OptionError(
                    Message(Option("remark"), " plans marks for decisions"),
                    Message("give the cut as well, such as ", Option("decide", 1.5)),
                    option="decide",
                )
            return
        given_cuts(self.decide)
        if self.remark is not None and self.remark < 1:
            raise OptionError(
                f"{self.remark} further marks", "give at least 1", value=self.remark, option="remark"
            )
        if is_latent_class(fit.model):
            raise OptionError(
                f"model {fit.model!r} has no ability to decide by",
                Message("fit ", Option("model", "gmf"), " or ", Option("model", "tfm")),
                value=fit.model,
                option="decide",
            )

    def check_scores(self, ratings: "Ratings") -> None:
        """Raise on cuts that no mean score could reach, or miss."""
        if self.decide is None:
            return
        cuts, on = given_cuts(self.decide)
        given = ratings.score_step * np.flatnonzero(ratings.score_counts)
        if on == "score" and not given[0] < cuts[0] <= cuts[-1] < given[-1]:
            off = cuts[0] if cuts[0] <= given[0] else cuts[-1]
            raise OptionError(
                f"a cut at {off:g}, but scores go from {given[0]:g} to {given[-1]:g}",
                "give a mean score between them",
                value=self.decide,
                option="decide",
            )

    def made(self, fit: "Fit", ratings: "Ratings") -> "tuple[Decisions | None, Remark | None]":
        """Make the decisions that were asked for."""
        if self.decide is None:
            return None, None
        decided = fit.decisions(ratings, cut=self.decide)
        plan = None if self.remark is None else fit.remark(ratings, cut=decided, budget=self.remark)
        return decided, plan
