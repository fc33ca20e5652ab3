"""What a facets fit warns of."""

import raterlens as rl


def test_a_fit_that_is_stopped_early_says_so(small):
    fit = rl.fit(small, max_iterations=1)
    assert not fit.converged
    assert any("not converged" in warning and "Try" in warning for warning in fit.warnings)


def test_item_slopes_are_the_first_to_go_where_a_fit_does_not_converge(small):
    """The other models get by with few ratings."""
    plain, sloped = (rl.fit(small, max_iterations=1, item_slopes=given).warnings for given in (False, True))
    assert any("Try, in this order: model='tfm';" in warning for warning in plain)
    assert any("Try, in this order: item_slopes=False" in warning for warning in sloped)
