"""Judges ranked from 30 and 60 known answers, on public sets whose answers are all known.

    python -m benchmarks.truth.judges DATA [--draws 10] [--seed 1000] [--crowd-kit]

DATA is a folder with ducks.csv, judges.csv and crowd-*.csv. In every draw the known answers are a random sample; the
methods see them and all verdicts, and are compared with what each judge got right on the other answers (judges with at
least 20 of them): Spearman's rank correlation for accuracy and J, coverage of their 95 % intervals, and the log loss of
the labels. crowd-kit's methods take part where it is installed, in this environment or behind `--crowd-kit PYTHON`.
"""

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy import stats
from scipy.special import expit

from raterlens.judging.judges import Counts, effective_judges, measure_judges
from raterlens.judging.truth import Verdicts, _bayes, _error_rate_log_odds, _rates, estimate_truth

ENOUGH = 20
"""Held-out verdicts that a judge must have to be compared."""
KNOWN = (30, 60)
CROWD_KIT = ("DawidSkene", "GLAD", "MACE")


@dataclass(frozen=True)
class PublicSet:
    name: str
    answer: np.ndarray
    judge: np.ndarray
    verdict: np.ndarray
    gold: np.ndarray
    cluster: np.ndarray


def public_sets(folder: Path) -> list[PublicSet]:
    """The sets; the four breeds of dogs are a question each."""

    def read(name: str, answer: list[str], judge: str, verdict: str, gold: str, label: str) -> PublicSet:
        table = pl.read_csv(folder / f"{name}.csv", infer_schema_length=None)
        keys = table.select(
            pl.concat_str([pl.col(part).cast(pl.String) for part in answer], separator="|")
        ).to_series()
        _, first, answers = np.unique(keys.to_numpy(), return_index=True, return_inverse=True)
        _, judges = np.unique(table[judge].cast(pl.String).to_numpy(), return_inverse=True)
        _, clusters = np.unique(table[answer[0]].cast(pl.String).to_numpy()[first], return_inverse=True)
        return PublicSet(
            label, answers, judges, table[verdict].to_numpy(), table[gold].to_numpy()[first], clusters
        )

    sets = [
        read("ducks", ["picture"], "worker", "says_duck", "truth", "ducks"),
        read("judges", ["pair", "order_swapped"], "judge", "prefers_second", "truth", "judges"),
        *(
            read(f"crowd-{name}", ["answer"], "judge", "verdict", "gold", name)
            for name in ("sp_amt", "zencrowd_us", "ms")
        ),
    ]
    dogs = read("crowd-dog", ["answer"], "judge", "verdict", "gold", "dog")
    breeds = [
        PublicSet(
            f"dog {breed}",
            dogs.answer,
            dogs.judge,
            (dogs.verdict == breed).astype(int),
            (dogs.gold == breed).astype(int),
            dogs.cluster,
        )
        for breed in range(4)
    ]
    return [*sets, *breeds]


def methods(verdicts: Verdicts) -> dict[str, dict[str, Any]]:
    """Results of each method: P(good) per answer, or accuracies and J directly."""
    rows, known = verdicts.rows, verdicts.known
    found: dict[str, dict[str, Any]] = {}
    truth = estimate_truth(verdicts)
    measured = measure_judges(truth)
    found["raterlens"] = {
        "p": truth.probability,
        "accuracy": measured["accuracy"].value,
        "J": measured["capability"].value,
        "accuracy interval": (measured["accuracy"].low, measured["accuracy"].high),
        "J interval": (measured["capability"].low, measured["capability"].high),
    }
    n, k = (np.asarray(matrix.sum(axis=1)) for matrix in (verdicts.judged, verdicts.passes))
    found["majority"] = {"p": (k + 0.5) / (n + 1)}
    part = Verdicts(verdicts.passes[rows], verdicts.judged[rows], known[rows], verdicts.cluster[rows])
    accuracy, sensitivity, specificity = Counts.under(part, known[rows].astype(float)).shares()
    found["known alone"] = {"accuracy": accuracy, "J": sensitivity + specificity - 1}
    gold = expit(_error_rate_log_odds(verdicts)[1])
    gold[rows] = known[rows]
    found["dawid-skene, gold"] = {"p": gold}
    p = (k + 0.5) / (n + 1)
    for _ in range(50):
        rates = _rates(verdicts.passes, verdicts.judged, p)
        p = expit(_bayes(verdicts.passes, verdicts.judged, rates, float(np.log(p.mean() / (1 - p.mean())))))
    found["dawid-skene"] = {"p": p}
    for each in found.values():
        if "accuracy" not in each:
            shares = Counts.under(
                verdicts, (each["p"] > 0.5).astype(float) if each is found["majority"] else each["p"]
            )
            accuracy, sensitivity, specificity = shares.shares()
            each["accuracy"], each["J"] = accuracy, sensitivity + specificity - 1
    return found


