"""`raterlens compare`: saved fits side by side."""

from collections.abc import Sequence
from pathlib import Path

from raterlens.errors import OptionError


def compare(paths: Sequence[Path]) -> str:
    """The comparison of saved fits in words; each is called by its file, or by its folder where all files are alike."""
    if len(paths) < 2:
        raise OptionError(
            f"{len(paths)} fit{'s' * (len(paths) != 1)} to compare; give the paths of two or more fit.json"
        )
    from raterlens.diagnostics.comparison import compare as side_by_side
    from raterlens.fitting import load

    names = [path.stem for path in paths]
    if len(set(names)) < len(names):
        names = [path.absolute().parent.name for path in paths]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return side_by_side(*(load(path) for path in paths), names=names).summary()
