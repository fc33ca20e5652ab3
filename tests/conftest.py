"""Data that several tests use, read once."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens import Ratings
from raterlens.kernels import library
from tests.support.browser import browser, new_page, page
from tests.support.latent_class import long, rows_of

__all__ = ["browser", "new_page", "page"]

collect_ignore = ["support/inspect_logs.py"]
"""A script that needs inspect_ai."""


def pytest_sessionstart() -> None:
    """Stop before kernels of older C code crash Python."""
    kernels = Path(library.__file__).parent
    compiled = [path.stat().st_mtime for path in kernels.glob("kernels.*")]
    if compiled and max(path.stat().st_mtime for path in kernels.glob("c/*")) > max(compiled):
        pytest.exit(
            "The C code of the kernels has changed. Compile it: make .venv/.installed-dev", returncode=2
        )


WRITING = Path(__file__).parents[2] / "shared" / "data" / "writing.csv"
ITEMS = ["spe", "coh", "str", "gra", "con"]


@pytest.fixture(scope="session")
def writing_path() -> Path:
    if not WRITING.exists():
        pytest.skip("the writing data (data.cqc04 of the R package TAM) is not part of this project")
    return WRITING


@pytest.fixture(scope="session")
def writing(writing_path: Path) -> Ratings:
    """The paper's data: pass is the highest score."""
    return rl.read(writing_path, student="pid", rater=["rater", "topic"], items=ITEMS, cut=3)


@pytest.fixture(scope="session")
def writing_scores(writing_path: Path) -> Ratings:
    """The same with all four scores."""
    return rl.read(writing_path, student="pid", rater=["rater", "topic"], items=ITEMS)


@pytest.fixture(scope="session")
def small() -> Ratings:
    """Sixty students, five raters, three items; each student rated by three raters, some twice."""
    return rl.simulate(students=60, raters=5, items=3, raters_per_student=3, seed=4).ratings


@pytest.fixture(scope="module")
def panel() -> Ratings:
    """For latent class models: 40 students, 3 items, 2 of 5 raters each; some ratings twice, one rater who passes
    everything."""
    ratings = rl.simulate(model="hrm", students=40, raters=5, items=3, raters_per_student=2, seed=3).ratings
    rows = rows_of(ratings)
    rows += rows[:7] + [(s, r, i, 1 - y) for s, r, i, y in rows[7:10]]
    rows += [(s, 9, i, 1) for s in range(20) for i in range(2)]
    return long(rows)
