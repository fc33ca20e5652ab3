"""What a fit is asked for, checked before any work: which choices go together, and with which scores."""

from pathlib import Path
from typing import Any, get_args

import numpy as np

from raterlens.capability.links import LINKS, get_link
from raterlens.capability.yardstick import ABSOLUTE, NOISELESS, Yardstick
from raterlens.config import Scale
from raterlens.errors import InputError, OptionError, choose
from raterlens.estimation.checkpoint import Checkpoint
from raterlens.models.anchors import Anchors
from raterlens.models.build import Options
from raterlens.models.registry import facets_spec, is_latent_class
from raterlens.ratings.coded import Ratings
from raterlens.result.record import Fit


def checked_checkpoint(
    path: str | Path | None, model: str, method: str, *, resume: bool
) -> Checkpoint | None:
    """The file that a fit is kept in while it runs, if any."""
    if path is None:
        if resume:
            raise OptionError("resume is given without a checkpoint to go on from; name it with checkpoint=")
        return None
    check_by_parts("a checkpoint", model, method)
    return Checkpoint(path, resume=resume)


def check_by_parts(what: str, model: str, method: str) -> None:
    """Raise where a fit does not go over parts of the students, which `what` takes."""
    if is_latent_class(model) or method != "mml":
        raise OptionError(
            f"{what} goes with method 'mml' of the facets models, not with model {model!r} by {method!r}; leave it out"
        )


def checked_options(model: str, method: str, link: str | None, scale: str, *, item_slopes: bool) -> Options:
    """The model with its link and scale, as they go together with the method."""
    spec = facets_spec(model)
    choose("scale", scale, get_args(Scale))
    name = choose("link", link or spec.links[0], LINKS)
    if name not in spec.links:
        raise OptionError(
            f"model {model!r} is defined with link {spec.links[0]!r}, not {name!r}; leave link out, or use model 'gmf'"
        )
    if name == "log" and method != "mml":
        raise OptionError(
            f"link 'log' with method {method!r}: its probabilities have a corner where they reach 1, which no single "
            "most probable ability stands for; use method 'mml', or link 'cloglog'"
        )
    if name == "cauchit" and method != "mml":
        raise OptionError(
            f"link 'cauchit' with method {method!r}: its posteriors can have several peaks, so a single most "
            "probable ability does not stand for them; use method 'mml'"
        )
    return Options(spec, get_link(name), scale, item_slopes)


def check_together(options: Options, method: str, covariates: Any, anchors: Anchors | Fit | None) -> None:
    """Raise on covariates or anchors that the model or the method does not take."""
    if anchors is not None and not isinstance(anchors, Anchors | Fit):
        raise OptionError(f"anchors is a {type(anchors).__name__}; give a fit, or rl.Anchors(...)")
    if isinstance(anchors, Fit) and anchors.calibration is None:
        raise OptionError(
            f"a fit of model {anchors.model!r} cannot anchor another; use 'gmf', 'tfm' or 'probit'"
        )
    if anchors is not None and method == "hl":
        raise OptionError(
            "method 'hl' rescales all slopes and cannot hold any; use method 'mml' with anchors"
        )
    if covariates is not None and anchors is not None:
        raise OptionError(
            "both covariates and anchors are given, but explained raters have no parameters of their own to hold; "
            "leave one of them out"
        )
    if covariates is not None and "covariates" not in options.spec.takes:
        raise OptionError(
            f"model {options.spec.name!r} takes no covariates; use model 'gmf' with link {options.link.name!r}"
        )


def known_scores(ratings: Ratings, anchors: Anchors | Fit | None) -> tuple[int, ...]:
    """The scores that the model knows: those of the anchoring fit, or all that were given."""
    if isinstance(anchors, Fit) and anchors.calibration is not None:
        return anchors.calibration.scores
    if ratings.n_categories == 2:
        return (0, 1)
    return tuple(int(score) for score in np.flatnonzero(ratings.score_counts))


def check_scores(ratings: Ratings, n_categories: int, options: Options, method: str) -> None:
    """Raise where the scores are ordered, and the model, the method or the link takes pass or fail only."""
    if n_categories == 2:
        return
    lowest, *_, highest = np.flatnonzero(ratings.score_counts)
    seen = f"scores go from {lowest} to {highest}"
    cut = f"say from which score on is a pass, for example cut={highest}"
    if not options.spec.ordered:
        raise InputError(
            f"{seen}, but model {options.spec.name!r} takes pass (1) or fail (0); {cut}, or use model 'gmf'"
        )
    if method != "mml":
        raise InputError(
            f"{seen}, but method {method!r} takes pass (1) or fail (0); {cut}, or use method 'mml'"
        )
    if options.link.name == "log":
        raise InputError(
            f"{seen}, but link 'log' takes pass (1) or fail (0); {cut}, or use link 'logit', or link 'cloglog' with "
            "scale 'graded'"
        )
    if options.scale != "graded" and options.link.name != "logit":
        raise InputError(
            f"{seen}, and link {options.link.name!r} needs scale 'graded' for ordered scores; choose that, or "
            f"link 'logit', or {cut}"
        )


def default_yardstick(options: Options, anchors: Anchors | Fit | None) -> Yardstick:
    """The yardstick of whoever chooses none: that of the anchoring fit, else the model's."""
    if isinstance(anchors, Fit) and anchors.yardstick.reference != NOISELESS:
        return Yardstick(anchors.sigma, anchors.yardstick.population, -anchors.alpha)
    return Yardstick(NOISELESS, origin=ABSOLUTE) if options.spec.absolute else Yardstick()
