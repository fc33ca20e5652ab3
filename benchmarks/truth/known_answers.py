"""Panels that share a bias, with some known answers: `python -m benchmarks.truth.known_answers --panels 40`.

12 judges of 300 answers, 60 of them known (`--known`). Log-slopes are drawn from N(log 1.5, 0.3²), severities from
N(0, 0.5²); every other judge follows a second ability by the strength given. 50 % of the answers are right, or 24 %,
and judges pass fewer then. `--data judges.csv` (columns pair, judge, order_swapped, prefers_second, truth) ranks real
LLM judges by their accuracy on answers that were held out, instead.

Root mean squared errors are of kappa with `reference="perfect", origin="absolute"`, against

- alone: each judge by the known answers alone, without the other judges;
- plain: all ratings, no known answers;
- one: one dimension with known answers (`shared=False`);
- auto: a second dimension where the test lets it in.
"""

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special, stats

import raterlens as rl

Array = NDArray[np.float64]

JUDGES, ANSWERS, KNOWN = 12, 300, 60
STRENGTHS, SHARES = (0.0, 0.5, 1.0, 2.0), (0.5, 0.24)
SCALE: dict[str, Any] = {"reference": "perfect", "origin": "absolute"}


class Panel(NamedTuple):
    table: pl.DataFrame
    kappa: Array
    bias: Array


def draw(strength: float, share: float, seed: int, known: int = KNOWN) -> Panel:
    random = np.random.default_rng([seed, int(100 * strength), int(100 * share)])
    theta, zeta = random.standard_normal((2, ANSWERS))
    slope = 1.5 * np.exp(0.3 * random.standard_normal(JUDGES))
    severity = 0.5 * random.standard_normal(JUDGES) + (0.0 if share == 0.5 else 0.75)
    bias = np.where(np.arange(JUDGES) % 2 == 0, strength, 0.0)
    s = np.outer(theta, slope) + np.outer(zeta, bias) - severity
    score = (random.random(s.shape) < special.expit(s)).astype(int)
    right = theta > special.ndtri(1 - share)
    gold = [int(each) if place < known else None for place, each in enumerate(right)]
    columns = {
        "student": np.repeat(np.arange(ANSWERS), JUDGES),
        "rater": np.tile([f"judge {place:02}" for place in range(JUDGES)], ANSWERS),
        "score": score.ravel(),
        "gold": [each for each in gold for _ in range(JUDGES)],
    }
    return Panel(pl.DataFrame(columns), true_kappa(slope, severity, bias), bias)


def true_kappa(slope: Array, severity: Array, bias: Array) -> Array:
    """By its definition, on a fine grid: sqrt(2 pi) E[dP/dtheta], over both abilities."""
    line = np.arange(-7.0, 7.01, 0.1)
    t, z = (part.ravel() for part in np.meshgrid(line, line))
    weight = np.exp(-0.5 * (t**2 + z**2)) * 0.1**2 / (2 * np.pi)
    p = special.expit(np.outer(slope, t) + np.outer(bias, z) - severity[:, None])
    return np.asarray(np.sqrt(2 * np.pi) * slope * ((p * (1 - p)) @ weight))


def alone(table: pl.DataFrame) -> Array:
    """Each judge by the known answers alone."""
    known = table.filter(pl.col("gold").is_not_null())
    found = []
    for (_,), own in known.group_by("rater", maintain_order=True):
        fit = rl.fit(own, known="gold", shared=False, standard_errors=False, **{"model": "gmf"} | SCALE)
        found.append(float(fit.raters["kappa"][0]))
    return np.array(found)


def outcome(strength: float, share: float, seed: int, known: int) -> dict[str, float]:
    """Errors and coverage on one panel."""
    made = draw(strength, share, seed, known)
    plain = rl.fit(made.table.drop("gold"), standard_errors=False, **{"model": "gmf"} | SCALE)
    ratings = rl.read(made.table, known="gold")
    one = rl.fit(ratings, shared=False, standard_errors=False, **{"model": "gmf"} | SCALE)
    auto = rl.fit(ratings, **{"model": "gmf"} | SCALE)
    found = bool(auto.table("shared")["found"][0])
    two = auto if found else rl.fit(ratings, shared=True, **{"model": "gmf"} | SCALE)

    def rmse(kappa: Any) -> float:
        return float(np.sqrt(np.mean((np.asarray(kappa) - made.kappa) ** 2)))

    def covered(fit: Any, what: str, truth: Array) -> float:
        low, high = (fit.raters[f"{what}_{end}"].to_numpy() for end in ("low", "high"))
        return float(np.mean((low <= truth) & (truth <= high)))

    return {
        "alone": rmse(alone(made.table)),
        "plain": rmse(plain.raters["kappa"]),
        "one": rmse(one.raters["kappa"]),
        "auto": rmse(auto.raters["kappa"]),
        "two": rmse(two.raters["kappa"]),
        "found": float(found),
        "cover kappa": covered(auto, "kappa", made.kappa),
        "cover bias": covered(two, "bias", made.bias),
    }


def lines(panels: int, known: int) -> Iterator[str]:
    """A row for each strength and share of right answers, with Monte-Carlo standard errors of the ratios."""
    for share in SHARES:
        for strength in STRENGTHS:
            rows = pl.DataFrame([outcome(strength, share, seed, known) for seed in range(panels)])
            mean = rows.mean().row(0, named=True)
            words = [f"{name} {mean[name]:.3f}" for name in ("alone", "plain", "one", "auto", "two")]
            for other in ("alone", "one", "plain"):
                off = (rows["auto"] - rows[other] * (mean["auto"] / mean[other])).to_numpy()
                error = np.std(off, ddof=1) / (mean[other] * np.sqrt(panels))
                words.append(f"auto/{other} {mean['auto'] / mean[other]:.2f} ({error:.2f})")
            better = np.mean(((rows["auto"] < rows["alone"]) & (rows["auto"] < rows["one"])).to_numpy())
            words += [f"better than both {better:.0%}", f"found {mean['found']:.0%}"]
            words += [f"covers kappa {mean['cover kappa']:.1%}", f"bias {mean['cover bias']:.1%}"]
            yield f"{known} known, {share:.0%} right, strength {strength:g}, {panels} panels: " + ", ".join(
                words
            )


