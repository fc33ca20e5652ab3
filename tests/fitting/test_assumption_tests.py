"""Tests of assumptions from a fit."""

import raterlens as rl


def test_both_tests_are_those_of_the_diagnostics(small):
    fit = rl.fit(small, standard_errors=False)
    assert fit.halo_test(small).table["test"].to_list()[0] == "common against none"
    assert fit.ability_test(small).table["df"].to_list() == [2]
