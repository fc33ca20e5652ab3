"""`raterlens pack`: a large table in a compact form."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from raterlens.app.cli.options import EVERYTHING_RECOGNISED, File, ReadOptions, read_config
from raterlens.app.cli.progress import watching


def pack(
    file: File,
    /,
    *,
    out: Annotated[Path, Parameter(help="File to write, NAME.rlpack.")],
    columns: ReadOptions = EVERYTHING_RECOGNISED,
) -> None:
    """Read a large table once, and keep it in a compact form that later fits open at once."""
    config = read_config(columns)
    # heavy, so not before it is needed
    from raterlens.ratings.packed_file import open_packed
    from raterlens.ratings.stored import StoredRatings
    from raterlens.reading.packing import pack as write

    with watching("reading", str(file)):
        path = write(file, out, **config.given())
    packed = StoredRatings(open_packed(path))
    for note in packed.notes:
        print(note)
    print(
        f"{packed.n_ratings:,} ratings of {packed.n_students:,} students by {packed.n_raters:,} raters on "
        f"{packed.n_items:,} items: {path} ({path.stat().st_size / 2**20:,.1f} MiB)"
    )
