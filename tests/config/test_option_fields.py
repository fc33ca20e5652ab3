"""Checks that the records share."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.config import FitConfig, ReadConfig
from raterlens.config.option_fields import check_names, check_switch, check_text, check_whole, given_options


def test_what_is_given_differs_from_the_default():
    assert given_options(ReadConfig(cut=3)) == {"cut": 3}
    assert given_options(FitConfig()) == {}


@pytest.mark.parametrize(
    ("check", "message"),
    [
        (lambda: check_names(ReadConfig, ["studnet"]), "did you mean 'student'"),
        (lambda: check_switch("halo", 1), "halo=1; give True or False"),
        (lambda: check_text("table", 7), "table=7; give text"),
        (
            lambda: check_whole("seed", True, 0),
            "seed=True is not possible; give a whole number of at least 0",
        ),
        (lambda: check_whole("starts", 0, 1), "starts=0 is not possible; give a whole number of at least 1"),
    ],
)
def test_what_does_not_fit_is_named(check, message):
    with pytest.raises(OptionError, match=message):
        check()


def test_what_fits_passes():
    check_names(FitConfig, ["model"])
    check_switch("halo", False)
    check_text("table", None)
    check_whole("seed", 0, 0)
