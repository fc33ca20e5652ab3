"""`raterlens study`: run a study, write its rows, page and figures."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from raterlens.errors import OptionError, choose
from raterlens.export.folder import check_folder
from raterlens.studies.catalogue import FIGURES, STUDIES
from raterlens.text import counted

if TYPE_CHECKING:
    from distributed import Client

_FIGURE_STUDIES = ("study1", "study2")
_FIGURE_REPLICATIONS = 20
"""Enough to see the two result figures; `raterlens study study1` runs the paper's 200."""


def study(
    name: str,
    out: Path,
    replications: int | None,
    seed: int,
    data: Path | None,
    workers: int | None,
    cluster: str | None = None,
) -> None:
    """Check everything, run, write, and say where."""
    choose("study", name, [*STUDIES, FIGURES])
    for option, value in (("--replications", replications), ("--workers", workers)):
        if value is not None and value < 1:
            raise OptionError(f"{option} is {value}; give a whole number from 1 on")
    if seed < 0:
        raise OptionError(f"--seed is {seed}; give a whole number from 0 on")
    if workers is not None and cluster is not None:
        raise OptionError(
            f"both --workers {workers} and --cluster {cluster} are given; leave one of them out"
        )
    check_folder(out)
    from raterlens.parallel.dask_cluster import cluster_at

    with cluster_at(cluster) as client:
        if name == FIGURES:
            _figures(out, replications, seed, workers, client)
        else:
            _study(name, out, replications, seed, data, workers, client)


def _study(
    name: str,
    out: Path,
    replications: int | None,
    seed: int,
    data: Path | None,
    workers: int | None,
    client: "Client | None",
) -> None:
    from raterlens.studies.print_figures import save
    from raterlens.studies.run import Folder, replace_text, run
    from raterlens.studies.study import get_study

    chosen = get_study(name)
    if chosen.check_data is not None:
        chosen.check_data(data)
    elif data is not None:
        raise OptionError(f"--data is given, but the study {name!r} simulates its ratings; leave it out")
    if chosen.replications == 1 and replications not in (None, 1):
        raise OptionError(f"--replications is {replications}, but the study {name!r} has one; leave it out")
    try:
        with _progress(name) as on_done:
            rows = run(
                chosen,
                out,
                replications=replications,
                seed=seed,
                data=data,
                workers=workers,
                client=client,
                on_done=on_done,
            )
    except KeyboardInterrupt:
        kept = len(list(Folder(out, name).parts.glob("*.parquet"))) + Folder(out, name).finished()
        raise KeyboardInterrupt(
            f"interrupted; {counted(kept, 'replication')} kept, and the same command goes on from there"
        ) from None
    results = chosen.summarise(rows)
    for table, frame in results.tables.items():
        frame.write_csv(out / f"{name}-{table}.csv")
    save({name: chosen.draw(results)}, out)
    replace_text(out / f"{name}.md", results.markdown)
    print(f"Results: {out / f'{name}.md'}")


def _figures(
    out: Path, replications: int | None, seed: int, workers: int | None, client: "Client | None"
) -> None:
    """Figures 1 to 4 need no ratings; the two of results come from their studies, as many replications as there are."""
    from raterlens.studies.paper_figures import figures
    from raterlens.studies.print_figures import save
    from raterlens.studies.run import Folder

    out.mkdir(parents=True, exist_ok=True)
    for path in save(figures(), out):
        print(path)
    for name in _FIGURE_STUDIES:
        enough = max(replications or _FIGURE_REPLICATIONS, Folder(out, name).finished())
        _study(name, out, enough, seed, None, workers, client)
        for ending in ("svg", "png"):
            print(out / f"{name}.{ending}")


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on stderr, where somebody is watching; yields what the run should call, if anything."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task(name, total=None)
        yield lambda done, total: progress.update(bar, completed=done, total=total)
