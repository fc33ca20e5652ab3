"""Every surface offers the options of the record, with its defaults."""

import inspect
from typing import get_type_hints

import raterlens as rl
from raterlens.config import FIT_OPTIONS, READ_OPTIONS, ColumnOptions, FitConfig, FitOptions
from raterlens.sklearn import RaterCapability


def test_every_surface_offers_exactly_the_options_of_the_record():
    named = [p.name for p in inspect.signature(rl.fit).parameters.values() if p.name in FIT_OPTIONS]
    assert named == ["model", "method", "link"]
    assert set(get_type_hints(FitOptions)) == set(FIT_OPTIONS)
    assert set(get_type_hints(ColumnOptions)) == {*FIT_OPTIONS, *READ_OPTIONS} - {*named}
    constructor = inspect.signature(RaterCapability).parameters
    assert set(constructor) - {"cut", "raters", "items"} == set(FIT_OPTIONS)


def test_defaults_stand_in_one_place():
    default = FitConfig()
    for signature in (inspect.signature(rl.fit), inspect.signature(RaterCapability)):
        for name, parameter in signature.parameters.items():
            if name in FIT_OPTIONS:
                assert parameter.default == getattr(default, name), name
