"""What is written is read again as the same ratings."""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import OptionError
from raterlens.reading.facets.control_writer import write_facets
from raterlens.reading.reader import read


def test_labels_that_hold_separators_stay_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": ["a,1", "a;1", "b"], "rater": ['Ann "A"', "Bob=", "Bob="], "score": [0, 1, 1]}
    )
    write_facets(read(frame), tmp_path / "study.txt")
    again = read(tmp_path / "study.txt")
    assert again.students.to_list() == ["a 1 (1)", "a 1 (2)", "b"]
    assert again.score.tolist() == [0, 1, 1]


@pytest.mark.parametrize(("scale", "sign"), [("rating scale", "?,?,?"), ("partial credit", "?,?,#")])
def test_the_file_in_full(scale: str, sign: str, tmp_path: Path) -> None:
    frame = pl.DataFrame({"student": ["s", "t"], "rater": ["a", "a"], "item": ["i", "i"], "score": [2, 0]})
    write_facets(read(frame), tmp_path / "x.txt", title="Two; marks", scale=scale)
    assert (tmp_path / "x.txt").read_text().splitlines() == [
        "Title = Two  marks",
        "Facets = 3",
        "Positive = 1",
        "Non-centered = 1",
        "Inter-rater = 2",
        f"Models = {sign},R2",
        *(
            "Labels =",
            "1, Students",
            "1 = s",
            "2 = t",
            "*",
            "2, Raters",
            "1 = a",
            "*",
            "3, Items",
            "1 = i",
            "*",
        ),
        *("Data =", "1,1,1,2", "2,1,1,0"),
    ]


def test_a_folder_is_no_file(panel: rl.Ratings, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot write .*: Is a directory; give a file you may write to"):
        write_facets(panel, tmp_path)
