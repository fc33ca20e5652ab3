"""The printed table of the writing assessment."""

from scipy import integrate, special, stats

from raterlens.simulation import example as writing


def test_the_table_is_the_printed_one():
    # Sums that the paper quotes in its text: 7,260 ratings of which 3,757 are passes.
    assert sum(row.n for row in writing.TABLE) == 7260
    assert sum(row.total for row in writing.TABLE) == 3757
    assert all(row.n % len(writing.DELTA) == 0 for row in writing.TABLE)
    assert sorted(writing.RATERS) == writing.RATERS


def test_the_intercept_gives_the_printed_number_of_passes():
    def pass_rate(row, difficulty):
        def integrand(theta):
            predictor = row.rho * writing.SIGMA * theta - row.eta - difficulty + writing.ALPHA
            return special.expit(predictor) * stats.norm.pdf(theta)

        return integrate.quad(integrand, -9, 9)[0]

    expected = sum(
        row.n / len(writing.DELTA) * pass_rate(row, difficulty)
        for row in writing.TABLE
        for difficulty in writing.DELTA.values()
    )
    assert abs(expected - 3757) < 3