def crowd_kit(data: PublicSet, python: str) -> dict[str, dict[str, Any]]:
    """crowd-kit's labels without known answers; they do not depend on the draw."""
    script = """
import json, sys
import pandas as pd
from crowdkit.aggregation import DawidSkene, GLAD, MACE
table = pd.DataFrame(json.load(sys.stdin))
made = {"DawidSkene": DawidSkene(n_iter=100), "GLAD": GLAD(), "MACE": MACE(random_state=1)}
found = {}
for name, method in made.items():
    shares = method.fit_predict_proba(table)
    found[name] = {str(task): float(p) for task, p in shares.get(1, shares.get("1")).items()}
json.dump(found, sys.stdout)
"""
    rows = {
        "task": data.answer.tolist(), "worker": data.judge.tolist(), "label": data.verdict.tolist()
    }  # fmt: skip
    done = subprocess.run(
        [python, "-c", script], input=json.dumps(rows), capture_output=True, text=True, check=True
    )
    answers = json.loads(done.stdout)
    return {
        f"crowd-kit {name}": {"p": np.array([shares[str(i)] for i in range(len(data.gold))])}
        for name, shares in answers.items()
    }


def scores(data: PublicSet, verdicts: Verdicts, found: dict[str, Any]) -> dict[str, float]:
    hidden = np.flatnonzero(verdicts.known < 0)
    rest = Verdicts(
        verdicts.passes[hidden], verdicts.judged[hidden], verdicts.known[hidden], verdicts.cluster[hidden]
    )
    counts = Counts.under(rest, data.gold[hidden].astype(float))
    bad = counts.n - counts.good
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = counts.right / counts.n
        j = counts.good_passed / counts.good - (counts.passes - counts.good_passed) / bad
    enough = counts.n >= ENOUGH
    both = enough & (counts.good >= 5) & (bad >= 5)
    result = {
        "rank": stats.spearmanr(found["accuracy"][enough], accuracy[enough]).statistic,
        "rank J": stats.spearmanr(found["J"][both], j[both]).statistic,
    }
    if "p" in found:
        p = np.clip(found["p"][hidden], 1e-6, 1 - 1e-6)
        result["log loss"] = float(-np.log(np.where(data.gold[hidden] == 1, p, 1 - p)).mean())
    for name, seen, which in (("accuracy", accuracy, enough), ("J", j, both)):
        if f"{name} interval" in found:
            low, high = found[f"{name} interval"]
            result[f"covers {name}"] = float(((low <= seen) & (seen <= high))[which].mean())
            result[f"width {name}"] = float((high - low)[which].mean())
    return result


def one_draw(
    data: PublicSet, n_known: int, seed: int, outside: dict[str, dict[str, Any]]
) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    known = np.full(len(data.gold), -1)
    chosen = rng.choice(len(data.gold), size=n_known, replace=False)
    known[chosen] = data.gold[chosen]
    verdicts = Verdicts.of(data.answer, data.judge, data.verdict, known, data.cluster)
    rows = []
    for name, found in {**methods(verdicts), **outside}.items():
        if "accuracy" not in found:
            accuracy, sensitivity, specificity = Counts.under(verdicts, found["p"]).shares()
            found = {**found, "accuracy": accuracy, "J": sensitivity + specificity - 1}
        rows.append(
            {
                "set": data.name,
                "known": n_known,
                "seed": seed,
                "method": name,
                **scores(data, verdicts, found),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--crowd-kit", default=None, help="a Python that has crowd-kit")
    asked = parser.parse_args()
    rows: list[dict[str, Any]] = []
    began = time.perf_counter()
    for data in public_sets(asked.data):
        outside = {} if asked.crowd_kit is None else crowd_kit(data, asked.crowd_kit)
        for n_known in KNOWN:
            for draw in range(asked.draws):
                rows += one_draw(data, n_known, asked.seed + draw, outside)
    table = pl.DataFrame(rows, infer_schema_length=None)
    numbers = [name for name in table.columns if name not in ("set", "known", "seed", "method")]
    pl.Config.set_tbl_rows(-1)
    pl.Config.set_tbl_cols(-1)
    pl.Config.set_tbl_width_chars(200)
    pl.Config.set_float_precision(3)
    by_set = table.group_by("set", "known", "method", maintain_order=True).agg(pl.col(numbers).mean())
    print(by_set.pivot("method", index=["known", "set"], values="rank").sort("known", maintain_order=True))
    mean = by_set.group_by("known", "method", maintain_order=True).agg(pl.col(numbers).mean())
    print(mean.sort("known", maintain_order=True))
    for data in public_sets(asked.data):
        verdicts = Verdicts.of(data.answer, data.judge, data.verdict, data.gold, data.cluster)
        names = [str(place) for place in range(verdicts.passes.shape[1])]
        worth = effective_judges(estimate_truth(verdicts), names).words()[0]
        print(f"{data.name}, all answers known: {worth}")
    ours = by_set.filter(pl.col("method") == "raterlens").drop("method")
    print(ours.sort("known", maintain_order=True))
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
