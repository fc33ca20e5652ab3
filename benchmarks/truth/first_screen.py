"""Recompute the first screen from files: `python -m benchmarks.truth.first_screen`.

Five data sets (the demo, writing-like essays, half bands, scores 1 to 5, raters who share no students) go through the
command. Every number of the report's first screen is then recomputed from raters.csv, students.csv and the ratings
alone, by a few lines that share nothing with the package, and compared with what the page says.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

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
    if pairs:
        phrases.append(f"Two raters agreed on work that both marked {100 * same / pairs:.0f} %")
    linked = pairs > 0
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
