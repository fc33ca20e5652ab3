"""The form follows from the options' records, in words of its own, and becomes these records again."""

import re

import pytest

from raterlens.app.web.form import (
    CONTROLS,
    DECISIONS,
    FITTING,
    READING,
    ROLES,
    SCORES,
    TABLE,
    PageError,
    decisions,
    field_of,
    fit_config,
    label,
    page_error,
    read_config,
    sent,
    shown,
)
from raterlens.app.web.pages import HERE
from raterlens.base.errors import OptionError
from raterlens.base.text import Message, Option
from raterlens.config import FIT_OPTIONS, READ_OPTIONS, FitConfig, ReadConfig
from raterlens.models.registry import MODELS
from tests.support.web_clients import LONG as TABLE_OF_RATINGS
from tests.support.web_clients import ORIGIN, send, visiting

LONG = {"pupil": "student", "judge": "rater", "topic": "rater", "task": "item", "mark": "score"}
WIDE = {"pupil": "student", "judge": "rater", "style": "score", "plot": "score", "day": "facets"}
EACH_RATER = {"pupil": "student", "AM": "score", "BE": "score"}
FIRST_ROLES = {f"role-{place}": role for place, role in enumerate(("student", "rater", "item", "score"))}


def test_every_field_is_an_option_and_on_the_page() -> None:
    assert set(CONTROLS) == {*SCORES, *READING, *FITTING, *DECISIONS}
    assert {*SCORES, *READING} <= {*READ_OPTIONS}
    assert {*FITTING} <= {*FIT_OPTIONS}
    assert {*TABLE["fields"]} == {*CONTROLS}
    models = [name for name, words in TABLE["models"].items() if isinstance(words, dict)]
    assert models == ["default", *MODELS]
    assert {*TABLE["roles"]} == {"none", *ROLES}
    for name, words in TABLE["choices"].items():
        assert {*words} == {value or "default" for value in CONTROLS[name].values or ()}
    with visiting() as client:
        page = client.get(send(client, TABLE_OF_RATINGS).headers["location"]).text
    for option in (*CONTROLS, "wide", "model", "rater"):
        assert f'id="{field_of(option)}"' in page, option


def test_a_form_that_is_sent_as_it_opens_asks_for_the_defaults() -> None:
    """The defaults are those of the command and of Python: the page preselects nothing else."""
    with visiting() as client:
        page = client.get(send(client, TABLE_OF_RATINGS).headers["location"]).text
    form = {
        name: (
            re.findall(r'<option value="([^"]*)" selected', choices)
            or re.findall(r'value="([^"]*)"', choices)
        )[0]
        for name, choices in re.findall(r'<select id="(\w+)" name="\w+">(.*?)</select>', page, re.DOTALL)
    }
    assert {*form} >= {name for name in FITTING if CONTROLS[name].values}
    assert fit_config(sent(form)) == FitConfig()


def test_a_form_asks_for_a_fit() -> None:
    form = {
        "model": "tfm",
        "method": "laplace",
        "link": "",
        "scale": "graded",
        "prior": "panel",
        "other": "x",
    }
    assert fit_config(sent(form)) == FitConfig(model="tfm", method="laplace", scale="graded", prior="panel")
    boxes = fit_config({"item_slopes": "yes", "interactions": "rater:item", "trusted": "Ann, Bob"})
    assert boxes == FitConfig(item_slopes=True, interactions=["rater:item"], trusted=["Ann", "Bob"])
    for name in ("model", "method", "link"):
        with pytest.raises(OptionError, match=f"unknown {name} 'x'"):
            fit_config({name: "x"})


def test_a_form_asks_for_decisions() -> None:
    assert decisions({}) == (None, None)
    assert decisions({"decide": "1,2", "remark": "50"}) == ("1,2", 50)
    with pytest.raises(PageError, match="'many', is not a whole number") as refused:
        decisions({"remark": "many"})
    assert refused.value.field == "remark"


def test_what_was_chosen_is_what_is_read() -> None:
    assert read_config(LONG, {"cut": "3,0", "duplicates": "first"}) == ReadConfig(
        student=["pupil"], rater=["judge", "topic"], item=["task"], score="mark", cut=3, duplicates="first"
    )
    assert read_config(WIDE, {"as_written": "yes"}, sheet="Marks") == ReadConfig(
        student=["pupil"],
        rater=["judge"],
        items=["style", "plot"],
        facets=["day"],
        table="Marks",
        as_written=True,
    )
    assert read_config(EACH_RATER, {}, wide="{rater}") == ReadConfig(
        student=["pupil"], items=["AM", "BE"], wide="{rater}"
    )
    known = read_config(LONG | {"gold": "known"}, {"known_cut": "2", "known_map": "right=1,wrong=0"})
    assert (known.known, known.known_cut, known.known_map) == ("gold", 2, "right=1,wrong=0")


