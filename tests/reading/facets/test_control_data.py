"""The data of FACETS control files."""

from pathlib import Path

import pytest

from raterlens.reading.facets_control import parse_control
from raterlens.reading.facets_study import control_table
from raterlens.reading.read import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, ROWS, rows, write

# The same ratings, written in other ways.
FORMS = {
    "models as a list": HEAD + "Models =\n?,?,?,R3 ; any\n*\n" + LABELS + DATA,
    "models after labels": HEAD + LABELS + MODEL + DATA,
    "model and star": HEAD + MODEL + "*\n" + LABELS + DATA,
    "bias terms": HEAD + "Models = ?B,?B,?,R3\n" + LABELS + DATA,
    "plain R": HEAD + "Models = ?,?,?,R\n" + LABELS + DATA,
    "kept categories": HEAD + "Models = ?,?,?,R3K\n" + LABELS + DATA,
    "short names": HEAD.replace("Title", "T").replace("Facets", "FACETS")
    + "m = ?,?,?,R3\n"
    + LABELS
    + DATA.replace("Data", "D"),
    "a named scale": HEAD
    + "Models = ?,?,?,Mark\nRating (or partial credit) scale = Mark,R3,G,O\n0=weak\n1=fair\n2=good\n3=fine\n*\n"
    + LABELS
    + DATA,
    "blanks": HEAD + MODEL + LABELS + DATA.replace("Data =", "Data=").replace(",", "  "),
    "tabs": HEAD + MODEL + LABELS + DATA.replace(",", "\t"),
    "underscore": HEAD + MODEL + LABELS + DATA.replace("1-3", "1_3"),
    "one rating a line": HEAD
    + MODEL
    + LABELS
    + "Data=\n"
    + "".join(
        f"{['Ida', 'Jo', 'Kai'].index(s) + 1},{['Ann', 'Bob'].index(r) + 1},"
        f"{['style', 'plot', 'grammar'].index(i) + 1},{y}\n"
        for s, r, i, y in ROWS
    ),
    "another order": HEAD
    + "Entered in data = 3,1,2\n"
    + MODEL
    + LABELS
    + "Data=\n1-3,1,1,2,3,1\n1-3,2,1,0,1,2\n1-3,3,2,3,3,0\n2,1,2,1\n",
    "labels in the data": HEAD
    + MODEL
    + LABELS
    + "Delements = LN\nData=\nIda,Ann,1-3,2,3,1\njo,Ann,1-3,0,1,2\n3,Bob,1-3,3,3,0\nIda,Bob,plot,1\n",
    "missing codes": HEAD + "Missing = 8, x\n" + MODEL + LABELS + DATA + "2,2,1-3,8,x,.\n3,1,1-3,,,\n",
    "beyond the scale": HEAD + MODEL + LABELS + DATA + "2,2,1-3,9,4,n\n",
    "fewer scores than the range": HEAD + MODEL + LABELS + DATA.replace("1,2,2,1", "1,2,2-3,1"),
    "unknown elements": HEAD + MODEL + LABELS + DATA + "7,1,1,2\n",
    "comments": HEAD + MODEL + LABELS + DATA.replace("\n1,2,2,1", " ; note\n; 3,3,3,3\n\n1,2,2,1;end"),
    "another model's ratings": HEAD
    + "Models=\n?,?,1-3,R3\n*\n"
    + LABELS.replace("3 = grammar", "3 = grammar\n4 = effort")
    + DATA
    + "2,2,4,2\n",
    "model M": HEAD + "Models=\n3,1,?,M\n?,?,?,R3\n*\n" + LABELS + DATA + "3,1,1-3,0,0,0\n",
    "several models of one kind": HEAD + "Models=\n?,?,1,R3\n?,?,?,R3\n*\n" + LABELS + DATA,
    "starting values": HEAD
    + MODEL
    + LABELS.replace("1 = Ann", "1 = Ann, 0.5, 2").replace("2 = Bob", "2 = Bob, -.5")
    + DATA,
    "numbered twice": HEAD + MODEL + LABELS.replace("1 = Ann", "1-2 =\n1 = Ann") + DATA,
    "a weight of one": HEAD + "Models = ?,?,?,R3,1\n" + LABELS + DATA,
    "a longer scale": HEAD + "Models = ?,?,?,R5\n" + LABELS + DATA,
    "labels with tabs": HEAD + MODEL + LABELS.replace(" = ", "\t").replace(", ", "\t") + DATA,
    "labels with commas": HEAD + MODEL + LABELS.replace(" = ", ",") + DATA,
    "quotes": HEAD + MODEL + LABELS.replace("= Ann", '= "Ann"') + DATA.replace("1,1,1-3", '"1","1",1-3'),
    "places of the data": HEAD
    + "Entered = 3,1,2\nDvalues = 1, 1-3\n"
    + MODEL
    + LABELS
    + "Data=\n1,1,2,3,1\n2,1,0,1,2\n3,2,3,3,0\n1,2,,1,\n",
    "windows lines": (HEAD + MODEL + LABELS + DATA).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_the_same_ratings(form: str, tmp_path: Path) -> None:
    assert rows(read(write(tmp_path, FORMS[form]))) == sorted(ROWS)


def test_repeated_and_the_same_on_every_line(tmp_path: Path) -> None:
    text = HEAD + "Dvalues = 3, 1-3\n" + MODEL + LABELS + "Data=\n1,1,2,3,1\nR2,2,1,0,1,2\n3,2,3,3,0\n"
    jo = [row for row in ROWS if row[0] == "Jo"]
    assert rows(read(write(tmp_path, text))) == sorted([*ROWS[:-1], *jo])


def test_a_cut_of_the_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + "Models = ?,?,?,D2\n" + LABELS + DATA))
    assert rows(ratings) == sorted((s, r, i, int(y >= 2)) for s, r, i, y in ROWS)


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
