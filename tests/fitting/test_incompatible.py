"""Options that do not go together."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.base.text import Option
from raterlens.fitting.facets_checks import refuse_together


def test_the_first_that_is_given_is_named_with_its_value():
    others = [(Option("known"), False), (Option("method", "hl"), True), (Option("trusted"), True)]
    with pytest.raises(OptionError) as caught:
        refuse_together(Option("piece", "essay"), others)
    assert str(caught.value) == "piece='essay' does not go with method='hl'; leave out one of them"
    assert (caught.value.option, caught.value.value) == ("method", "hl")


def test_where_none_is_given_nothing_is_said():
    refuse_together(Option("piece", "essay"), [(Option("known"), False)])
