"""`python -m benchmarks.studies NAME --out DIR`: rows, page and figure of a study, resumed if it was stopped."""

import sys
from importlib import import_module
from typing import Annotated

from cyclopts import App, Parameter

from benchmarks.studies import STUDIES
from raterlens.app.cli.study_command import Runs, check_runs, run_study
from raterlens.base.errors import RaterlensError, choose
from raterlens.base.processes import cluster_at

_HELP = "\n\n".join(f"{name}: {question}" for name, question in STUDIES.items())
app = App(
    name="python -m benchmarks.studies", help=f"Run a study with known truth.\n\n{_HELP}", version_flags=()
)


@app.default
def study(name: Annotated[str, Parameter(name="NAME", help="One of those above.")], /, *, runs: Runs) -> None:
    choose("study", name, STUDIES)
    check_runs(runs)
    with cluster_at(runs.cluster) as client:
        run_study(import_module(f"benchmarks.studies.{name}").STUDY, runs, client)


if __name__ == "__main__":
    try:
        app()
    except RaterlensError as error:
        print(f"benchmarks.studies: {error}", file=sys.stderr)
        sys.exit(2)
