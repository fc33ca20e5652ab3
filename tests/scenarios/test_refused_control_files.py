"""Unsupported parts of a control file are named, with their line."""

from pathlib import Path

import pytest

import raterlens as rl
from raterlens.app.cli.main import main
from raterlens.reading.read import read
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, write

REFUSED = {
    "binomial": (MODEL, "Models = ?,?,?,B5\n", 8, "binomial trials (B5) are not supported"),
    "poisson": (MODEL, "Models = ?,?,?,P\n", 8, "Poisson counts (P) are not supported"),
    "model weight": (MODEL, "Models = ?,?,?,R3,0.5\n", 8, "weight 0.5"),
    "reversed": (MODEL, "Models = ?,-?,?,R3\n", 8, "turned round"),
    "no scale": (MODEL, "Models = ?,?,?,Q3\n", 8, "'Q3' is not a scale"),
    "facets of the model": (MODEL, "Models = ?,?,R3\n", 8, "2 facets where the data have 3"),
    "mixed": (MODEL, "Models=\n?,?,1,R5\n?,?,?,R3\n*\n", 10, "scores up to 3 beside those up to 5"),
    "group anchors": ("2, Readers", "2, Readers, G", 15, "group-anchored"),
    "facet code": ("2, Readers", "2, Readers, X", 15, "facet 2 has the code 'X'"),
    "far too many": ("1 = Ann", "1-9999999999 = Ann", 16, "9,999,999,999 elements"),
    "backwards": ("1,1,1-3,2", "1,1,3-1,2", 25, "'3-1' is not an element of facet 3 (Criteria)"),
    "no such rater facet": ("Inter-rater = 2", "Inter-rater = 9", 4, "facet 9 where Facets = 3"),
    "no such positive facet": ("Positive = 1", "Positive = 9", 5, "facet 9 where Facets = 3"),
    "no facets": ("Facets = 3 ", "Facets = 0 ", 3, "'0' facets"),
    "a line as an element": ("Arrange = m, 2N", "Dvalues = 1, $Line", 7, "'1, $Line' are not supported"),
    "a group as an element": ("Arrange = m, 2N", "Dvalues = 3, 1, $Group", 7, "'3, 1, $Group' are not"),
    "beyond the data": ("Arrange = m, 2N", "Dvalues = 7, 1", 7, "facet 7 where Facets = 3"),
    "included specifications": ("Arrange = m, 2N", "%include more.txt", 7, "is not a specification"),
    "a folder elsewhere": ("Data =\n", "Data = C:\\my\\study.txt\n", 24, "write Data = study.txt"),
    "element weight": ("1 = Ann", "1 = Ann,,,2", 16, "weights and merged elements"),
    "measure": ("1 = Ann", "1 = Ann, high", 16, "'high' is not a number"),
    "facet number": ("3, Criteria", "4, Criteria", 19, "facet 4 where Facets = 3"),
    "fractional weight": ("1,2,2,1", "R0.5,1,2,2,1", 28, "the weight 0.5 is not supported"),
    "null element": ("1,2,2,1", "1,0,2,1", 28, "facet 2 takes no part (element 0)"),
    "too many scores": ("1,2,2,1", "1,2,2,1,3", 28, "2 scores where the elements call for 1"),
    "two ranges": ("1,2,2,1", "1-2,1-2,2,1,3", 28, "both have a range"),
    "beyond all elements": (
        "1,1,1-3,2",
        f"1,{10**30},1-3,2",
        25,
        "'1000000000000000000000000000000' is not an element",
    ),
    "no element": ("1,2,2,1", "1,Bob,2,1", 28, "'Bob' is not an element of facet 2 (Readers)"),
    "short line": ("1,2,2,1", "1,2,2", 28, "3 fields where 3 elements and a score are due"),
    "paired": ("Arrange = m, 2N", "Entered = 1,1,2", 7, "paired comparisons"),
    "recoded": (MODEL, "Models=?,?,?,S\nRating scale=S,R3\n0=no,,,x\n*\n", 10, "scores are recoded (x)"),
    "prose": ("Arrange = m, 2N", "Here we go", 7, "'Here we go' is not a specification"),
    "no file": ("Data =\n", "Data = gone.txt\n", 24, "no file 'gone.txt'"),
    "a workbook": ("Data =\n", "Data = marks.xlsx\n", 24, "'marks.xlsx' are not supported"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_supported_is_named_with_its_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    old, new, line, what = REFUSED[case]
    whole = HEAD + MODEL + LABELS + DATA
    assert old in whole
    assert main(["check", str(write(tmp_path, whole.replace(old, new)))]) == 2
    message = capsys.readouterr().err
    assert f"'study.txt', line {line}: " in message
    assert what in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("path", ["gone.txt", "."])
def test_a_file_that_is_not_there(path: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match="cannot read"):
        rl.read_facets(tmp_path / path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEAD + LABELS + DATA, "has no Models="),
        (HEAD + MODEL + LABELS, "has no data"),
        (HEAD + MODEL + LABELS + "Data=\n9,9,9,1\n", "no rating that fits"),
        (
            (HEAD + MODEL + LABELS + DATA)
            .replace("Inter-rater = 2", "")
            .replace("Readers", "Staff")
            .replace("Criteria", "Points of view"),
            "no rater column among",
        ),
    ],
)
def test_whole_files_that_say_too_little(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        read(write(tmp_path, text))
