"""Facets and their elements."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.reading.facets.label_lines import FacetLabels, read_facet
from raterlens.reading.facets.syntax import lines_of
from raterlens.reading.reader import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, ROWS, rows, write


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
        ("2, Raters\n1x = Ann\n", "line 2: '1x' is no element number"),
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
