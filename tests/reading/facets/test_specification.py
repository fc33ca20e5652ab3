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
