"""Options in the words of the pages: no argument of Python, no name that only the package knows."""

from typing import get_args

import pytest
from starlette.testclient import TestClient

from raterlens.app.web.option_labels import FIELDS, label
from raterlens.app.web.words import TABLE
from raterlens.base.text import Option
from raterlens.config import FIT_OPTIONS, READ_OPTIONS, LinkName, Method, Scale
from raterlens.models.registry import MODELS
from tests.support.web_clients import LONG, send


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        (Option("cut"), "a pass mark"),
        (Option("cut", 2.5), "the pass mark 2.5"),
        (Option("decide", 1.5), "grades from 1.5"),
        (Option("remark"), "further marks to plan"),
        (Option("student"), "a column as Student"),
        (Option("items", ["a", "b"]), "a column as Score"),
        (Option("wide", "{rater}"), "score columns named {rater}"),
        (Option("method"), "the method"),
        (Option("method", "hl"), "the method “hl”"),
        (Option("scale", "graded"), "the scale “graded”"),
        (Option("prior", "none"), "the prior “none”"),
        (Option("interactions", "rater:item"), "“Let raters be stricter on some items than on others”"),
        (Option("model", "dawid-skene"), "the model “True verdict without ability” (dawid-skene)"),
        (Option("model", "unheard of"), "--model 'unheard of' on the command line"),
        (Option("format", "csv"), "--format csv on the command line"),
        (Option("standard_errors", False), "--no-standard-errors on the command line"),
    ],
)
def test_what_the_pages_call_an_option(option: Option, shown: str) -> None:
    assert label(option) == shown


def test_every_choice_has_words() -> None:
    for options, words in ((Method, "methods"), (Scale, "scales")):
        assert list(TABLE[words]) == list(get_args(options))
    assert list(TABLE["links"]) == ["default", *get_args(LinkName)]
    assert [name for name, words in TABLE["models"].items() if isinstance(words, dict)] == list(MODELS)


def test_every_field_is_on_the_page(visitor: TestClient) -> None:
    assert set(FIELDS) <= {*FIT_OPTIONS, *READ_OPTIONS, "decide", "remark"}
    page = visitor.get(send(visitor, LONG).headers["location"]).text
    for field in FIELDS.values():
        assert f'id="{field}"' in page
