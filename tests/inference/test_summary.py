"""A fit in a few lines."""

import raterlens as rl


def test_raters_stand_from_most_to_least_capable(small):
    fit = rl.fit(small, model="gmf")
    lines = fit.summary().splitlines()
    ranked = fit.raters.sort("kappa", descending=True)["rater"].to_list()
    assert [line.split()[0] for line in lines[1 : 1 + len(ranked)]] == ranked
    assert f"log-likelihood {fit.loglik:.4f}" in lines[len(ranked) + 2]
    assert f"Converged in {fit.optimiser.iterations} iterations" in lines


def test_a_fit_that_did_not_converge_says_why(small):
    lines = rl.fit(small, model="gmf", max_iterations=1, standard_errors=False).summary().splitlines()
    assert any(line.startswith("Did not converge in ") and "limit of 1 iteration" in line for line in lines)
    assert any(line.startswith("Warning: the estimates have not converged") for line in lines)
