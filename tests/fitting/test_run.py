"""From a file to results: the same numbers as rl.fit, whoever asks."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError, OptionError
from raterlens.config import FitConfig
from raterlens.fitting.checks import Run, recorded
from raterlens.fitting.run import check_request, fit_request, read_request
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


# -- Requests, as users give them --------------------------------------------------------------------------------


def test_a_fit_anchors_by_what_it_holds_and_brings_its_scale(small):
    fit = rl.fit(small, model="gmf", origin="absolute")
    anchors = recorded({"anchors": fit})["anchors"]
    assert set(anchors.raters) == set(small.raters)
    assert anchors.earlier is not None
    assert anchors.earlier.sigma == fit.sigma
    slope, severity = anchors.raters[small.raters[0]]
    assert slope == pytest.approx(fit.raters["rho"][0] * fit.sigma)
    assert severity == pytest.approx(fit.raters["eta"][0] - fit.alpha)


def test_a_fit_without_slopes_cannot_anchor(small):
    with pytest.raises(OptionError, match="a fit of model 'dawid-skene' cannot anchor another"):
        recorded({"anchors": rl.fit(small, model="dawid-skene", starts=1)})


@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, dict])
def test_covariates_are_kept_by_column(kind):
    given = {"rater": ["a", "b"], "years": [1, 2]}
    assert recorded({"covariates": kind(given)})["covariates"] == given


def test_covariates_may_be_in_a_file(tmp_path):
    path = tmp_path / "raters.csv"
    path.write_text("rater,years\n007,1.5\n8,2\n")
    assert recorded({"covariates": path})["covariates"] == {"rater": ["007", "8"], "years": [1.5, 2.0]}


def test_covariates_that_are_no_table_are_refused():
    with pytest.raises(InputError, match="cannot read a table from an object of type 'int'"):
        recorded({"covariates": 3})
    with pytest.raises(InputError, match=r"no such file: 'raters\.csv'"):
        recorded({"covariates": "raters.csv"})


def test_other_options_stay_as_they_are():
    assert recorded({"model": "tfm", "anchors": None}) == {"model": "tfm", "anchors": None}
