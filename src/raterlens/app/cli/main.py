"""The command line: options, and what becomes of errors.

Exit codes: 0 done; 2 the input is at fault (one message, nothing written); 3 a gate failed; 1 anything else;
130 interrupted.
Heavy imports wait until a command has something to do, so that help and mistakes are answered at once.
"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from raterlens.app.cli.options import Bounds, Columns, Look, Model, Output, Work, as_options
from raterlens.app.cli.plot_command import PLOT_HELP
from raterlens.errors import OptionError, RaterlensError
from raterlens.studies.catalogue import STUDY_HELP

DONE, FAILED, AT_FAULT, GATE_FAILED, INTERRUPTED = 0, 1, 2, 3, 130

COLUMNS, MODEL, LOOK, BOUNDS, WORK, OUTPUT = Columns(), Model(), Look(), Bounds(), Work(), Output()

DEMO_FOLDER = Path("raterlens-demo")

File = Annotated[
    Path,
    Parameter(
        name="FILE",
        help="Table of ratings: csv, tsv, xlsx, parquet, jsonl, sav, dta, rds, a database (FILE::TABLE), a control "
        "file of FACETS, or - for standard input.",
    ),
]


def _version() -> str:
    from importlib.metadata import version

    return version("raterlens")


app = App(
    name="raterlens",
    help="How capable is each rater? From a table of ratings to a capability index for every rater.",
    help_format="plaintext",
    help_epilogue="""Examples:
  raterlens demo
  raterlens check ratings.csv
  raterlens fit ratings.csv --out results/
  raterlens fit essays.csv --rater rater,topic --items spe,coh,str --cut 3""",
    version=_version,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
)


@app.command(
    help_epilogue="""Columns left out are recognised by their usual names (student, rater, item, score, ...).

Examples:
  raterlens fit ratings.csv --out results/
  raterlens fit long.csv --student pupil --rater judge --item task --score mark
  raterlens fit essays.csv --rater rater,topic --items spe,coh,str --cut 3
  raterlens fit ratings.parquet --model tfm --json > fit.json
  raterlens fit ratings.csv --time date --groups school --out results/"""
)
def fit(
    file: File,
    /,
    *,
    columns: Columns = COLUMNS,
    model: Model = MODEL,
    look: Look = LOOK,
    work: Work = WORK,
    output: Output = OUTPUT,
) -> None:
    """Fit a model: how capable, how severe and how sharp is each rater?"""
    from raterlens.app.cli import commands

    commands.fit(file, columns, model, work, output, look)


@app.command(
    help_epilogue="""With a bound, a model is fitted and every rater judged. Exit codes: 0 all pass,
3 somebody does not (or the fit did not converge), 2 the input is at fault.

Examples:
  raterlens check ratings.csv
  raterlens check essays.csv --rater rater,topic --items spe,coh,str --cut 3
  raterlens check verdicts.csv --min-kappa 0.6 --max-severity 1.5 --json
  raterlens check verdicts.csv --min-kappa 0.6 --min-ratings 200 --confident"""
)
def check(
    file: File,
    /,
    *,
    columns: Columns = COLUMNS,
    model: Model = MODEL,
    bounds: Bounds = BOUNDS,
    json: Annotated[
        bool,
        Parameter(negative=(), show_default=False, group="Output", help="Print the result as JSON alone."),
    ] = False,
) -> int:
    """Look at the data and the design only; with a bound such as --min-kappa, judge every rater by it."""
    from raterlens.app.cli import commands

    if bounds.asked:
        return DONE if commands.gate(file, columns, model, bounds, json=json) else GATE_FAILED
    if model != MODEL or bounds != BOUNDS:
        raise OptionError("nothing to judge raters by; add a bound, such as --min-kappa 0.6")
    commands.check(file, columns, json=json)
    return DONE


@app.command(
    help_epilogue="""A parquet file, or a folder of them, may be larger than memory.

Examples:
  raterlens pack ratings.parquet --out ratings.rlpack
  raterlens fit ratings.rlpack --out results/"""
)
def pack(
    file: File,
    /,
    *,
    out: Annotated[Path, Parameter(help="File to write, NAME.rlpack.")],
    columns: Columns = COLUMNS,
) -> None:
    """Read a large table once, and keep it in a compact form that later fits open at once."""
    from raterlens.app.cli import commands

    commands.pack(file, out, columns)


@app.command(
    help_epilogue="""Students, raters and items are numbered (S001, R01, I1); a rater scores every item of a student.

