"""Bands and cuts that suit the data."""

from hypothesis import given
from hypothesis import strategies as st

from raterlens.reading.proposals.score_scales import suggested_bands, suggested_cut


@given(st.dictionaries(st.integers(0, 1000).map(lambda n: n / 10), st.integers(1, 50), min_size=2))
def test_every_band_has_scores_and_the_cut_has_both_sides(counts: dict[float, int]) -> None:
    values = sorted(counts)
    edges = suggested_bands(counts)
    assert edges == sorted(set(edges))
    assert {sum(value >= edge for edge in edges) for value in values} == set(range(len(edges) + 1))
    cut = suggested_cut(counts)
    assert values[0] < cut <= values[-1]


def test_round_numbers() -> None:
    assert suggested_bands({float(n): 1 for n in range(30, 91)}) == [40.0, 55.0, 65.0, 80.0]
    assert suggested_cut({0.12: 1, 0.48: 5, 0.9: 1}) == 0.5


def test_scores_next_to_each_other_and_at_both_ends_of_what_is_a_number() -> None:
    assert suggested_cut({0.0: 1, 5e-324: 1}) == 5e-324
    assert -1.7e308 < suggested_cut({-1.7e308: 1, 0.0: 2, 1.7e308: 1}) <= 1.7e308
