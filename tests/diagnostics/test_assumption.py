import raterlens as rl
from raterlens.diagnostics import assumption


def test_the_same_ratings_are_fitted_under_another_assumption_from_where_the_first_fit_ended():
    ratings = rl.simulate(students=60, raters=4, items=2, seed=3).ratings
    fit = rl.fit(ratings, halo="none", ability="normal")
    again = assumption.refitted(fit, ratings, "halo", "none")
    assert abs(again.loglik - fit.loglik) < 1e-6
    assert again.optimiser.iterations <= fit.optimiser.iterations
    assert assumption.refitted(fit, ratings, "halo", "common").config.halo == "common"


def test_a_yardstick_that_follows_from_standard_errors_stands_in_no_test_s_way():
    """With a reading effect that is looked for unasked, so that the fit itself makes another one."""
    ratings = rl.simulate(students=60, raters=4, items=3, halo=1.5, seed=3).ratings
    corrected, plain = (rl.fit(ratings, reference=reference) for reference in ("max corrected", "max"))
    assert corrected.warnings == plain.warnings
    assert any("halo" in warning for warning in plain.warnings)
    again = [assumption.refitted(fit, ratings, "halo", "common") for fit in (corrected, plain)]
    assert abs(again[0].loglik - again[1].loglik) < 1e-6
    assert again[1].raters["kappa_se"].fill_nan(None).is_null().all()


def test_what_is_said_names_the_option_and_the_way_back():
    assert assumption.advised("It rains", "halo", "common", instead="none", to="keep it out") == (
        "It rains. Fit with halo='common', or say halo='none' to keep it out"
    )
    assert assumption.done("It rained", "halo", "common", instead="none", does="keeps it out") == (
        "It rained (halo='common'); halo='none' keeps it out"
    )