Examples:
  raterlens simulate --out ratings.csv
  raterlens simulate --students 2000 --raters 40 --raters-per-student 2 --truth truth.csv --out ratings.parquet
  raterlens simulate --categories 5 --seed 7 --out marks.csv"""
)
def simulate(
    *,
    out: Annotated[Path, Parameter(help="File to write: one row a rating, or a control file of FACETS.")],
    to: Annotated[
        str | None, Parameter(help="csv, tsv, parquet, jsonl or facets; told by --out if left out.")
    ] = None,
    truth: Annotated[
        Path | None, Parameter(help="csv file for each rater's true discrimination, severity and capability.")
    ] = None,
    students: Annotated[int, Parameter(help="Number of students.")] = 500,
    raters: Annotated[int, Parameter(help="Number of raters.")] = 20,
    items: Annotated[int, Parameter(help="Number of items.")] = 5,
    raters_per_student: Annotated[
        int | None, Parameter(help="Raters of each student, chosen at random; all if left out.")
    ] = None,
    common_students: Annotated[
        int | None, Parameter(help="Instead: students whom every rater rates; others have one rater.")
    ] = None,
    categories: Annotated[int, Parameter(help="Score categories; 2 is pass or fail.")] = 2,
    model: Annotated[str, Parameter(help="gmf, tfm, probit or hrm.")] = "gmf",
    link: Annotated[
        str | None, Parameter(help="logit, probit, cauchit, cloglog or log; the model's own if left out.")
    ] = None,
    seed: Annotated[int, Parameter(help="The same seed gives the same ratings.")] = 0,
) -> None:
    """Draw ratings whose truth is known, to try a design or a method on."""
    from raterlens.app.cli.simulate_command import simulate as draw

    for line in draw(
        out,
        to,
        truth,
        categories,
        students=students,
        raters=raters,
        items=items,
        raters_per_student=raters_per_student,
        common_students=common_students,
        model=model,
        link=link,
        seed=seed,
    ):
        print(line)


@app.command(
    help_epilogue="""Examples:
  raterlens convert ratings.xlsx --out ratings.csv
  raterlens convert essays.csv --rater rater,topic --items spe,coh,str --to facets --out study.txt"""
)
def convert(
    file: File,
    /,
    *,
    out: Annotated[Path, Parameter(help="File to write: one row a rating, or a control file of FACETS.")],
    to: Annotated[
        str | None, Parameter(help="csv, tsv, parquet, jsonl or facets; told by --out if left out.")
    ] = None,
    columns: Columns = COLUMNS,
) -> None:
    """Write the ratings as another kind of file."""
    from raterlens.app.cli.convert_command import convert as write

    print(write(file, out, to, columns))


@app.command(
    help_epilogue="""Examples:
  raterlens compare tfm/fit.json gmf/fit.json"""
)
def compare(
    files: Annotated[
        list[Path], Parameter(name="FILES", consume_multiple=True, help="Two or more saved fits (fit.json).")
    ],
    /,
) -> None:
    """Compare fits: likelihood, parameters, and how the raters' ranks change."""
    from raterlens.app.cli.compare_command import compare as side_by_side

    print(side_by_side(files))


@app.command(
    help_epilogue=f"""{PLOT_HELP}

Examples:
  raterlens plot capability results/fit.json --out capability.svg
  raterlens plot what_if results/fit.json --show AM:Sport --out what-if.png --theme dark
  raterlens plot network --ratings ratings.csv --out network.html"""
)
def plot(
    chart: Annotated[str, Parameter(name="CHART", help="One of those listed below.")],
    fit: Annotated[Path | None, Parameter(name="FIT", help="A saved fit (fit.json).")] = None,
    /,
    *,
    out: Annotated[Path, Parameter(help="File to write: .svg, .png, .pdf, or .html with tooltips.")],
    ratings: Annotated[
        Path | None, Parameter(help="The ratings that were fitted, where a chart needs them.")
    ] = None,
    show: Annotated[str | None, Parameter(help="Rater to show, or several (a,b).")] = None,
    time: Annotated[
        str | None, Parameter(help="For 'drift': column that says when a rating was given.")
    ] = None,
    value: Annotated[
        str | None, Parameter(help="For 'drift': severity (if left out), discrimination or capability.")
    ] = None,
    theme: Annotated[str, Parameter(help="light or dark; a page follows the reader's system.")] = "light",
    width: Annotated[int | None, Parameter(help="In pixels; 640 if left out, 380 suits a phone.")] = None,
    columns: Columns = COLUMNS,
) -> None:
    """Draw a chart of a fit."""
    from raterlens.app.cli.plot_command import plot as draw

    draw(
        chart, fit, out, columns, ratings=ratings, show=show, time=time, value=value, theme=theme, width=width
    )


