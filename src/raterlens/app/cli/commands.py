"""The list of commands, and `raterlens completion`.

A command is loaded when it is given, and what is heavy once it has something to do: help comes at once.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from cyclopts import App, Parameter, Token, convert

from raterlens.charts import CHART_HELP
from raterlens.studies import STUDY_HELP
from raterlens.version import __version__

COMMANDS = {
    "fit": "Fit a model: how capable, how severe and how sharp is each rater?",
    "check": "Check the data and the design; with a bound such as --min-sharpness, judge every rater.",
    "judge": "Which judges can be trusted? Given some known answers (--known) or people (--trusted).",
    "demo": "Fit the bundled example (simulated ratings) and write its report.",
    "serve": "Use Raterlens in a browser: drop in a table, see which raters need attention.",
    "plan": "Plan the marking: who marks what, and the standard errors to expect.",
    "next": "Which rater should mark which student next?",
    "compare": "Compare fits: likelihood, parameters, and how the raters' ranks change.",
    "plot": "Draw a chart of a fit.",
    "convert": "Write the ratings to another kind of file.",
    "pack": "Read a large table once, and keep it in a compact form that later fits open at once.",
    "simulate": "Simulate ratings with known truth, to try out a design or a method.",
    "study": "Run a study: the paper's, beside its printed numbers, and those it left for later.",
    "completion": "Print a shell completion script for bash, zsh or fish.",
}
"""Descriptions for `raterlens --help`, in its order; each function says the same."""

MODULES = {
    **dict.fromkeys(("fit", "demo", "check", "judge"), "fit_command"),
    **dict.fromkeys(("plan", "next", "simulate"), "planning_commands"),
    **dict.fromkeys(("convert", "pack", "plot", "compare"), "file_commands"),
    "serve": "serve_command",
    "study": "study_command",
    "completion": "commands",
}
"""The module of each command."""

EPILOGUES = {
    "fit": """Columns left out are recognised by their usual names (student, rater, item, score, ...).

Examples:
  raterlens fit ratings.csv --out results/
  raterlens fit long.csv --student pupil --rater judge --item task --score mark
  raterlens fit essays.csv --rater rater,topic --items spe,coh,str --cut 3
  raterlens fit ratings.parquet --model tfm --json > fit.json
  raterlens fit ratings.csv --time date --groups school --out results/
  raterlens fit this-year.csv --anchors last-year/fit.json --out results/""",
    "check": """Shows how the file is read and the command that reads it this way. Exits with 2 if something needs
confirming. With a bound, fits a model and judges every rater. Exit codes: 0 all pass, 3 a rater fails (or the fit did
not converge), 2 the input is at fault.

Examples:
  raterlens check ratings.csv
  raterlens check essays.csv --rater rater,topic --items spe,coh,str --cut 3
  raterlens check verdicts.csv --min-kappa 0.6 --max-severity 1.5 --json
  raterlens check verdicts.csv --min-kappa 0.6 --min-ratings 200""",
    "judge": """One row per verdict. A judge may be a model with a prompt (--rater model,prompt). Without a bound,
judges need a capability of 0.5 (known answers) or a sharpness of 0.5 (people). Exit codes: 0 no judge is below a
bound with its whole interval, 3 at least one is, 2 the input is at fault.

Examples:
  raterlens judge verdicts.jsonl --known human_label
  raterlens judge verdicts.jsonl --known human_label --by system --markdown comment.md --junit judges.xml
  raterlens judge verdicts.jsonl --rater judge,prompt --trusted Ana:human,Ben:human --min-sharpness 0.6
  raterlens judge verdicts.jsonl --known human_label --baseline last.json --save judges.json --json""",
    "pack": """A parquet file, or a folder of them, may be larger than memory.

Examples:
  raterlens pack ratings.parquet --out ratings.rlpack
  raterlens fit ratings.rlpack --out results/""",
    "plan": """From expected information, without simulation. A reading is a rater's marks on all items of a student.

