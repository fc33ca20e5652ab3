"""Words, settings and title of the report, and its templates."""

import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from string import Formatter
from typing import get_args

import pytest

import raterlens
import raterlens as rl
from raterlens.base.style import PALETTE
from raterlens.config import CovarianceKind, LinkName, Method
from raterlens.models.registry import MODELS
from raterlens.output.report import assets, english
from raterlens.output.report.assets import FOLDER, SCRIPTS, environment, script, style
from raterlens.output.report.page import Document, assumptions, has_errors, reproduced, settings
from raterlens.output.report.reproduce import Reproduction

# ------------------------ the words of the report: complete for every option, and free of translated idiom


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


# ---------------------------------------------------------------------------- the method section, in words


def test_settings_say_how_it_went(make_fit) -> None:
    assert dict(settings(make_fit(3)))["Converged"] == "yes, in 23 iterations"
    assert dict(settings(make_fit(3, converged=False)))["Converged"].startswith("no, after 23 iterations: ")
    assert has_errors(make_fit(3))
    assert len(assumptions(make_fit(3))) == 3


def test_how_to_reproduce_has_a_command_where_there_was_one(make_fit) -> None:
    ((where, call),) = reproduced(make_fit(3), None)
    assert where == "In Python"
    assert call.startswith("import raterlens as rl")
    both = reproduced(make_fit(3), Reproduction("fit = ...", "raterlens fit a.csv"))
    assert both == (("On the command line", "raterlens fit a.csv"), ("In Python", "fit = ..."))


def test_a_reading_effect_may_be_the_text_unless_pieces_are_told_apart():
    from tests.support.piece_ratings import ratings_of

    ratings = ratings_of(students=25, twice=0.5)
    both = dict(settings(rl.fit(ratings, model="gmf", halo="common", standard_errors=False)))
    assert "a student's pieces differ" in both["Piece effect"]
    assert "quality of the piece" in both["Halo"]
    alone = dict(
        settings(rl.fit(replace(ratings, piece=None), model="gmf", halo="rater", standard_errors=False))
    )
    assert "may be the text" in alone["Reading effect"]
    assert "Piece effect" not in alone


def test_a_smooth_fit_does_not_take_abilities_for_normal(small):
    said = assumptions(rl.fit(small, model="gmf", ability="smooth", standard_errors=False))
    assert "estimated" in said[0]
    assert len(said) == 3


# ----------------------------------------------------------- title, date, and what a report is read beside


def test_a_report_has_a_title_and_today_s_date_unless_told_otherwise():
    found = Document()
    assert (found.title, found.date, found.previous, found.cautions) == (
        "Rater report",
        date.today(),
        None,
        (),
    )
    assert Document("Essays", date(2026, 12, 31)).day == "31 December 2026"


# ---------------------------------------------------------------------------- templates, style and scripts


def test_every_script_of_the_folder_is_in_the_page():
    assert {path.stem for path in (FOLDER / "scripts").glob("*.js")} == set(SCRIPTS)
    for name in SCRIPTS:
        assert (FOLDER / "scripts" / f"{name}.js").read_text(encoding="utf-8") in script()


def test_the_style_has_every_colour_it_uses():
    assert all(f"--{role}:" in style() for role in PALETTE)


def test_labels_are_escaped_and_numbers_formatted():
    page = environment().from_string(
        "{{ label }} {{ x | number }} {{ n | value }} {{ 2 | counted('rater') }}"
    )
    assert page.render(label="<b>", x=float("nan"), n=1234) == "&lt;b&gt; – 1,234 2 raters"


def test_a_folder_that_cannot_be_written_to_is_no_matter(tmp_path, monkeypatch):
    (tmp_path / "page.html").write_text("{{ 1 + 1 }}")
    (tmp_path / "__pycache__").write_text("in the way")
    monkeypatch.setattr(assets, "FOLDER", tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert environment.__wrapped__().get_template("page.html").render() == "2"
