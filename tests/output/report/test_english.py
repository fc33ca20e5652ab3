"""The words of the report: complete for every option, and free of translated idiom."""

from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

import raterlens
from raterlens.config import CovarianceKind, LinkName, Method
from raterlens.models.registry import MODELS
from raterlens.output.report import english


def texts(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for part in value.values() for text in texts(part)]
    return [text for part in value for text in texts(part)] if isinstance(value, list) else []


WORDS = texts(english.TEXTS)
PACKAGE = Path(raterlens.__file__).parent


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


def test_no_words_are_left_over():
    files = [*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.html")]
    code = "\n".join(path.read_text(encoding="utf-8") for path in files)
    assert [
        name for name in english.TEXTS if f"words.{name.upper()}" not in code and name != "headings"
    ] == []


def test_unknown_words_are_an_error():
    with pytest.raises(AttributeError, match="no 'titel'"):
        english.TITEL  # noqa: B018


def test_placeholders_are_named():
    fields = {field for text in WORDS for _, field, _, _ in Formatter().parse(text) if field is not None}
    assert all(field.isidentifier() for field in fields), fields


@pytest.mark.parametrize("idiom", ["a rater (median)", "keep in mind", "take for granted", "all about a"])
def test_old_wordings_are_gone(idiom):
    assert [text for text in WORDS if idiom in text] == []