@app.command(help_epilogue=f"""Writes to {DEMO_FOLDER}/ in the current folder.""")
def demo() -> None:
    """Fit the bundled example (simulated ratings) and write its report."""
    from raterlens.app.cli import commands

    commands.demo(DEMO_FOLDER)


@app.command(
    help_epilogue="""Everything stays on this machine, and only this machine can open it unless --host is given: then a
token, printed at the start, is asked of everybody.

Examples:
  raterlens serve --open
  raterlens serve --host 0.0.0.0 --port 8080"""
)
def serve(
    *,
    port: Annotated[int, Parameter(help="Where to listen; 0 for any port that is free.")] = 8765,
    host: Annotated[
        str, Parameter(help="The address to listen at; other machines may then come in.")
    ] = "127.0.0.1",
    open: Annotated[bool, Parameter(negative=(), show_default=False, help="Open it in a browser.")] = False,
    max_megabytes: Annotated[float, Parameter(help="Largest file that is taken.")] = 200,
    max_rows: Annotated[int, Parameter(help="Longest table that is taken.")] = 5_000_000,
    max_memory: Annotated[
        float | None, Parameter(help="Gigabytes of one fit; half of the machine's if left out.")
    ] = None,
    fits: Annotated[int | None, Parameter(help="Fits at a time; all cores if left out.")] = None,
) -> None:
    """Use Raterlens in a browser: drop in a table, see which raters need attention."""
    from raterlens.app.cli.serve_command import serve as run

    run(host, port, open, max_megabytes, max_rows, max_memory, fits)


@app.command(help_epilogue=STUDY_HELP)
def study(
    name: Annotated[str, Parameter(name="NAME", help="One of those listed below.")],
    /,
    *,
    out: Annotated[Path, Parameter(help="Folder for rows (parquet), page (markdown), tables and figures.")],
    replications: Annotated[
        int | None, Parameter(help="How many; the study's own number if left out.")
    ] = None,
    seed: Annotated[int, Parameter(help="The same seed gives the same bytes.")] = 2025,
    data: Annotated[Path | None, Parameter(help="For 'writing': data.cqc04 as .rda or .csv.")] = None,
    workers: Annotated[int | None, Parameter(help="Processes at a time; all cores if left out.")] = None,
    cluster: Annotated[
        str | None, Parameter(help="Address of a Dask scheduler (tcp://host:8786) whose workers do the work.")
    ] = None,
) -> None:
    """Run a study: the paper's, beside its printed numbers, and those it left for later."""
    from raterlens.app.cli.study_command import study as run

    run(name, out, replications, seed, data, workers, cluster)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return its exit code."""
    _tolerate_any_encoding()
    try:
        # A bare "-", standard input, would be taken for an option without a name.
        tokens = ["./-" if token == "-" else token for token in (sys.argv[1:] if argv is None else argv)]
        code = app(tokens, exit_on_error=False, print_error=False)
        if sys.stdout is not None:
            sys.stdout.flush()
    except CycloptsError as error:
        error.verbose = False
        return _complain(f"{str(error).strip()} See 'raterlens --help'.", AT_FAULT)
    except RaterlensError as error:
        return _complain(as_options(str(error)), AT_FAULT)
    except KeyboardInterrupt as interrupt:
        return _complain(str(interrupt) or "interrupted", INTERRUPTED)
    except BrokenPipeError:
        _abandon_stdout()
    except Exception as error:
        if os.environ.get("RATERLENS_DEBUG"):
            traceback.print_exc()
        return _complain(unforeseen(error), FAILED)
    else:
        return code or DONE
    return DONE


def _complain(message: str, code: int) -> int:
    if sys.stderr is not None:
        print(f"raterlens: {message}", file=sys.stderr)
    return code


def unforeseen(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"could not finish: {error}"
    if isinstance(error, MemoryError):
        return "not enough memory for this many ratings; try a machine with more, or a part of the data"
    return (
        f"something unforeseen happened ({type(error).__name__}: {error}). This is a fault in Raterlens, not in your "
        "data. Please run the command again with RATERLENS_DEBUG=1 set and report what it prints."
    )


def _tolerate_any_encoding() -> None:
    """A terminal that cannot show a character shows a stand-in for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _abandon_stdout() -> None:
    """Whoever was reading (`| head`) has seen enough; without this Python complains about it at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