def test_what_the_reader_understood_is_what_the_form_shows() -> None:
    config = ReadConfig(student="pupil", cut=2.5, best="low", as_written=True, table="Marks")
    assert shown(config) == {"cut": "2.5", "best": "low", "as_written": "yes"}


@pytest.mark.parametrize(
    ("roles", "wide", "option", "message"),
    [
        (
            {"mark": "score", "judge": "rater"},
            None,
            "student",
            "no column is marked as the student; mark one",
        ),
        (EACH_RATER, None, "rater", "or say below the table that each score column is for one rater"),
        (
            LONG | {"grade": "score"},
            None,
            "item",
            "'mark', 'grade' are all marked as scores, and 'task' as the item",
        ),
        (WIDE, "{rater}", "rater", "'judge' is marked as the rater, and so are the score columns"),
        (LONG | {"a": "known", "b": "known"}, None, "known", "'a', 'b' are all marked as “Known answer”"),
    ],
)
def test_roles_that_do_not_go_together(
    roles: dict[str, str], wide: str | None, option: str, message: str
) -> None:
    with pytest.raises(OptionError) as refused:
        read_config(roles, {}, wide=wide)
    assert message in str(refused.value)
    assert refused.value.option == option


def test_a_fault_leads_back_to_the_field() -> None:
    with visiting() as client:
        table = send(client, TABLE_OF_RATINGS).headers["location"]
        for path, form, field in (
            ("fits", {"model": "rasch"}, "models"),
            ("check", {"cut": "high"}, "cut"),
            ("check", {"known_map": "right"}, "known_map"),
            ("check", {"role-3": "none"}, "roles"),
        ):
            wrong = client.post(f"{table}/{path}", data=FIRST_ROLES | form, headers=ORIGIN)
            assert wrong.status_code == 422
            assert f'data-field="{field}"' in wrong.text
        assert "No column is marked as the score" in wrong.text


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        (Option("cut"), "the pass mark"),
        (Option("cut", 2.5), "the pass mark 2.5"),
        (Option("decide", 1.5), "the grade boundaries 1.5"),
        (Option("student"), "a column as Student"),
        (Option("items", ["a", "b"]), "a column as Score"),
        (Option("method"), "the method"),
        (Option("method", "hl"), "the method “hl”"),
        (Option("scale", "graded"), "the scale “graded”"),
        (Option("as_written", True), "“Read the table unchanged”"),
        (Option("duplicates", "first"), "the choice for duplicates “keep the first”"),
        (Option("model", "dawid-skene"), "the model “True verdict without ability” (dawid-skene)"),
        (Option("model", "unheard of"), "--model 'unheard of' on the command line"),
        (Option("format", "csv"), "--format csv on the command line"),
        (Option("standard_errors", False), "--no-standard-errors on the command line"),
    ],
)
def test_what_the_pages_call_an_option(option: Option, shown: str) -> None:
    assert label(option) == shown


def test_an_error_names_the_field_and_speaks_as_the_pages_do() -> None:
    error = page_error(OptionError(Message(Option("cut", 9), " is too high"), "lower it", option="cut"))
    assert (str(error), error.status, error.field) == ("the pass mark 9 is too high; lower it", 422, "cut")
    assert page_error(OptionError("no", option="seed")).field is None


def test_templates_use_words_that_exist_and_every_word_is_used() -> None:
    sources = [path.read_text() for path in (*(HERE / "templates").iterdir(), *HERE.glob("*.py"))]
    used = {match for source in sources for match in re.findall(r"(?i)\bwords\.(\w+)\.(\w+)", source)}
    used = {(section, word) for section, word in used if word != "format"}
    for section, word in used:
        assert isinstance(TABLE[section][word], str), (section, word)
    used |= {("progress", word) for source in sources for word in re.findall(r"\bwords\.(\w+)\b", source)}
    lists = {"states", "roles", "spread", "fields", "choices", "stages", "files"}
    known = {
        (section, word)
        for section, words in TABLE.items()
        for word, text in words.items()
        if section not in lists and isinstance(text, str)
    }
    assert known - used == set()
