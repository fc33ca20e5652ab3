"""Reports, each made once for all tests."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import raterlens as rl
from tests.support.report_fits import MakeFit, made, rendered


@pytest.fixture
def make_fit() -> MakeFit:
    return made


@pytest.fixture(scope="session")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """A whole page with its pictures, made once for all tests of all processes: 3,000 raters take seconds."""
    own = tmp_path_factory.getbasetemp()
    folder = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def page(n_raters: int = 16, n_students: int = 2, hostile: bool = False) -> str:
        path = folder / f"page-{n_raters}-{n_students}-{hostile}.html"
        if not path.exists():
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(rendered(n_raters, n_students, hostile).encode())
            draft.replace(path)
        return path.read_bytes().decode()

    return page


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Words and tables only: drawing takes a second."""
    nothing = dict.fromkeys(("map", "abilities", "capability", "severity", "categories", "category_use"))
    blank = {"curve": None, "what_if": "", "categories": None, "strip": "", "band": False}
    drawn = nothing | {"frames": blank}
    monkeypatch.setattr(
        "raterlens.output.report.page.pictures", lambda fit, found, numbers, shares: {**drawn}
    )


@pytest.fixture(scope="session")
def example_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the bundled example, made with its ratings."""
    ratings = rl.load_example()
    return rl.fit(ratings, model="gmf").report(tmp_path_factory.mktemp("report") / "report.html", ratings)
