"""Which facet is the student, the rater, the item; and which are left out."""

from pathlib import Path

import pytest

from raterlens.reading.facets.control_table import control_table
from raterlens.reading.facets.specification import parse_control
from raterlens.reading.reader import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, rows, write

FOUR = (
    "Facets=4\nPositive=1\nModels=?,?,?,?,R3\nLabels=\n1,Examinees\n1-3\n*\n2,Judges\n1-2\n*\n3,Topics\n1=home\n2=work\n*\n"
    "4,Criteria\n1=style\n2=plot\n*\nData=\n1,1,1,1-2,2,3\n2,1,2,1-2,0,1\n3,2,1,1-2,3,0\n1,2,2,2,1\n"
)


def test_a_fourth_facet_is_estimated_too(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, FOUR))
    assert [facet.name for facet in ratings.facets] == ["Topics"]
    assert ratings.items.to_list() == ["plot", "style"]
    assert ratings.raters.to_list() == ["1", "2"]
    other = read(write(tmp_path, FOUR), item="Topics")
    assert other.items.to_list() == ["home", "work"]
    assert other.facets == ()
    combined = read(write(tmp_path, FOUR), rater=["Judges", "Topics"], item="Criteria")
    assert combined.raters.to_list() == ["1:home", "1:work", "2:home", "2:work"]


def test_dummy_facets_and_those_left_out_of_models(tmp_path: Path) -> None:
    for text in (FOUR.replace("3,Topics", "3,Topics,D"), FOUR.replace("?,?,?,?,R3", "?,?,X,?,R3")):
        assert read(write(tmp_path, text)).facets == ()


def test_dichotomies_and_two_facets(tmp_path: Path) -> None:
    text = (
        "Facets=2\nModel=?,?,D\nLabels=\n1,Children\n1-3\n*\n2,Tasks shown\n1-2=task\n*\n"
        "Data=\n1,1-2,1,0\n2,1-2,0,0\n3,1-2,1,2\n"
    )
    ratings = read(write(tmp_path, text))
    assert rows(ratings) == [
        ("1", "task 1", "all", 1),
        ("1", "task 2", "all", 0),
        ("2", "task 1", "all", 0),
        ("2", "task 2", "all", 0),
        ("3", "task 1", "all", 1),
    ]


@pytest.mark.parametrize(
    ("change", "roles"),
    [
        ((), ("Pupils", "Readers", "Criteria")),
        (("Inter-rater = 2", "Inter-rater = 3"), ("Pupils", "Criteria", "Readers")),
        (("Positive = 1", "Positive = 3"), ("Pupils", "Readers", "Criteria")),
    ],
)
def test_roles_follow_from_the_file(
    change: tuple[str, str] | tuple, roles: tuple[str, ...], tmp_path: Path
) -> None:
    text = HEAD + MODEL + LABELS + DATA
    control = parse_control(write(tmp_path, text.replace(*change) if change else text))
    found = control_table(control).roles
    assert tuple(found[role] for role in ("student", "rater", "item")) == roles
