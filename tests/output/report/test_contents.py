"""Tables, pictures and words of the page."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from string import Formatter
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import raterlens
import raterlens as rl
from raterlens.base.style import PALETTE
from raterlens.config import CovarianceKind, LinkName, Method
from raterlens.diagnostics.findings import panel_findings
from raterlens.models.registry import MODELS
from raterlens.output.report import assets, english
from raterlens.output.report.assets import FOLDER, SCRIPTS, environment, script, style
from raterlens.output.report.drawings import ABILITIES, category_numbers, category_shares, frames, rater_data
from raterlens.output.report.opening import panel_rows
from raterlens.output.report.page import (
    Document,
    assumptions,
    content,
    decision_section,
    has_errors,
    render,
    reproduced,
    settings,
)
from raterlens.output.report.page_tables import (
    MOST_STUDENTS,
    coded,
    embedded,
    page_tables,
    rounded,
    shown,
    thousandths,
)
from raterlens.output.report.reproduce import Reproduction
from raterlens.pictures.rater_pictures import capability_data, rater_rows
from tests.support.chart_cases import with_raters
from tests.support.report_fits import HOSTILE, MakeFit, made

# -------------------------------------------------------------------------------------- tables of the page


def test_empty_columns_are_left_out_and_headings_are_words():
    table = pl.DataFrame({"item": ["a", "b"], "delta": [0.12346, -1.0], "infit": [float("nan")] * 2})
    found = shown(table, ("item", "delta", "infit", "outfit"))
    assert found["columns"] == ["item", "delta"]
    assert found["headings"] == ["Item", "Difficulty"]
    assert found["numeric"] == [False, True]
    assert found["values"] == [["a", "b"], [0.1235, -1.0]]


def test_a_page_has_a_limited_number_of_students():
    found = page_tables(made(2, n_students=MOST_STUDENTS + 5), None, None, Document())["students"]
    assert found["height"] == MOST_STUDENTS


# ----------------------------------------------------------------------------------- plain data for a page


SCRIPT_END = "</script><!-- & \u2028\u2029"


def test_json_cannot_end_its_script_and_reads_back():
    text = embedded({"rater": SCRIPT_END})
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == {"rater": SCRIPT_END}


def test_missing_numbers_are_null():
    assert rounded(pl.Series([1.23456, None, float("nan")])) == [1.2346, None, None]
    assert thousandths(np.array([[0.1234, np.nan]])) == [[123, None]]


def test_repeated_texts_are_stored_once():
    known, codes = coded(["b", "a", "b"])
    assert known == ["b", "a"]
    assert [known[code] for code in codes] == ["b", "a", "b"]


# ------------- the decisions of a report: words, picture and tables, and nothing where nothing was decided


@pytest.fixture(scope="module")
def study():
    ratings = rl.simulate(
        students=60, raters=4, items=3, raters_per_student=2, thresholds=[-0.5, 0.5], seed=8
    ).ratings
    fit = rl.fit(ratings, model="gmf")
    decided = fit.decisions(ratings, cut=[0.8, 1.3])
    return fit, ratings, Document(decisions=decided, remark=fit.remark(ratings, cut=decided, budget=7))


def test_words_picture_and_tables(study):
    fit, _, document = study
    found, tables = decision_section(document), page_tables(fit, None, None, document)
    assert found is not None
    assert found["lead"] == "Grades begin at mean scores of 0.8, 1.3 by the average rater."
    assert found["words"] == document.decisions.words()
    assert found["plan"] == document.remark.words()
    wide, narrow = found["picture"]
    assert wide.count("<circle") + wide.count("<path") > 60
    assert 'viewBox="0 0 360 ' in narrow
    assert tables["remark"]["height"] == 7
    sure = tables["decisions"]["values"][tables["decisions"]["columns"].index("sure")]
    assert sure == sorted(sure)
    assert tables["exam"]["values"][0] == [
        "Fair result, given all ratings",
        "Raw result, given all ratings",
        "Fair result, Rudner’s method",
        "Raw result, Lee’s method (same raters again)",
    ]


def test_the_page_has_the_section_where_something_was_decided(study):
    fit, ratings, document = study
    page = render(fit, ratings=ratings, document=document)
    assert '<section id="decisions">' in page
    assert '<a href="#decisions">Decisions about students</a>' in page
    assert "What to mark again" in page
    without = render(fit, ratings=ratings)
    assert 'id="decisions"' not in without
    assert "#decisions" not in without
    assert decision_section(Document()) is None


def test_a_report_from_python_has_it_too(study, tmp_path):
    fit, ratings, document = study
    path = fit.report(tmp_path / "report.html", ratings, decisions=document.decisions, remark=document.remark)
    assert "What to mark again" in path.read_text(encoding="utf-8")


def test_one_cut_is_a_pass(study):
    fit, ratings, _ = study
    only = Document(decisions=fit.decisions(ratings, cut=1.0))
    found = decision_section(only)
    assert found is not None
    assert found["lead"] == "A student passes from a mean score of 1 by the average rater."
    assert found["plan"] == []
    assert "remark" not in page_tables(fit, None, None, only)


def test_everybody_with_the_same_result_has_a_picture():
    """Two raters who contradict each other on every student: the cut is where all of them are."""
    passed_by_a = [0, 1, 1, 1]
    rows = [(f"S{s}", "A", a) for s, a in enumerate(passed_by_a)] + [
        (f"S{s}", "B", 1 - a) for s, a in enumerate(passed_by_a)
    ]
    ratings = rl.read(pl.DataFrame(rows, schema=["student", "rater", "score"], orient="row"))
    fit = rl.fit(ratings, model="tfm")  # whose slopes are never 0
    decided = fit.decisions(ratings, cut=0.5)
    assert decided.table["fair"].round(6).n_unique() == 1
    found = decision_section(Document(decisions=decided))
    assert found is not None
    assert "nan" not in found["picture"][0]


# ----------------------------------------------------------------------- the numbers behind a rater's page


def test_curves_and_what_if_are_those_of_the_fit(make_fit: MakeFit):
    fit = make_fit(5)
    found = panel_findings(fit)
    rows = panel_rows(fit, found)
    data = rater_data(fit, found, rows)
    for place, rater in enumerate(rows["rater"]):
        curve = fit.capability(theta=ABILITIES.tolist()).filter(rater=rater)["kappa"]
        assert np.allclose(np.array(data["curve"]["kappa"][place]) / 1000, curve, atol=5.1e-4)
        known = fit.what_if(rater, severity=np.linspace(*data["what_if"]["severity"], 81))
        assert np.allclose(
            np.array(data["what_if"]["kappa"][place]) / 1000, known.curve["kappa"], atol=5.1e-4
        )
        assert abs(data["what_if"]["best"][place] - known.best_severity) < 0.006
        assert data["feedback"][place].startswith(f"Dear {rater},")


# --------------------- the pictures of the report: every rater, where the numbers say, and no chart library loaded


def drawn(fit, name: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(one) for one in content(fit)["pictures"][name]]


def titles(root: ElementTree.Element) -> list[str]:
    return [title.text or "" for title in root.iter("title")][1:]


@pytest.mark.parametrize("n_raters", [1, 16, 300])
def test_every_rater_is_in_both_pictures_at_both_widths(make_fit: MakeFit, n_raters: int) -> None:
    fit = make_fit(n_raters)
    words = capability_data(fit)["words"].to_list()
    for picture in ("capability", "severity"):
        for root in drawn(fit, picture):
            assert sorted(titles(root)) == sorted(words)


def test_rows_are_named_and_long_names_are_cut(make_fit: MakeFit) -> None:
    wide, narrow = drawn(make_fit(len(HOSTILE), names=HOSTILE), "capability")
    assert HOSTILE[0] in [one.text for one in wide.iter("text")]
    assert any(one.text.endswith("…") for one in narrow.iter("text"))


def test_the_interval_is_drawn_where_it_is(make_fit: MakeFit) -> None:
    fit = with_raters(make_fit(3), kappa=pl.lit(0.5), kappa_low=pl.lit(0.25), kappa_high=pl.lit(0.75))
    for root in drawn(fit, "capability"):
        frame = next(p for p in root.iter("path") if p.get("stroke") == "var(--line)").get("d")
        width = float(frame.split("h")[1].split("v")[0])
        rules = [p.get("d") for p in root.iter("path") if p.get("stroke-width") == "3"]
        ends = [float(end) / width for end in re.findall(r"[ML]([\d.]+) ", "".join(rules))]
        assert ends == pytest.approx([0.25, 0.75] * 3, abs=0.005)


def test_a_missing_interval_leaves_the_point(make_fit: MakeFit) -> None:
    fit = with_raters(make_fit(3), kappa_low=pl.lit(float("nan")), kappa_high=pl.lit(None, dtype=pl.Float64))
    assert len(titles(drawn(fit, "capability")[0])) == 3


def test_a_report_loads_no_chart_library() -> None:
    code = (
        "import sys; from tests.support.report_fits import rendered; rendered(3, 2, False); "
        "print(*[m for m in ('altair', 'vl_convert') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_ordered_scores_have_their_categories_and_every_rater_its_shares() -> None:
    ratings = rl.simulate(students=60, raters=3, items=2, thresholds=[-1.0, 1.0], seed=4).ratings
    fit = rl.fit(ratings, model="gmf")
    found = content(fit, ratings=ratings)
    assert "categories" in found["sections"]
    assert len(found["pictures"]["category_use"]) == 2
    assert 'class="bars"' in found["pictures"]["frames"]["categories"]
    assert 'class="now"' in found["pictures"]["frames"]["strip"]
    shares = category_shares(fit.diagnose(), ratings)
    numbers = category_numbers(shares, ["R3", "R1", "nobody"])
    assert numbers is not None
    code = ratings.raters.to_list().index("R3")
    given = [1000 * (ratings.score[ratings.rater == code] == k).mean() for k in range(3)]
    assert numbers["observed"][0] == pytest.approx(given, abs=0.5)
    assert sum(numbers["expected"][1]) == pytest.approx(1000, abs=2)
    assert numbers["margin"][2] is None


def test_pass_and_fail_has_none(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    assert category_shares(None, None) is None
    assert content(fit)["pictures"]["categories"] == ()
    numbers = {"curve": None, "what_if": {"severity": (-3.0, 3.0), "kappa": [[500]]}}
    assert frames(fit, rater_rows(fit), numbers, None)["categories"] is None


def test_pictures_show_the_status_that_the_table_shows(make_fit: MakeFit) -> None:
    fit = make_fit(3)
    found = panel_findings(fit)
    drifting = replace(found.raters[0], alarm="0.90 logits more severe since Monday")
    data = capability_data(fit, rater_rows(fit, [drifting, *found.raters[1:]]))
    assert data.filter(rater=drifting.rater)["status"].item() == drifting.status
    assert drifting.status != found.raters[0].status


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
