"""The command and the call, word for word; tests/scenarios/test_same_ratings.py runs them."""

import pytest

from raterlens.base.text import Option
from raterlens.config import Anchors, FitConfig, ReadConfig
from raterlens.output.report.reproduce import Request, as_flag, flag, from_python


def test_only_what_is_not_at_its_default_is_said() -> None:
    request = Request(file="ratings.csv")
    assert request.command() == "raterlens fit ratings.csv"
    assert (
        request.call() == "import raterlens as rl\n\nratings = rl.read('ratings.csv')\nfit = rl.fit(ratings)"
    )


def test_everything_else_is() -> None:
    request = Request(
        file="my essays.csv",
        read=ReadConfig(student="pid", rater=["rater", "the, topic"], items=["a", "b"], cut=0),
        fit=FitConfig(model="tfm", scale="partial credit", item_slopes=True, standard_errors=False, starts=3),
        files={"anchors": "last year/fit.json"},
        out="results",
        xlsx=True,
    )
    assert request.command() == (
        "raterlens fit 'my essays.csv' --student pid --rater 'rater,\"the, topic\"' --items a,b --cut 0 --model tfm "
        "--scale 'partial credit' --item-slopes --starts 3 --no-standard-errors --anchors 'last year/fit.json' "
        "--out results --xlsx"
    )
    assert request.call().splitlines()[2:] == [
        "ratings = rl.read('my essays.csv', student='pid', rater=['rater', 'the, topic'], items=['a', 'b'], cut=0)",
        "fit = rl.fit(ratings, model='tfm', scale='partial credit', item_slopes=True, starts=3, "
        "standard_errors=False, anchors=rl.load('last year/fit.json'))",
    ]


def test_who_may_mark_again_is_named_as_a_shell_takes_it() -> None:
    request = Request(file="x.csv", decide="1", remark=2, by_raters=["Ann", "Bob, jr"], not_by=["Cleo"])
    assert request.command() == (
        "raterlens fit x.csv --decide 1 --remark 2 --by-raters 'Ann,\"Bob, jr\"' --not-by Cleo"
    )
    assert (
        "remark = fit.remark(cut=decisions, budget=2, raters=['Ann', 'Bob, jr'], not_by=['Cleo'])"
        in request.call()
    )


def test_a_control_file_has_a_scale_and_anchors_of_its_own() -> None:
    request = Request(file="study.txt", fit=FitConfig(model="tfm"), control_file=True)
    assert request.command() == "raterlens fit study.txt --model tfm"
    assert request.call().splitlines()[2:] == [
        "study = rl.read_facets('study.txt')",
        "fit = rl.fit(study.ratings, scale=study.scale, interactions=study.interactions, "
        "anchors=study.anchors('tfm'), model='tfm')",
    ]


def test_columns_beside_the_model() -> None:
    request = Request(file="r.csv", read=ReadConfig(facets="topic"), time="day", groups=["school"])
    assert request.command() == "raterlens fit r.csv --facets topic --time day --groups school"
    assert request.call().splitlines()[1:] == [
        "",
        "ratings = rl.read('r.csv', facets='topic', beside=['day', 'school'])",
        "fit = rl.fit(ratings)",
        "diagnosis = fit.diagnose(time='day', groups=['school'])",
    ]


def test_decisions_come_after_the_fit() -> None:
    request = Request(file="r.csv", decide="1.5,2.5", remark=20, out="results")
    assert request.command() == "raterlens fit r.csv --decide 1.5,2.5 --remark 20 --out results"
    assert request.call().splitlines()[-3:] == [
        "fit = rl.fit(ratings)",
        "decisions = fit.decisions(cut='1.5,2.5')",
        "remark = fit.remark(cut=decisions, budget=20)",
    ]


def test_from_python_what_fits_no_line_is_in_the_saved_fit() -> None:
    found = from_python(FitConfig(model="tfm", anchors=Anchors(items={"a": 1.0})))
    assert found.command is None
    assert found.call.endswith(
        "fit = rl.fit(ratings, model='tfm', anchors=rl.load(\"fit.json\").config.anchors)"
    )


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (Option("cut", -1), "--cut=-1"),
        (Option("student", "class, seat"), "--student '\"class, seat\"'"),
        (Option("wide", "{rater}, {item}"), "--wide '{rater}, {item}'"),
        (Option("raters", ["R1", "R2"]), "--only R1,R2"),
        (Option("encoding"), "--encoding"),
        (Option("reference", 2.5), "--reference 2.5"),
    ],
)
def test_options_as_flags(option: Option, words: str) -> None:
    assert as_flag(option) == words


def test_a_file_whose_name_begins_with_a_hyphen_is_no_option() -> None:
    assert Request(file="-x.csv").command() == "raterlens fit ./-x.csv"
    assert Request(file="-").command() == "raterlens fit -"
    assert flag(Option("score", "-x")) == ["--score=-x"]
