"""FACETS control files: syntax, labels, models, specifications."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.reading.facets_control import (
    FacetLabels,
    Line,
    Model,
    RatingScale,
    fields,
    lines_of,
    name_of,
    numbers,
    read_facet,
    read_model,
    read_scale,
    span,
    values,
)
from raterlens.reading.read import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, ROWS, rows, write


def test_lines_keep_their_numbers_and_lose_comments() -> None:
    text = 'Title = a ; note\n; all of it\n\n1 = "Smith; Ann" ; note\n'
    assert [(line.number, line.text) for line in lines_of(text, "x")] == [
        (1, "Title = a"),
        (4, '1 = "Smith; Ann"'),
    ]


@pytest.mark.parametrize(
    ("text", "known", "value"),
    [
        ("Non-centered = 1", "noncentered", "1"),
        ("T = Essays", "title", "Essays"),
        ("rating (or partial credit) scale = Mark,R3", "rating scale", "Mark,R3"),
        ("Inter-rater=2", "interrater", "2"),
        ("Arrange = m", "", "m"),
    ],
)
def test_names_are_known_by_their_first_letters(text: str, known: str, value: str) -> None:
    found = name_of(Line(1, text, "x"))
    assert found is not None
    assert (found[0], found[2]) == (known, value)


def test_fields_and_values() -> None:
    assert fields('7 = "Smith, Ann", 0.5') == ["7", "Smith, Ann", "0.5"]
    assert values("1, 2,\t3") == ["1", "2", "", "3"]
    assert values("1  2 3") == ["1", "2", "3"]
    assert values('1 "Smith Ann" 3') == ["1", "Smith Ann", "3"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [("3", range(3, 4)), ("1-5", range(1, 6)), ("2_4", range(2, 5)), ("3-1", range(3, 2)), ("a", None)],
)
def test_ranges(text: str, expected: range | None) -> None:
    assert span(text) == expected


def test_numbers_of_facets() -> None:
    line = Line(4, "Positive = 1,x", "study.txt")
    assert numbers(line, "1, 3 4") == [1, 3, 4]
    with pytest.raises(
        InputError, match=r"'study.txt', line 4: '1,x' should be numbers of facets; write them"
    ):
        numbers(line, "1,x")


def facet_of(text: str) -> FacetLabels:
    lines = lines_of(text, "x")
    return read_facet(next(lines), lines)[0]


def test_elements_with_labels_measures_and_ranges() -> None:
    facet = facet_of("2, Raters, A\n1 = Ann, 0.5\n3-4 = reader, -1\n7\n*\n")
    assert (facet.number, facet.name, facet.anchored, facet.dummy) == (2, "Raters", True, False)
    assert facet.labels() == {1: "Ann", 3: "reader 3", 4: "reader 4", 7: "7"}
    assert [element.measure for element in facet.elements.values()] == [0.5, -1.0, -1.0, None]


def test_two_of_the_same_name_are_told_apart_by_their_numbers() -> None:
    assert facet_of("1, Pupils\n1 = Ida\n2 = Ida\n*\n").labels() == {1: "Ida (1)", 2: "Ida (2)"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2, Raters, G\n", "line 1: facet 2 is group-anchored"),
        ("2, Raters\n1 = Ann, x\n", "line 2: the measure 'x' is not a number"),
        ("2, Raters\n1 = Ann, inf\n", "line 2: the measure 'inf' is not a finite number"),
        ("2, Raters\n1x = Ann\n", "line 2: '1x' is not an element number"),
        ("2, Raters\n1 = Ann,,,3\n", "line 2: weights and merged elements are not supported"),
    ],
)
def test_what_is_no_element(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        facet_of(text)


def test_what_a_second_line_of_an_element_leaves_out_stays(tmp_path: Path) -> None:
    labels = LABELS.replace("2, Readers", "2, Readers, A").replace("1 = Ann", "1 = Ann, 0.5\n1-2 = ,,7")
    study = rl.read_facets(write(tmp_path, HEAD + MODEL + labels + DATA))
    assert study.severities == {"Ann": 0.5}
    assert rows(study.ratings) == sorted(ROWS)


def test_labels_hold_separators_between_quotes(tmp_path: Path) -> None:
    text = HEAD + "Delements = NL\n" + MODEL + LABELS.replace("= Ann", '= "Smith, Ann; MA"   ; a comment')
    commas = read(write(tmp_path, text + DATA.replace("1,1,1-3", '1,"smith, ann; ma",1-3')))
    blanks = read(write(tmp_path, text + 'Data=\n1 "Smith, Ann; MA" 2 3\n2 Bob 2 0\n'))
    assert commas.raters.to_list() == blanks.raters.to_list() == ["Bob", "Smith, Ann; MA"]
    assert rows(commas) == sorted((s, r.replace("Ann", "Smith, Ann; MA"), i, y) for s, r, i, y in ROWS)


LINE = Line(6, "Models = ...", "study.txt")


@pytest.mark.parametrize(
    ("text", "scored", "own_thresholds", "unused", "bounds"),
    [
        ("?,?,?,R3", ("R", 3), [], [], []),
        ("?,?,#,R", ("R", 9), [2], [], []),
        ("?,X,1-3,D", ("D", 1), [], [1], [(2, range(1, 4))]),
        ("?B,2#,?B,D2", ("D", 2), [1], [], [(1, range(2, 3))]),
        ("?,?,?,M", ("M", 1), [], [], []),
    ],
)
def test_a_model(text: str, scored: tuple, own_thresholds: list, unused: list, bounds: list) -> None:
    model = read_model(LINE, text)
    assert model.scored({}) == scored
    assert (model.signed("#"), model.unused, model.bounds()) == (own_thresholds, unused, bounds)
    assert model.signed("B") == [place for place, sign in enumerate(text.split(",")) if "B" in sign]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("R3", "is not a model; give one"),
        ("?,-?,R3", "a facet is turned round"),
        ("?,?,R3,0.5", "the model has the weight 0.5"),
        ("?,?,R3,x", "the weight 'x' is not a number"),
    ],
)
def test_what_is_no_model(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_model(LINE, text)


def test_a_model_names_a_scale() -> None:
    scales = {"mark": RatingScale("Mark", "R4", LINE)}
    assert Model(("?", "?"), "Mark", LINE).scored(scales) == ("R", 4)
    with pytest.raises(
        InputError, match=r"'Grade' is not a scale; use D, R3 or the name of a Rating scale: \['mark'\]"
    ):
        Model(("?", "?"), "Grade", LINE).scored(scales)
    with pytest.raises(InputError, match="the model has 2 facets where the data have 3"):
        Model(("?", "?"), "Mark", LINE).check(scales, 3)


def test_thresholds_of_a_scale_that_are_held() -> None:
    lines = lines_of("0 = low, 0, A\n1 = mid, -1.1, A\n2 = top, 1.1\n*\nData =", "x")
    scale = read_scale(LINE, "Mark, R2, S", lines)
    assert (scale.name, scale.code, scale.own, scale.thresholds) == ("Mark", "R2", True, {0: 0.0, 1: -1.1})
    assert next(lines).text == "Data ="


def test_a_whole_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + MODEL + LABELS + DATA))
    assert rows(ratings) == sorted(ROWS)
    assert "FACETS control file 'Essays of a summer school'" in ratings.notes
    assert "rater: 'Readers' (from the file; override with rater=)" in ratings.notes
    assert any("Arrange (line 7)" in note for note in ratings.notes)


def test_data_beside_it(tmp_path: Path) -> None:
    body = DATA.partition("\n")[2]
    first, second = body.splitlines(keepends=True)[:2], body.splitlines(keepends=True)[2:]
    write(tmp_path, "".join(first), "one.txt")
    write(tmp_path, "".join(second), "two.csv")
    for where in ("Data = one.txt + two.csv\n", "Data =\n%one.txt\n%two.csv\n"):
        assert rows(read(write(tmp_path, HEAD + MODEL + LABELS + where))) == sorted(ROWS)
    write(tmp_path, "1,1,1-3,2,z\nbroken\n", "one.txt")
    with pytest.raises(
        rl.RaterlensError, match=r"'one\.txt', line 2: 1 field where 3 elements and a score are due"
    ):
        read(write(tmp_path, HEAD + MODEL + LABELS + "Data = one.txt\n"))


def test_an_ordinary_text_table_is_no_control_file(tmp_path: Path) -> None:
    path = write(tmp_path, "student\trater\tscore\n1\ta\t0\n2\tb\t1\n")
    assert read(path).n_ratings == 2
