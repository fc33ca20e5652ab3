"""The words of the report: complete for every option, and free of translated idiom."""

from string import Formatter
from typing import get_args

import pytest

from raterlens.config import CovarianceKind, LinkName, Method
from raterlens.models.registry import MODELS
from raterlens.output.report import english


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    return [text for part in value for text in texts(part)] if isinstance(value, tuple) else []


WORDS = [text for name, value in vars(english).items() if name.isupper() for text in texts(value)]


@pytest.mark.parametrize(
    ("words", "options"),
    [
        (english.MODELS, MODELS),
        (english.METHODS, get_args(Method)),
        (english.LINKS, get_args(LinkName)),
        (english.COVARIANCES, get_args(CovarianceKind)),
    ],
)
def test_every_option_has_words(words, options):
    assert set(words) == set(options)


def test_placeholders_are_named():
    fields = {field for text in WORDS for _, field, _, _ in Formatter().parse(text) if field is not None}
    assert all(field.isidentifier() for field in fields), fields


@pytest.mark.parametrize("idiom", ["a rater (median)", "keep in mind", "take for granted", "all about a"])
def test_old_wordings_are_gone(idiom):
    assert [text for text in WORDS if idiom in text] == []
