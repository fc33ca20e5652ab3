"""The programs: each reads a table, fits, writes tables of results, and says what it found in a line of JSON.

`python -m benchmarks.speed.programs "mirt tfm" FILE OUT`; `benchmarks.speed.suite` starts it and measures it from
outside. With `twice` at the end it fits twice, and the second fit is timed: one for which everything is loaded. The
command itself, `raterlens fit FILE --out DIR`, is started as it is (`benchmarks/speed/measure.py`).
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

HERE = Path(__file__).parent


def _table(path: Path, out: Path) -> Any:
    import raterlens as rl

    return rl.read(path, student="student", rater="rater", item="item", score="score")


def _on_disk(path: Path, out: Path) -> Any:
    """By parts of 20,000 ratings."""
    import raterlens as rl

    try:
        stored = opened = import_module("raterlens.ratings.packed")
    except ModuleNotFoundError:  # the release before 0.2, which `quick` compares with
        stored, opened = (import_module(f"raterlens.ratings.{name}") for name in ("stored", "packed_file"))
    packed = opened.open_packed(rl.pack(_table(path, out).table(), out / "x.rlpack"))
    return stored.StoredRatings(packed, part=20_000)


def _uneven(path: Path, out: Path) -> Any:
    """An exam with 40 scripts that everybody marks, whatever the file."""
    from benchmarks.speed.uneven import SEEDED, drawn

    return drawn(SEEDED, 2, 1.5)


def raterlens(
    path: Path, out: Path, model: str, ratings_of: Callable[[Path, Path], Any] = _table, **options: Any
) -> dict[str, Any]:
    import raterlens as rl

    ratings = ratings_of(path, out)

    def work() -> tuple[Any, ...]:
        fit = rl.fit(ratings, model=model, **options)
        # All three tables, so that nothing is left to be computed after the clock has stopped.
        return fit, fit.raters, fit.items, fit.students

    (fit, *tables), timing = _timed(work)
    for name, table in zip(("raters", "items", "students"), tables, strict=True):
        table.write_csv(out / f"{name}.csv")
    return {
        **timing,
        "loglik": fit.loglik,
        "converged": fit.converged,
        "evaluations": fit.optimiser.evaluations,
        "nodes": fit.optimiser.n_nodes,
    }


def mirt_tfm(path: Path, out: Path) -> dict[str, Any]:
    import numpy as np
    import polars as pl
    from mirt.estimation import fit_mfrm
    from mirt.models import Facet, ManyFacetRaschModel

    # mirt has no reader. Its long layout: one row per student, one column per rating, with its item and rater.
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
    return {**timing, "loglik": float(result.log_likelihood), "converged": bool(result.converged)}


def raschpy(path: Path, out: Path) -> dict[str, Any]:
    """The TFM by a composite likelihood of pairs, in which abilities cancel."""
    import polars as pl
    from raschpy import MFRM

    table = pl.read_parquet(path).pivot("item", index=["rater", "student"], values="score").to_pandas()
    wide = table.set_index(["rater", "student"])

    def work() -> Any:
        model: Any = MFRM(wide, max_score=1, facet="rater", validate=False)
        model.calibrate(model="global")
        return model

    model, timing = _timed(work)
    model.items_global.to_csv(out / "items.csv")
    model.raters_global.to_csv(out / "raters.csv")
    return timing


def crowdkit(path: Path, out: Path) -> dict[str, Any]:
    """Dawid and Skene's model: a student-item is a task, a rater a worker."""
    import polars as pl
    from crowdkit.aggregation import DawidSkene

    table = pl.read_parquet(path).with_columns(pl.col("rater", "item").cast(pl.String))
    tasks = table.select(
        task=pl.concat_str(["student", "item"], separator=":"), worker="rater", label="score"
    ).to_pandas()
    model: Any = DawidSkene(n_iter=1_000, tol=1e-8)
    _, timing = _timed(lambda: model.fit(tasks))
    model.errors_.to_csv(out / "raters.csv")
    model.probas_.to_csv(out / "tasks.csv")
    return timing


def r_package(path: Path, out: Path, package: str, of: str = "") -> dict[str, Any]:
    """The TFM by a package of R, from a csv file, written before the clock starts.

    `of` names the likelihood, if it is not the one with abilities integrated out.
    """
    import polars as pl

    if shutil.which("Rscript") is None:
        raise SystemExit("skipped: R is not installed")
    table = out / "ratings.csv"
    pl.read_parquet(path).write_csv(table)
    done = subprocess.run(
        ["Rscript", str(HERE / "peers.R"), package, str(table), str(out)],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = " ".join(done.stderr.split())
        raise SystemExit(f"skipped: no {package} in R" if "there is no package" in said else said[-200:])
    wall, cpu, loglik = map(float, done.stdout.split()[-3:])
    return {"fit_wall": wall, "fit_cpu": cpu, "loglik": loglik, **({"of": of} if of else {})}


PROGRAMS: dict[str, Callable[[Path, Path], dict[str, Any]]] = {
    "raterlens tfm": lambda path, out: raterlens(path, out, "tfm"),
    "raterlens tfm, no standard errors": lambda path, out: raterlens(path, out, "tfm", standard_errors=False),
    "raterlens gmf": lambda path, out: raterlens(path, out, "gmf"),
    "raterlens gmf, no standard errors": lambda path, out: raterlens(path, out, "gmf", standard_errors=False),
    "raterlens gmf, halo": lambda path, out: raterlens(path, out, "gmf", halo="common"),
    "raterlens gmf, on disk": lambda path, out: raterlens(path, out, "gmf", _on_disk),
    "raterlens gmf, uneven exam": lambda path, out: raterlens(path, out, "gmf", _uneven),
    "raterlens probit": lambda path, out: raterlens(path, out, "probit"),
    "raterlens hrm": lambda path, out: raterlens(path, out, "hrm"),
    "raterlens dawid-skene": lambda path, out: raterlens(path, out, "dawid-skene"),
    "mirt tfm": mirt_tfm,
    "RaschPy tfm": raschpy,
    "crowd-kit dawid-skene": crowdkit,
    "lme4 tfm": lambda path, out: r_package(path, out, "lme4", "Laplace"),
    "glmmTMB tfm": lambda path, out: r_package(path, out, "glmmTMB", "Laplace"),
    "TAM tfm": lambda path, out: r_package(path, out, "TAM"),
    "sirt tfm": lambda path, out: r_package(path, out, "sirt"),
    "mirt of R tfm": lambda path, out: r_package(path, out, "mirt"),
    "mfrmr tfm": lambda path, out: r_package(path, out, "mfrmr"),
    "lme4 nAGQ=0 tfm": lambda path, out: r_package(path, out, "lme4, nAGQ 0", "Laplace"),
    "fixest joint": lambda path, out: r_package(path, out, "fixest", "joint"),
}


def _timed(work: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    if "twice" in sys.argv[4:]:
        work()
    wall, cpu = perf_counter(), process_time()
    result = work()
    return result, {"fit_wall": perf_counter() - wall, "fit_cpu": process_time() - cpu}


if __name__ == "__main__":
    name, source, folder = sys.argv[1:4]
    print(json.dumps(PROGRAMS[name](Path(source), Path(folder))))
