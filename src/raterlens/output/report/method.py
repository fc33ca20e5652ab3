"""Method section: what was fitted, how, under which assumptions, and how to repeat it."""

import math
from typing import TYPE_CHECKING

from raterlens.base.text import counted, number
from raterlens.diagnostics.differences import p_words
from raterlens.output.report import english as words
from raterlens.output.report.reproduce import Reproduction, from_python

if TYPE_CHECKING:
    from raterlens.inference.result import Result


def settings(fit: "Result") -> tuple[tuple[str, str], ...]:
    """Settings and course of the fit, as (setting, value)."""
    ended = f"{'yes, in' if fit.converged else 'no, after'} {counted(fit.optimiser.iterations, 'iteration')}"
    errors = words.COVARIANCES.get(fit.covariance, fit.covariance)
    found = {
        "model": words.MODELS.get(fit.model, fit.model),
        "method": words.METHODS.get(fit.method, fit.method),
        "link": words.LINKS.get(fit.link, fit.link),
        "data": f"{counted(fit.n_ratings, 'rating')} of {counted(fit.n_students, 'student')} by "
        f"{counted(fit.n_raters, 'rater')} on {counted(fit.n_items, 'item')}",
        "loglik": f"{number(fit.loglik, 4)} with {counted(fit.n_parameters, 'parameter')}",
        "information": f"{number(fit.aic, 1)}, {number(fit.bic, 1)}",
        "sigma": number(fit.sigma, 4),
        "alpha": number(fit.alpha, 4),
        "yardstick": f"{fit.yardstick.reference}, {fit.yardstick.population}, {fit.yardstick.origin}",
        **_effects(fit),
        "covariance": errors if has_errors(fit) else words.NO_ERRORS,
        "converged": ended if fit.converged else f"{ended}: {fit.optimiser.stopped}",
    }
    return tuple((words.SETTINGS[name], value) for name, value in found.items())


def _effects(fit: "Result") -> dict[str, str]:
    """Effects that scores share besides ability, if the model has any."""
    found: dict[str, str] = {}
    raters, apart = fit.table("raters"), "piece effect" in fit.tables
    if "halo" in raters.columns:
        spreads = raters["halo"].to_numpy()
        low, high = number(float(spreads.min()), 2), number(float(spreads.max()), 2)
        spread = low if low == high else f"{low}-{high}"
        found |= {"halo": words.HALO.format(spread=spread)} if apart else {}
        found |= {} if apart else {"reading": words.READING.format(spread=spread)}
    if apart:
        own = fit.table("piece effect").row(0, named=True)
        spread, speaks = number(own["spread"], 2), number(own["speaks"], 2)
        found["piece"] = words.PIECES.format(spread=spread, speaks=speaks)
    if "spreads" in fit.tables:
        rows = fit.table("spreads").iter_rows(named=True)
        found["interactions"] = "; ".join(
            words.INTERACTION.format(
                term=row["term"],
                spread=number(row["spread"], 2),
                interval=words.NO_UPPER_LIMIT
                if math.isnan(row["high"])
                else f"{number(row['low'], 2)}-{number(row['high'], 2)}",
                p=p_words(row["p"]),
            )
            for row in rows
        )
    return found


def has_errors(fit: "Result") -> bool:
    return bool(fit.table("raters")["kappa_se"].is_not_nan().any())


def assumptions(fit: "Result") -> tuple[str, ...]:
    if fit.model not in words.NORMAL_FREE:
        return words.LATENT_ASSUMPTIONS
    abilities, work, raters = words.ASSUMPTIONS
    if fit.config.ability == "smooth":
        abilities = words.SMOOTH_ASSUMPTION
    return abilities, work, words.INTERACTING_ASSUMPTION if fit.config.interactions else raters


def reproduced(fit: "Result", reproduction: Reproduction | None) -> tuple[tuple[str, str], ...]:
    """How to make the fit again, as (where, what to type)."""
    found = reproduction or from_python(fit.config)
    command = () if found.command is None else ((words.IN_SHELL, found.command),)
    return (*command, (words.IN_PYTHON, found.call))
