"""Control files in every form that the manual describes, written anew: the ratings of the long table."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.reading.reader import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, ROWS, rows, write


def test_a_whole_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + MODEL + LABELS + DATA))
    assert rows(ratings) == sorted(ROWS)
    assert "FACETS control file 'Essays of a summer school'" in ratings.notes
    assert "rater: 'Readers' (told by the file; choose another with rater=)" in ratings.notes
    assert any("Arrange (line 7)" in note for note in ratings.notes)


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


def test_labels_hold_separators_between_quotes(tmp_path: Path) -> None:
    text = HEAD + "Delements = NL\n" + MODEL + LABELS.replace("= Ann", '= "Smith, Ann; MA"   ; a comment')
    commas = read(write(tmp_path, text + DATA.replace("1,1,1-3", '1,"smith, ann; ma",1-3')))
    blanks = read(write(tmp_path, text + 'Data=\n1 "Smith, Ann; MA" 2 3\n2 Bob 2 0\n'))
    assert commas.raters.to_list() == blanks.raters.to_list() == ["Bob", "Smith, Ann; MA"]
    assert rows(commas) == sorted((s, r.replace("Ann", "Smith, Ann; MA"), i, y) for s, r, i, y in ROWS)


def test_what_a_second_line_of_an_element_leaves_out_stays(tmp_path: Path) -> None:
    labels = LABELS.replace("2, Readers", "2, Readers, A").replace("1 = Ann", "1 = Ann, 0.5\n1-2 = ,,7")
    study = rl.read_facets(write(tmp_path, HEAD + MODEL + labels + DATA))
    assert study.severities == {"Ann": 0.5}
    assert rows(study.ratings) == sorted(ROWS)


def test_repeated_and_the_same_on_every_line(tmp_path: Path) -> None:
    text = HEAD + "Dvalues = 3, 1-3\n" + MODEL + LABELS + "Data=\n1,1,2,3,1\nR2,2,1,0,1,2\n3,2,3,3,0\n"
    jo = [row for row in ROWS if row[0] == "Jo"]
    assert rows(read(write(tmp_path, text))) == sorted([*ROWS[:-1], *jo])


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


def test_a_cut_of_the_file(tmp_path: Path) -> None:
    ratings = read(write(tmp_path, HEAD + "Models = ?,?,?,D2\n" + LABELS + DATA))
    assert rows(ratings) == sorted((s, r, i, int(y >= 2)) for s, r, i, y in ROWS)


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


def test_an_ordinary_text_table_is_no_control_file(tmp_path: Path) -> None:
    path = write(tmp_path, "student\trater\tscore\n1\ta\t0\n2\tb\t1\n")
    assert read(path).n_ratings == 2
