"""A fit as JSON and back: the same numbers, the same request."""

import json

import pytest
from polars.testing import assert_frame_equal

import raterlens as rl
from raterlens.errors import InputError


@pytest.mark.parametrize("model", ["tfm", "gmf", "probit"])
def test_save_and_load(small, tmp_path, model):
    fit = rl.fit(small, model=model)
    loaded = rl.load(fit.save(tmp_path / "fit.json"))
    for name in ("raters", "items", "students"):
        assert_frame_equal(fit.table(name), loaded.table(name), check_exact=True)
    assert (loaded.loglik, loaded.sigma, loaded.optimiser) == (fit.loglik, fit.sigma, fit.optimiser)
    content = json.loads((tmp_path / "fit.json").read_text())
    for key in ("model", "method", "link", "loglik", "sigma", "alpha", "converged", "n_parameters"):
        assert key in content


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        ("[]", "not a saved fit"),
        ('{"format": "raterlens fit", "version": 99}', "version 99"),
    ],
)
def test_a_file_that_is_no_fit_is_refused(tmp_path, content, message):
    (tmp_path / "fit.json").write_text(content)
    with pytest.raises(InputError, match=message):
        rl.load(tmp_path / "fit.json")
