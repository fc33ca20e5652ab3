"""From a file to results: the same numbers as rl.fit, whoever asks."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.fitting.run import check_request, fit_request, read_request
from raterlens.fitting.steps import Run
from raterlens.output.report.reproduce import Request


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("run") / "ratings.csv"
    rl.simulate(students=60, raters=4, items=2, seed=5).ratings.table().write_csv(path)
    return path


def test_a_request_gives_the_fit_that_python_gives(table: Path, tmp_path: Path) -> None:
    stages: list[str] = []
    found = fit_request(Request(file=str(table)), Run(on_stage=stages.append))
    alone = rl.fit(str(table))
    assert found.fit.raters.equals(alone.raters)
    assert stages[0] == "reading"
    assert stages[-1] == "diagnosing"
    found.write(tmp_path / "results")
    assert rl.load(tmp_path / "results" / "fit.json").loglik == alone.loglik


def test_a_file_may_be_elsewhere_than_it_is_called(table: Path) -> None:
    request = Request(file="as the visitor calls it.csv")
    ratings, config, same = read_request(request, Run(), table)
    assert ratings.n_ratings == 480
    assert config == FitConfig()
    assert "as the visitor calls it.csv" in same.command()


def test_what_needs_no_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.csv")
    for request, option in (
        (Request(file=missing, remark=3), "decide"),
        (Request(file=missing, groups=["school", "school"]), "groups"),
    ):
        with pytest.raises(OptionError) as refused:
            check_request(request, Run())
        assert refused.value.option == option
    with pytest.raises(OptionError, match="without a checkpoint"):
        check_request(Request(file=missing), Run(resume=True))
