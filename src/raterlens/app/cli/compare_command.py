"""`raterlens compare`: saved fits side by side."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from raterlens.app.cli.standard_output import print_json
from raterlens.base.errors import OptionError
from raterlens.base.text import counted


def compare(
    files: Annotated[
        list[Path], Parameter(name="FILES", consume_multiple=True, help="Two or more saved fits (fit.json).")
    ],
    /,
    *,
    json: Annotated[
        bool,
        Parameter(negative=(), show_default=False, help="Print the comparison as JSON and nothing else."),
    ] = False,
) -> None:
    """Compare fits: likelihood, parameters, and how the raters' ranks change."""
    if len(files) < 2:
        raise OptionError(
            f"{counted(len(files), 'fit')} to compare", "give the paths of two or more fit.json"
        )
    # heavy, so not before it is needed
    from raterlens.diagnostics.comparison import compare as side_by_side
    from raterlens.fitting import load

    found = side_by_side(*(load(path) for path in files), names=_names(files))
    if json:
        print_json(found.to_json())
    else:
        print(found.summary())


def _names(files: list[Path]) -> list[str]:
    """Each is called by its file, or by its folder where all files are alike."""
    for names in ([path.stem for path in files], [path.absolute().parent.name for path in files]):
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in files]
