"""`raterlens compare`: saved fits side by side."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from raterlens.errors import OptionError
from raterlens.text import counted


def compare(
    files: Annotated[
        list[Path], Parameter(name="FILES", consume_multiple=True, help="Two or more saved fits (fit.json).")
    ],
    /,
) -> None:
    """Compare fits: likelihood, parameters, and how the raters' ranks change."""
    if len(files) < 2:
        raise OptionError(
            f"{counted(len(files), 'fit')} to compare", "give the paths of two or more fit.json"
        )
    # heavy, so not before it is needed
    from raterlens.diagnostics.comparison import compare as side_by_side
    from raterlens.fitting import load

    print(side_by_side(*(load(path) for path in files), names=_names(files)).summary())


def _names(files: list[Path]) -> list[str]:
    """Each is called by its file, or by its folder where all files are alike."""
    for names in ([path.stem for path in files], [path.absolute().parent.name for path in files]):
        if len(set(names)) == len(names):
            return names
    return [str(path) for path in files]
