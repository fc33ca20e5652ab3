"""Each effect against panels whose truth is known."""

import pytest

import raterlens as rl


@pytest.mark.parametrize("model", ["gmf", "dawid-skene"])
def test_a_very_severe_rater_is_no_random_one(model):
    """All have the same slope; the first passes 9 % of the work."""
    severity = [2.6, 0.2, -0.3, 0.1, 0.0, 0.4, -0.2, 0.0]
    sizes = {"students": 300, "raters": 8, "items": 4, "raters_per_student": 3}
    ratings = rl.simulate(**sizes, slope=1.2, severity=severity, seed=0).ratings
    found = rl.fit(ratings, model=model, standard_errors=False).diagnose(ratings)
    first = found.table("effects").row(0, named=True)
    assert abs(first["responsiveness"] - 1) < 2 * first["responsiveness_se"]
    assert found.flags.height == 0
