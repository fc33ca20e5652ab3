"""Bands and words as options say them."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.config import ReadConfig
from raterlens.score_options import bands_text, map_text, pairs


def test_bands_and_words_are_kept_as_text_that_means_the_same() -> None:
    config = ReadConfig(bands=[40, 62.5], map={"good, or so": 1, "bad": 0, "absent": None, "a=b": 2})
    assert config.edges() == (40.0, 62.5)
    assert config.worth() == {"good, or so": 1.0, "bad": 0.0, "absent": None, "a=b": 2.0}
    assert ReadConfig(**config.given()) == config


@pytest.mark.parametrize("bands", ["", "4,4", "5,3", "a", [1, float("nan")], 3, [10**400]])
def test_what_are_no_bands(bands: object) -> None:
    with pytest.raises(OptionError, match="is not a list of ascending numbers; give the lowest score"):
        bands_text(bands)


@pytest.mark.parametrize(
    "worth", ["", "good", "good=x", "\n0", {}, {"a": True}, {"a": float("inf")}, 3, {"a": 10**400}]
)
def test_what_says_nothing_of_words(worth: object) -> None:
    with pytest.raises(OptionError, match="does not say what words are worth"):
        map_text(worth)


def test_negative_numbers_and_blank_words() -> None:
    assert pairs("-1=, =0") == {"-1": None, "": 0.0}


def test_a_cut_and_bands_do_not_go_together() -> None:
    with pytest.raises(OptionError, match=r"both cut=3 and bands=\[1, 2\] are given"):
        ReadConfig(cut=3, bands=[1, 2])
