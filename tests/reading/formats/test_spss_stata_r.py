"""Files of SPSS, Stata and R: numbers that are whole, and the data frame among other objects."""

from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import rdata
from pyreadstat import write_sav

from raterlens.base.errors import InputError
from raterlens.reading.formats.table import whole
from raterlens.reading.read import read
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


@pytest.mark.parametrize("place", ["value", "value label", "column"])
def test_an_spss_file_that_is_not_utf8_loses_no_letter(place: str, tmp_path: Path) -> None:
    """It says that it is UTF-8; at the end of a text, SPSS's readers take such a byte for the first of several."""
    frame = pd.DataFrame(
        {
            "student": [1.0, 2, 3, 4],
            "rater": ["Ina", "Zoe", "Ina", "Zoe"],
            "Trait": [1.0, 1, 2, 2],
            "score": [0.0, 1, 1, 0],
        }
    )
    labels = {"Trait": {1: "idea", 2: "purity"}}
    write_sav(frame, tmp_path / "x.sav", variable_value_labels=labels)
    plain, other = {
        "value": ("Zoe", "Zo\xe9"),
        "value label": ("purity", "puret\xe9"),
        "column": ("Trait", "Trai\xe9"),
    }[place]
    content = (tmp_path / "x.sav").read_bytes()
    assert plain.encode() in content
    (tmp_path / "x.sav").write_bytes(content.replace(plain.encode(), other.encode("latin1")))
    with pytest.raises(InputError, match=r"encoding, for example encoding='latin1'"):
        read(tmp_path / "x.sav", item=["Trait"] if place == "value label" else None)
    known = read(tmp_path / "x.sav", encoding="latin1", item=other if place == "column" else "Trait")
    seen = [*known.raters, *known.items]
    assert (other in seen) == (place != "column")


def test_a_stata_file_in_which_a_column_lost_its_name(tmp_path: Path) -> None:
    path = FILES["dta"](FRAME.with_columns(pl.lit(1).alias("zz_extra")), tmp_path)
    path.write_bytes(path.read_bytes().replace(b"zz_extra", bytes(8)))
    with pytest.raises(InputError, match=r"'ratings.dta' is damaged or cut short \(a column has no name"):
        read(path)


def test_an_spss_file_in_utf8_keeps_every_letter(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"élève": ["ß", "ç", "ß", "ç"], "rater": ["Zoé", "日本", "日本", "Zoé"], "score": [0.0, 1, 1, 0]}
    )
    write_sav(frame, tmp_path / "x.sav", variable_value_labels={"score": {0: "échec", 1: "réussi"}})
    found = read(tmp_path / "x.sav", student="élève")
    assert sorted(found.students) == ["ß", "ç"]
    assert sorted(found.raters) == ["Zoé", "日本"]


@pytest.mark.parametrize("compressed", [False, True])
def test_an_spss_file_that_claims_more_rows_than_it_has_bytes_makes_no_room_for_them(
    tmp_path: Path, compressed: bool
) -> None:
    write_sav(FRAME.to_pandas(), path := tmp_path / "ratings.sav", compress=compressed)
    assert read(path).n_ratings == FRAME.height  # however well it is compressed
    content = bytearray(path.read_bytes())
    content[83] |= 0x20  # the highest byte of the number of rows
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"said to hold 536,870,9\d\d rows, in [0-9,]+ bytes"):
        read(path)


def test_a_stata_file_that_claims_more_rows_than_it_has_bytes_makes_no_room_for_them(tmp_path: Path) -> None:
    path = FILES["dta"](FRAME, tmp_path)
    content = path.read_bytes()
    count = content.index(b"<N>") + len(b"<N>")
    path.write_bytes(content[: count + 3] + b"\x40" + content[count + 4 :])
    with pytest.raises(InputError, match=r"said to hold 1,073,741,8\d\d rows, in [0-9,]+ bytes"):
        read(path)
