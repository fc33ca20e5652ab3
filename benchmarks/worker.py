"""One program in one fresh process: import, read, fit, write, and then a line of JSON about the fit.

`python -m benchmarks.worker data|raterlens|mirt FILE ...`; `benchmarks.against_mirt` starts it and times the whole.
"""

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter, process_time
from typing import Any


def draw(path: Path, students: int, raters: int, items: int, per_student: int, seed: int) -> None:
    """Write ratings of the TFM as one long table."""
    import polars as pl

    from raterlens.studies.simulate import simulate

    ratings = simulate(
        students=students, raters=raters, items=items, raters_per_student=per_student, model="tfm", seed=seed
    ).ratings
    pl.DataFrame(
        {
            "student": ratings.students.gather(ratings.student),
            "rater": ratings.raters.gather(ratings.rater),
            "item": ratings.items.gather(ratings.item),
            "score": ratings.score,
        }
    ).write_parquet(path)


def fit_raterlens(path: Path, out: Path) -> dict[str, Any]:
    import raterlens as rl

    ratings = rl.read(path, student="student", rater="rater", item="item", score="score")

    def work() -> tuple[Any, ...]:
        fit = rl.fit(ratings, model="tfm")
        # All three tables, so that nothing is left to be computed after the clock has stopped.
        return fit, fit.raters, fit.items, fit.students

    (fit, *tables), timing = _timed(work)
    for name, table in zip(("raters", "items", "students"), tables, strict=True):
        table.write_csv(out / f"{name}.csv")
    return {**timing, "loglik": fit.loglik, "sigma": fit.sigma, "converged": fit.converged}


def fit_mirt(path: Path, out: Path) -> dict[str, Any]:
    import numpy as np
    import polars as pl
    from mirt.estimation import fit_mfrm
    from mirt.models import Facet, ManyFacetRaschModel

    # mirt has no reader. Its long layout: a row a student, a column a rating, and the item and rater of each.
    table = pl.read_parquet(path)
    labels = {name: table[name].unique().sort() for name in ("student", "rater", "item")}
    codes = {name: table[name].rank("dense").to_numpy() - 1 for name in labels}
    order = np.argsort(codes["student"], kind="stable")
    row = codes["student"][order]
    column = np.arange(row.size) - np.searchsorted(row, row)
    scores, rater, item = (np.full((row[-1] + 1, column.max() + 1), empty) for empty in (-1, 0, 0))
    scores[row, column] = table["score"].to_numpy()[order]
    rater[row, column] = codes["rater"][order]
    item[row, column] = codes["item"][order]
    model = ManyFacetRaschModel(len(labels["item"]), [Facet("rater", len(labels["rater"]))])

    result, timing = _timed(lambda: fit_mfrm(model, scores, {"rater": rater}, item_indices=item))
    parts = {
        "rater": (result.facet_parameters["rater"], result.facet_se["rater"]),
        "item": (result.item_difficulty, result.item_se),
        "student": (result.theta, result.theta_se),
    }
    for name, (estimate, error) in parts.items():
        pl.DataFrame({name: labels[name], "estimate": estimate, "se": error}).write_csv(out / f"{name}s.csv")
    return {
        **timing,
        "loglik": float(result.log_likelihood),
        "sigma": float(result.sigma),
        "converged": bool(result.converged),
    }


def _timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, {"fit_wall": perf_counter() - wall, "fit_cpu": process_time() - cpu}


def main() -> None:
    program, path, *rest = sys.argv[1:]
    if program == "data":
        draw(Path(path), *map(int, rest))
        return
    out = Path(rest[0])
    out.mkdir(parents=True, exist_ok=True)
    report = {"raterlens": fit_raterlens, "mirt": fit_mirt}[program](Path(path), out)
    # ru_maxrss is in KiB on Linux and in bytes on macOS.
    unit = 2**20 if sys.platform == "darwin" else 2**10
    report["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    report["process_cpu"] = process_time()
    print(json.dumps(report))


if __name__ == "__main__":
    main()
