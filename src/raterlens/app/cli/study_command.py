"""`raterlens study`: run a study, write its rows, page and figures."""

from dataclasses import MISSING, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from raterlens.app.cli.options import shell_record
from raterlens.app.progress import parts_bar
from raterlens.base.atomic_files import atomic_write, write_text
from raterlens.base.errors import OptionError, choose, is_interrupt
from raterlens.base.text import Message, Option, counted
from raterlens.config.option_fields import check_options, option
from raterlens.output.folder import check_folder
from raterlens.studies import FIGURES, STUDIES

if TYPE_CHECKING:
    from distributed import Client

    from raterlens.studies.study import Study

_FIGURE_STUDIES = ("study1", "study2")
_FIGURE_REPLICATIONS = 20
"""Enough to see the two result figures; `raterlens study study1` runs the paper's 200."""


@shell_record()
@dataclass(frozen=True)
class Runs:
    """How a study is run."""

    out: Path = option(MISSING, "Folder for rows (parquet), page (markdown), tables and figures.")
    replications: int | None = option(None, "Number of replications; default: the study's own.", least=1)
    seed: int = option(2025, "The same seed gives the same bytes.", least=0)
    data: Path | None = option(None, "For 'writing': data.cqc04 as .rda or .csv.")
    workers: int | None = option(None, "Processes at a time; default: one per core.", least=1)
    cluster: str | None = option(
        None, "Address of a Dask scheduler (tcp://host:8786) whose workers do the work."
    )


def study(
    name: Annotated[str, Parameter(name="NAME", help="One of those listed below.")], /, *, runs: Runs
) -> None:
    """Run a study: the paper's, beside its printed numbers, and those it left for later."""
    choose("study", name, [*STUDIES, FIGURES])
    check_runs(runs)
    from raterlens.base.processes import cluster_at
    from raterlens.studies.study import get_study

    with cluster_at(runs.cluster) as client:
        if name == FIGURES:
            _figures(runs, client)
        else:
            run_study(get_study(name), runs, client)


def check_runs(runs: Runs) -> None:
    """Raise before any work if an option is wrong or the folder cannot be written."""
    check_options(runs)
    if runs.workers is not None and runs.cluster is not None:
        both = Message("both ", Option("workers", runs.workers), " and ", Option("cluster", runs.cluster))
        raise OptionError(both, "leave out one of them", option="cluster")
    check_folder(runs.out)


def run_study(chosen: "Study", runs: Runs, client: "Client | None") -> None:
    """Run a study and write its rows, tables, figure and page."""
    from raterlens.studies.study import Folder, run, save

    name = chosen.name
    if chosen.check_data is not None:
        chosen.check_data(runs.data)
    elif runs.data is not None:
        raise OptionError(f"the study {name!r} simulates its ratings", Message("leave out ", Option("data")))
    if chosen.replications == 1 and runs.replications not in (None, 1):
        what, remedy = (
            f"the study {name!r} has one replication",
            Message("leave out ", Option("replications")),
        )
        raise OptionError(what, remedy, value=runs.replications)
    out = runs.out
    try:
        with parts_bar(name) as on_done:
            rows = run(
                chosen,
                out,
                replications=runs.replications,
                seed=runs.seed,
                data=runs.data,
                workers=runs.workers,
                client=client,
                on_done=on_done,
            )
    except BaseException as error:
        if not is_interrupt(error):
            raise
        kept = len(list(Folder(out, name).parts.folder.glob("*.parquet"))) + Folder(out, name).finished()
        raise KeyboardInterrupt(
            f"interrupted; {counted(kept, 'replication')} saved. Run the same command to continue"
        ) from None
    results = chosen.summarise(rows)
    for table, frame in results.tables.items():
        atomic_write(out / f"{name}-{table}.csv", frame.write_csv)
    save({name: chosen.draw(results)}, out)
    write_text(out / f"{name}.md", results.markdown)
    print(f"Results: {out / f'{name}.md'}")


def _figures(runs: Runs, client: "Client | None") -> None:
    """Draw Figures 1 to 4, which need no ratings, and the two figures of results from their studies, with all their
    replications."""
    from raterlens.studies.paper import figures
    from raterlens.studies.study import Folder, get_study, save

    runs.out.mkdir(parents=True, exist_ok=True)
    for path in save(figures(), runs.out):
        print(path)
    for name in _FIGURE_STUDIES:
        enough = max(runs.replications or _FIGURE_REPLICATIONS, Folder(runs.out, name).finished())
        run_study(get_study(name), replace(runs, replications=enough, data=None), client)
        for ending in ("svg", "png"):
            print(runs.out / f"{name}.{ending}")
