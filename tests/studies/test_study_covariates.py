"""Rater covariates: from draw to page and figure."""

import polars as pl

from raterlens.studies import study_covariates as covariates
from raterlens.studies.study import Task
from tests.support.replications import replicated


def test_experience_explains_raters_better_than_their_own_few_ratings():
    study = covariates.STUDY
    rows = study.replicate(Task(1, 0))
    results = study.summarise(replicated(rows))
    error = results.tables["accuracy"].filter(parameter="kappa", scatter=0.0)
    rmse = dict(error.select("how", "rmse").iter_rows())
    assert rmse[covariates.EXPLAINED] < 0.5 * rmse[covariates.OWN]
    effects = rows.filter(pl.col("parameter") == "coefficient", pl.col("scatter") == 0.0)
    assert (effects["estimate"] - effects["truth"]).abs().max() < 0.03
    assert f"raterlens study {study.name} --replications 2" in results.markdown
    assert "What experience does not explain" in str(study.draw(results).to_dict())
