"""Errors of the package as refusals."""

from raterlens.app.web.refusals import refused
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option


def test_an_error_names_the_field_and_speaks_as_the_pages_do() -> None:
    error = OptionError(Message(Option("cut", 9), " is too high"), "lower it", option="cut")
    refusal = refused(error)
    assert (str(refusal), refusal.status, refusal.field) == (
        "the pass mark 9 is too high; lower it",
        422,
        "cut",
    )
    assert refused(OptionError("no", option="seed")).field is None
