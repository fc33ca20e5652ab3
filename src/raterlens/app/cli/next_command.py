"""`raterlens next`: while marking runs, what should whom mark next?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from raterlens.app.cli.options import EVERYTHING_RECOGNISED, File, ReadOptions, read_config
from raterlens.base.drafts import write_whole

if TYPE_CHECKING:
    from raterlens.facade import Fit
    from raterlens.ratings.coded import Ratings

SHOWN = 10


def next(
    file: File,
    /,
    *,
    columns: ReadOptions = EVERYTHING_RECOGNISED,
    fit: Annotated[
        Path | None, Parameter(help="fit.json of these ratings; otherwise they are fitted.")
    ] = None,
    budget: Annotated[int, Parameter(help="Readings to give out, at most one per student.")] = 20,
    capacity: Annotated[
        str | None,
        Parameter(help="The most readings per rater: a number, or a table with columns 'rater' and 'load'."),
    ] = None,
    forbidden: Annotated[
        Path | None, Parameter(help="Table of who may not mark whom: columns 'student' and 'rater'.")
    ] = None,
    floor: Annotated[int, Parameter(help="Students with fewer readings come first.")] = 0,
    out: Annotated[Path | None, Parameter(help="csv file for the readings.")] = None,
) -> None:
    """What should whom mark next, so that every rater is known best?"""
    config = read_config(columns)
    # heavy, so not before it is needed
    from raterlens.planning.next_marks import next_marks
    from raterlens.reading.reader import read

    ratings = read(file, **config.given())
    limit: Any = int(capacity) if capacity is not None and capacity.isdigit() else capacity
    found = next_marks(_fit(fit, ratings), ratings, budget, capacity=limit, forbidden=forbidden, floor=floor)
    print(found.summary())
    if out is not None:
        write_whole(out, found.table.write_csv)
        print(f"written: {out}")
        return
    for row in found.table.head(SHOWN).iter_rows(named=True):
        print(f"  {row['rater']} marks {row['student']}")
    if found.table.height > SHOWN:
        print(f"  and {found.table.height - SHOWN} more; add --out next.csv for all of them")


def _fit(path: Path | None, ratings: "Ratings") -> "Fit":
    # heavy, so not before it is needed
    from raterlens.fitting import fit, load

    return fit(ratings, reference="perfect", halo="none") if path is None else load(path)
