"""Recompute the first screen from files: `python -m benchmarks.truth.first_screen`.

Five data sets (the demo, writing-like essays, half bands, scores 1 to 5, raters who share no students) go through the
command. Numbers of the report's first screen are then recomputed from raters.csv, students.csv, the estimates in
fit.json and the ratings alone, by a few lines that share nothing with the package, and compared with what the page
says: counts, verdicts, capabilities with their intervals, agreement as seen and as expected, reliability, what an
average student can expect, and whose result would change. Not recomputed are p-values and the interval of that number.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import raterlens as rl


def data_sets() -> dict[str, pl.DataFrame]:
    """Long tables of student, rater, item and score, as a file would have them."""
    essays = rl.simulate(students=120, raters=8, items=3, raters_per_student=2, seed=1).ratings.table()
    thresholds, severity = [-1.0, 0.0, 1.0], [1.5, -1.0, 0.0, 0.0, -0.5]
    ordered = rl.simulate(
        students=150, raters=5, items=2, severity=severity, thresholds=thresholds, seed=2
    ).ratings.table()
    bands = ordered.with_columns(score=4.0 + 0.5 * pl.col("score"))
    marks = ordered.with_columns(score=1 + pl.col("score"))
    apart = rl.simulate(students=120, raters=4, items=3, raters_per_student=1, seed=3).ratings.table()
    return {
        "demo": rl.load_example().table(),
        "writing": essays,
        "half bands": bands,
        "1-5": marks,
        "disconnected": apart,
    }


def page_text(folder: Path) -> str:
    """The opening of the report without markup."""
    html = (folder / "report.html").read_text(encoding="utf-8")
    opening = html[html.index('<section id="attention"') : html.index("</section>")]
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", opening)).replace("( ", "(")


def expected_phrases(table: pl.DataFrame, folder: Path) -> list[str]:
    """Phrases that the page has to have, from the files alone."""
    raters = pl.read_csv(folder / "raters.csv")
    students = pl.read_csv(folder / "students.csv")
    grave = ("too severe", "too lenient", "blunt", "cannot tell students apart", "reversed", "random", "halo")
    phrases = [f"From {table.height:,} ratings of {students.height:,} students by {raters.height:,} raters"]
    wanting = raters.filter(pl.col("verdict").is_in(grave))
    if wanting.height and wanting.height < raters.height:
        phrases.append(
            f"{wanting.height} of {raters.height} raters need{'s' * (wanting.height == 1)} attention"
        )
    phrases += [
        f"{row['kappa']:.2f} capability ({row['kappa_low']:.2f}–{row['kappa_high']:.2f})"
        for row in wanting.head(8).iter_rows(named=True)
    ]
    # Every two scores of the same work.
    work = table.group_by("student", "item").agg("score")["score"].to_list()
    same = pairs = 0
    for scores in work:
        equal = np.equal.outer(scores, scores)
        same, pairs = same + int(equal.sum()) - len(scores), pairs + len(scores) * (len(scores) - 1)
    linked = pairs > 0
    if linked:
        phrases.append(f"Two raters agreed on work that both marked {100 * same / pairs:.0f} %")
        phrases += modelled_phrases(table, json.loads((folder / "fit.json").read_text())["calibration"])
        tally = raters["verdict"].value_counts()
        phrases += [f"{row['count']} {row['verdict']}" for row in tally.iter_rows(named=True)]
    if "would_change" in students.columns and linked:
        changed = int(students["would_change"].sum())
        if changed:
            phrases.append(f"{changed} of {students.height} students would pass or fail differently")
    elif linked:
        step = float(np.diff(np.unique(table["score"])).min())
        moved = int(((students["fair"] - students["mean_score"]).abs() >= step / 2).sum())
        many = f"The results of {moved} of {students.height} students" if moved else "Nobody&#39;s result"
        phrases.append(f"{many} would move by {step / 2:g} marks or more")
    else:
        phrases.append("Raters cannot be compared")
    return phrases


def modelled_phrases(table: pl.DataFrame, known: dict[str, Any]) -> list[str]:
    """Phrases that follow from the estimates in fit.json: agreement as expected, reliability, and the scores that an
    average student can expect. A score's chance is proportional to exp of the sum of a t - b - d - g - tau over the
    steps up to it: slope, severity, difficulty, what the rater adds on the item, thresholds."""
    theta = np.linspace(-5, 5, 201)
    normal = np.exp(-(theta**2) / 2)
    normal /= normal.sum()
    effects = {name: np.array(values, float) for name, values in known["effects"].items()}
    n_raters, n_items = len(effects["slope"]), len(effects["difficulty"])
    steps = len(known["scores"]) - 1
    item = effects.get("threshold", np.zeros((n_items, steps)))
    own = effects.get("rater threshold", np.zeros((n_raters, steps)))
    added = effects.get("interaction item", np.zeros((n_raters, n_items)))

    def chances(slope: Any, severity: Any, own: Any, added: Any) -> np.ndarray:
        """(raters, items, abilities, scores)"""
        at = (
            np.multiply.outer(slope, theta)[:, None]
            - (severity[:, None] + effects["difficulty"] + added)[..., None]
        )
        each = at[..., None] - (np.broadcast_to(item, (n_items, steps)) + own[:, None])[:, :, None]
        logs = np.concatenate([np.zeros((*at.shape, 1)), each.cumsum(axis=-1)], axis=-1)
        found = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(found / found.sum(axis=-1, keepdims=True))

    p = chances(effects["slope"], effects["severity"], own, added)
    mean = {name: effects[name].mean(keepdims=True) for name in ("slope", "severity")}
    average = chances(mean["slope"], mean["severity"], np.zeros((1, steps)), np.zeros((1, n_items)))
    k = int(np.median(table.group_by("student").agg(pl.col("rater").n_unique())["rater"]))

    def reliability(p: np.ndarray) -> float:
        score = np.arange(steps + 1)
        expected = p @ score
        luck = float(((p @ score**2 - expected**2).mean(axis=(0, 1)) * normal).sum()) / n_items
        of_rater = expected.mean(axis=1)
        true = of_rater.mean(axis=0)
        variance = float(normal @ (true - normal @ true) ** 2)
        between = float(normal @ of_rater.var(axis=0))
        return variance / (variance + between / k + luck / k)

    counted = f"{k} rater{'s' * (k > 1)}"
    values = known["score_step"] * np.array(known["scores"])
    gets = (p[:, :, len(theta) // 2] @ values).mean(axis=1)
    low, high = int(gets.argmin()), int(gets.argmax())
    names = known["labels"]["rater"]
    span = f"{gets[low]:.3g} to {gets[high]:.3g}" if steps > 1 else f"{gets[low]:.0%} to {gets[high]:.0%}"
    span = span.replace("%", "", 1).replace("%", " %") if steps == 1 else span
    agreed = expected_agreement(table, known, np.log(p), normal)
    return [
        f"{agreed:.0%} expected by the model".replace("%", " %"),
        f"Reliability of a mean score from {counted} {reliability(p):.2f}",
        f"{reliability(average):.2f} if all were alike",
        f"can expect {span} with {names[low]} and {names[high]}"
        if steps > 1
        else f"chance to pass {span} with {names[low]} and {names[high]}",
    ]


def expected_agreement(
    table: pl.DataFrame, known: dict[str, Any], logs: np.ndarray, normal: np.ndarray
) -> float:
    """The chance that two ratings of a work are the same, over the posterior of its student: mean over all pairs."""
    place = {
        name: {label: at for at, label in enumerate(known["labels"][name])} for name in ("rater", "item")
    }
    coded = table.with_columns(
        *(pl.col(name).cast(pl.String).replace_strict(place[name]) for name in place),
        score=((pl.col("score") / known["score_step"]).round().cast(int)).replace_strict(
            {score: at for at, score in enumerate(known["scores"])}
        ),
    )
    total = pairs = 0.0
    for _, rows in coded.group_by("student"):
        rater, item, score = (rows[name].to_numpy() for name in ("rater", "item", "score"))
        posterior = normal * np.exp(logs[rater, item, :, score].sum(axis=0))
        posterior /= posterior.sum()
        p = np.exp(logs[rater, item])
        same = np.einsum("aqk,bqk,q->ab", p, p, posterior)
        both = (item[:, None] == item) & (rater[:, None] != rater)
        total, pairs = total + float(same[both].sum()), pairs + int(both.sum())
    return total / pairs


def main() -> int:
    wrong = 0
    for name, table in data_sets().items():
        with tempfile.TemporaryDirectory() as folder:
            file, out = Path(folder) / "ratings.csv", Path(folder) / "results"
            table.write_csv(file)
            command = Path(sys.executable).with_name("raterlens")
            subprocess.run([command, "fit", file, "--quiet", "--out", out], check=True)
            said = page_text(out)
            for phrase in expected_phrases(table, out):
                found = phrase in said
                wrong += not found
                print(f"{name}: {'agrees' if found else 'DIFFERS'}: {phrase}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
