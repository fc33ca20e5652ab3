"""What a gate asks, as one record."""

import inspect
from dataclasses import fields

import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.output.bounds import BOUNDS, Bounds


def test_the_gate_takes_exactly_these() -> None:
    keywords = [
        name
        for name, parameter in inspect.signature(rl.gate).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    ]
    assert keywords == [*(field.name for field in fields(Bounds)), "baseline"]
    assert set(keywords) - set(BOUNDS) == {"confident", "raters", "baseline"}


def test_what_was_set_and_what_cannot_be() -> None:
    assert Bounds(min_kappa=0, max_infit=1.2, confident=True).given() == {"min_kappa": 0, "max_infit": 1.2}
    for value in (-1, float("inf"), True, "1"):
        with pytest.raises(OptionError, match="give a number between 0 and 1") as refused:
            Bounds(min_kappa=value)  # type: ignore[arg-type]
        assert (refused.value.option, refused.value.value) == ("min_kappa", value)
    with pytest.raises(OptionError, match=r"every rater would pass; set one, for example min_kappa=0\.6"):
        Bounds(confident=True).check_any()
