"""Files of SPSS, Stata and R: numbers that are whole, and the data frame among other objects."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import rdata

from raterlens.errors import InputError
from raterlens.reading.formats.statistical_packages import whole
from raterlens.reading.reader import read
from tests.support.reading_files import FILES

FRAME = pl.DataFrame({"student": [1, 2], "rater": [7, 8], "score": [0, 1]})


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([1.0, 2.0, None], [1, 2, None]),
        ([1.0, float("nan")], [1, None]),
        ([1.5, 2.0], [1.5, 2.0]),
        (["1.0", "x"], ["1.0", "x"]),
    ],
)
def test_whole_numbers_are_integers_again(values: list, expected: list) -> None:
    assert whole(pl.Series(values)).to_list() == expected


@pytest.mark.parametrize("kind", ["sav", "dta", "rda", "rds"])
def test_labels_are_whole_numbers(kind: str, tmp_path: Path) -> None:
    assert read(FILES[kind](FRAME, tmp_path)).raters.to_list() == [7, 8]


def test_a_data_frame_among_others(tmp_path: Path) -> None:
    frame = FRAME.to_pandas()
    rdata.write_rda(tmp_path / "x.rda", {"one": frame, "two": frame.assign(rater=[5, 6])})
    with pytest.raises(InputError, match="2 data frames: 'one', 'two'; say which, for example table='one'"):
        read(tmp_path / "x.rda")
    assert read(tmp_path / "x.rda", table="two").raters.to_list() == [5, 6]


def test_no_data_frame(tmp_path: Path) -> None:
    rdata.write_rda(tmp_path / "x.rda", {"years": pd.Series([2024.0, 2025.0]).to_numpy()})
    with pytest.raises(InputError, match=r"holds no data frame, but years \(ndarray\); save one in R"):
        read(tmp_path / "x.rda")


def test_a_stata_file_of_another_encoding_asks_for_it(tmp_path: Path) -> None:
    path = FILES["dta"](FRAME.with_columns(rater=pl.Series(["é", "ab"])), tmp_path)
    path.write_bytes(path.read_bytes().replace("é".encode(), "é\0".encode("latin1")))
    with pytest.raises(
        InputError, match=r"not UTF-8: byte 0xe9 .*; give its encoding, for example encoding='latin1'"
    ):
        read(path)
    assert read(path, encoding="latin1").raters.to_list() == ["ab", "é"]
    with pytest.raises(InputError, match="cannot be read as 'mac-roman'; give another encoding"):
        read(path, encoding="mac-roman")
