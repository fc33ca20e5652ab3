"""Data that several tests use, read once."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens import Ratings
from tests.support.browser import browser, new_page, page
from tests.support.latent_class import long, rows_of

__all__ = ["browser", "new_page", "page"]

# What `make test-fast` leaves out: whole processes, browsers, clusters, compiled code, studies and pages.
SLOW_FIXTURES = {"browser"}
SLOW_PLACES = (
    "src/raterlens/batch.py",
    "tests/app/cli/test_compare_command.py",
    "tests/app/cli/test_demo_command.py",
    "tests/app/cli/test_fit_command.py",
    "tests/app/cli/test_plot_command.py",
    "tests/app/cli/test_startup.py",
    "tests/app/cli/test_study_command.py",
    "tests/app/cli/test_terminal.py",
    "tests/app/web/",
    "tests/audit/",
    "tests/capability/test_yardstick.py::test_a_report",
    "tests/capability/test_yardstick.py::test_items_with_slopes",
    "tests/pictures/test_every_chart.py",
    "tests/pictures/test_files.py",
    "tests/diagnostics/test_change.py",
    "tests/diagnostics/test_drift.py",
    "tests/diagnostics/test_flags.py",
    "tests/engine/",
    "tests/estimation/test_checkpoint.py",
    "tests/likelihood/test_marginal.py::test_compiled",
    "tests/estimation/test_methods.py::test_the_grid_is_fine_enough",
    "tests/estimation/test_quadrature.py",
    "tests/kernels/",
    "tests/models/test_anchors.py::test_anchoring_everything",
    "tests/models/test_capped_log.py",
    "tests/base/",
    "tests/output/report/test_models.py",
    "tests/output/report/test_page.py",
    "tests/result/test_saved.py",
    "tests/scenarios/",
    "tests/evidence/",
    "tests/studies/",
    "tests/test_docs.py",
    "tests/test_packaging.py",
    "tests/test_sklearn.py",
    "tests/inference/test_bootstrap.py",
    "tests/inference/test_intervals.py::test_coverage",
    "tests/inference/test_profile.py",
    "tests/inference/test_sparse_covariance.py",
)

# Workers take whole files: the longest come first, so that none is left alone with one of them at the end.
LONGEST = (
    "tests/test_docs.py",
    "tests/app/web/test_in_browser.py",
    "tests/audit/test_fuzzer.py",
    "tests/inference/test_ability_error.py",
    "tests/studies/test_study.py",
    "tests/scenarios/test_fits_on_a_cluster.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))  # the others as they came
    for item in items:
        fixtures = SLOW_FIXTURES & set(getattr(item, "fixturenames", ()))
        if fixtures or item.nodeid.startswith(SLOW_PLACES):
            item.add_marker(pytest.mark.slow)


collect_ignore = ["support/inspect_logs.py"]
"""A script that needs inspect_ai."""

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