def on_judges(path: Path, draws: int, known: int) -> Iterator[str]:
    """Rank correlation of real judges with their accuracy on the answers that were held out, over random draws."""
    raw = pl.read_csv(path)
    table = raw.select(
        student=pl.col("pair").cast(pl.String) + pl.col("order_swapped").cast(pl.String),
        rater="judge",
        score="prefers_second",
        truth="truth",
    )
    students = table["student"].unique(maintain_order=True)
    found: dict[str, list[float]] = {"known alone": [], "plain": [], "one": [], "auto": []}
    for seed in range(draws):
        chosen = students.sample(known, seed=seed)
        shown = table.with_columns(
            gold=pl.when(pl.col("student").is_in(chosen.implode())).then(pl.col("truth"))
        )
        right = (pl.col("score") == pl.col("truth")).mean().alias("right")
        held, take_in_blocks = (
            part.group_by("rater").agg(right).sort("rater")["right"]
            for part in (shown.filter(pl.col("gold").is_null()), shown.filter(pl.col("gold").is_not_null()))
        )
        ratings = rl.read(shown.drop("truth"), known="gold")
        plain = rl.fit(shown.drop("truth", "gold"), standard_errors=False, **{"model": "gmf"} | SCALE)
        one, auto = (
            rl.fit(ratings, shared=each, standard_errors=False, **{"model": "gmf"} | SCALE)
            for each in (False, "auto")
        )
        values = (take_in_blocks, plain.raters["kappa"], one.raters["kappa"], auto.raters["kappa"])
        for name, value in zip(found, values, strict=True):
            found[name].append(float(stats.spearmanr(value, held).statistic))
        yield f"draw {seed}: {auto.table('shared').row(0)}"
    for name, each in found.items():
        yield f"{name}: median rank correlation {np.median(each):.3f}, from {min(each):.3f} to {max(each):.3f}"


def wrong_labels(share: float, panels: int, known: int) -> Iterator[str]:
    """Errors of kappa where all known answers are right, where this share of them is wrong, and without any."""
    for strength in (0.0, 1.0, 2.0):
        errors: dict[str, list[float]] = {}
        for seed in range(panels):
            made, random = draw(strength, 0.5, seed, known), np.random.default_rng([seed, 9])
            wrong = np.zeros(ANSWERS, dtype=bool)
            wrong[random.choice(known, round(share * known), replace=False)] = True
            gold = pl.when(pl.Series(np.repeat(wrong, JUDGES))).then(1 - pl.col("gold")).otherwise("gold")
            tables = {
                "without": made.table.drop("gold"),
                "right": made.table,
                "wrong": made.table.with_columns(gold=gold),
            }
            for name, table in tables.items():
                given: dict[str, Any] = {} if name == "without" else {"known": "gold"}
                fit = rl.fit(table, model="gmf", standard_errors=False, **given, **SCALE)
                off = np.asarray(fit.raters["kappa"]) - made.kappa
                errors.setdefault(name, []).append(float(np.sqrt(np.mean(off**2))))
        words = ", ".join(f"{name} {np.mean(each):.3f}" for name, each in errors.items())
        yield f"{known} known, {share:.0%} wrong, strength {strength:g}, {panels} panels: {words}"


def costs() -> Iterator[str]:
    """Seconds of a fit with everything, at three sizes."""
    for judges, answers, known in ((51, 319, 60), (30, 20_000, 200), (40, 20_000, 200)):
        random = np.random.default_rng(1)
        theta, zeta = random.standard_normal((2, answers))
        slope, bias = 1.2 * np.exp(0.4 * random.standard_normal(judges)), np.arange(judges) % 2
        s = np.outer(theta, slope) + np.outer(zeta, bias) - 0.5 * random.standard_normal(judges)
        table = pl.DataFrame(
            {
                "student": np.repeat(np.arange(answers), judges),
                "rater": np.tile(np.arange(judges), answers),
                "score": (random.random(s.shape) < special.expit(s)).astype(int).ravel(),
                "gold": np.repeat(np.where(np.arange(answers) < known, theta > 0, np.nan), judges),
            }
        )
        ratings = rl.read(table.with_columns(pl.col("gold").fill_nan(None)), known="gold")
        wall, busy = time.perf_counter(), time.process_time()
        fit = rl.fit(ratings, model="gmf")
        spent = time.process_time() - busy, time.perf_counter() - wall
        found = fit.table("shared").row(0)
        yield f"{judges} judges of {answers:,} answers: {spent[0]:.1f} CPU s, {spent[1]:.1f} s, test {found}"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--panels", type=int, default=40)
    options.add_argument("--data", type=Path)
    options.add_argument("--draws", type=int, default=6)
    options.add_argument("--known", type=int, default=KNOWN, help="answers known")
    options.add_argument("--cost", action="store_true")
    options.add_argument("--wrong", type=float, help="share of known answers that are wrong, such as 0.05")
    given = options.parse_args()
    found = (
        lines(given.panels, given.known)
        if given.data is None
        else on_judges(given.data, given.draws, given.known)
    )
    found = costs() if given.cost else found
    found = found if given.wrong is None else wrong_labels(given.wrong, given.panels, given.known)
    for line in found:
        print(line, flush=True)


if __name__ == "__main__":
    main()
