"""Verdicts on the judges of `examples/judge_in_ci` in 20 bootstraps of its answers, with and without a baseline.

python -m benchmarks.truth.judge_flips
"""

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import raterlens as rl

VERDICTS = Path(__file__).parents[2] / "examples" / "judge_in_ci" / "verdicts.jsonl"
BOOTSTRAPS = 20


def main() -> None:
    table = pl.read_ndjson(VERDICTS)
    answers, rng = table["answer"].unique(maintain_order=True), np.random.default_rng(3)
    first = rl.judge(table, known="human_label")
    found = {way: {judge: Counter[str]() for judge in first.judges["judge"]} for way in ("alone", "baseline")}
    with TemporaryDirectory() as folder:
        last = Path(folder) / "last.json"
        first.save(last)
        for _ in range(BOOTSTRAPS):
            chosen = answers.sample(len(answers), with_replacement=True, seed=int(rng.integers(1 << 30)))
            drawn = pl.DataFrame({"answer": chosen, "new": [f"a{place}" for place in range(len(answers))]})
            again = drawn.join(table, on="answer").drop("answer").rename({"new": "answer"})
            for way, baseline in (("alone", None), ("baseline", last)):
                for row in rl.judge(again, known="human_label", baseline=baseline).judges.iter_rows(
                    named=True
                ):
                    found[way][row["judge"]][row["verdict"]] += 1
    for way, judges in found.items():
        for judge, counts in judges.items():
            print(f"{way}: {judge}: {dict(counts)}")


if __name__ == "__main__":
    main()