Examples:
  raterlens plan --students 500 --raters 12 --marks 2 --common 20 --out assignment.csv
  raterlens plan --students 500 --raters raters.csv --forbidden pairs.csv --network network.svg
  raterlens plan --students 500 --raters 12 --items 3 --target-se 0.06
  raterlens plan --students 800 --fit last-year/fit.json --marks 1.5""",
    "next": """While marking runs: run it again after each batch, with the new ratings in the file.

Examples:
  raterlens next ratings.csv --budget 50
  raterlens next ratings.csv --budget 50 --capacity raters.csv --forbidden pairs.csv --out next.csv""",
    "simulate": """Students, raters and items are numbered (S001, R01, I1); a rater scores every item of a student.

Examples:
  raterlens simulate --out ratings.csv
  raterlens simulate --students 2000 --raters 40 --raters-per-student 2 --truth truth.csv --out ratings.parquet
  raterlens simulate --categories 5 --seed 7 --out marks.csv
  raterlens simulate --scale continuous --out percentages.csv""",
    "convert": """Examples:
  raterlens convert ratings.xlsx --out ratings.csv
  raterlens convert essays.csv --rater rater,topic --items spe,coh,str --to facets --out study.txt""",
    "compare": """Examples:
  raterlens compare tfm/fit.json gmf/fit.json
  raterlens compare tfm/fit.json gmf/fit.json --json""",
    "plot": f"""{CHART_HELP}

Examples:
  raterlens plot capability results/fit.json --out capability.svg
  raterlens plot what_if results/fit.json --show AM:Sport --out what-if.png --theme dark
  raterlens plot network --ratings ratings.csv --out network.html""",
    "demo": "Writes to raterlens-demo/ in the current folder.",
    "serve": """Data stays on this machine, and only this machine can connect unless you give --host; then every
visitor needs the token that is printed at the start.

Examples:
  raterlens serve --open
  raterlens serve --host 0.0.0.0 --port 8080""",
    "study": STUDY_HELP,
    "completion": """Put it where the shell looks for completions, and open a new shell. For zsh, have
fpath+=~/.zfunc before compinit in ~/.zshrc.

Examples:
  raterlens completion bash > ~/.local/share/bash-completion/completions/raterlens
  raterlens completion zsh > ~/.zfunc/_raterlens
  raterlens completion fish > ~/.config/fish/completions/raterlens.fish""",
}


def converted(kind: Any, tokens: Sequence[Token]) -> Any:
    """Convert as Cyclopts does, but refuse 1.5 for a whole number instead of rounding it."""
    for token in tokens:
        if (
            (kind is int or int in get_args(kind))
            and "." in token.value
            and set(token.value.partition(".")[2]) - {"0"}
        ):
            raise ValueError(f"{token.value!r} is not a whole number.")
    return convert(kind, tokens)


app = App(
    name="raterlens",
    help="How capable is each rater? From a table of ratings to a capability index for every rater.",
    help_format="plaintext",
    help_epilogue="""Examples:
  raterlens demo
  raterlens check ratings.csv
  raterlens fit ratings.csv --out results/
  raterlens fit essays.csv --rater rater,topic --items spe,coh,str --cut 3""",
    version=__version__,
    result_action="return_value",
    suppress_keyboard_interrupt=False,
    default_parameter=Parameter(converter=converted),
)
for place, (name, about) in enumerate(COMMANDS.items()):
    # By its address, so that a command loads itself alone.
    address = f"raterlens.app.cli.{MODULES[name]}:{name}"
    app.command(address, name=name, help=about, help_epilogue=EPILOGUES[name], sort_key=place)


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(name="SHELL", help="bash, zsh or fish.")], /
) -> None:
    """Print a shell completion script for bash, zsh or fish."""
    print(app.generate_completion(shell=shell))
