"""The same ratings in every kind of file give identical estimates; what only some kinds have is kept."""

from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.config import ReadConfig
from raterlens.reading.formats.file_formats import FORMATS, SUFFIXES, is_control_file, located
from raterlens.reading.reader import read
from tests.support.reading_files import FILES


@pytest.fixture(scope="module")
def essays(small: rl.Ratings) -> pl.DataFrame:
    return small.table().with_columns(pl.col("score").cast(pl.Int64))


@pytest.fixture(scope="module")
def fitted(essays: pl.DataFrame) -> rl.Fit:
    return rl.fit(read(essays), standard_errors=False)


@pytest.mark.parametrize("kind", FILES)
def test_the_same_ratings_give_identical_estimates(
    kind: str, essays: pl.DataFrame, fitted: rl.Fit, tmp_path: Path
) -> None:
    fit = rl.fit(read(FILES[kind](essays, tmp_path)), standard_errors=False)
    assert fit.loglik == fitted.loglik
    assert fit.raters["kappa"].to_list() == fitted.raters["kappa"].to_list()
    assert fit.raters["rater"].cast(pl.String).to_list() == fitted.raters["rater"].cast(pl.String).to_list()


def test_a_format_that_the_extension_does_not_say(essays: pl.DataFrame, tmp_path: Path) -> None:
    path = FILES["jsonl"](essays, tmp_path).rename(tmp_path / "verdicts.log")
    assert read(path, format="jsonl").n_ratings == len(essays)


def test_every_suffix_has_a_format_and_none_two_of_the_same_mark():
    for suffix in SUFFIXES:
        own = [known for known in FORMATS if suffix in known.suffixes]
        assert len({known.marks for known in own}) == len(own)


@pytest.mark.parametrize("suffix", ["docx", "parquet2"])
def test_an_unknown_format_is_named(suffix: str, essays: pl.DataFrame) -> None:
    with pytest.raises(rl.RaterlensError, match=f"unknown format '{suffix}'") as refused:
        read(essays, format=suffix)
    assert refused.value.option == "format"


def test_a_table_within_a_file() -> None:
    config = ReadConfig()
    with pytest.raises(rl.RaterlensError, match=r"no such file: 'nowhere\.db'"):
        located("nowhere.db::essays", config)


def test_a_control_file_is_told_by_what_is_in_it(tmp_path: Path) -> None:
    for name, text, expected in (
        ("a.txt", "Facets = 3\nModels = ?,?,?,R3\n", True),
        ("b.txt", "student,rater,score\n", False),
        ("c.facets", "", True),
        ("d.csv", "Facets = 3\nModels = ?,?,?,R3\n", False),
    ):
        (tmp_path / name).write_text(text)
        assert is_control_file(tmp_path / name, ReadConfig()) is expected


@pytest.mark.parametrize("name", ["a" * 300, "a\0b"])
def test_a_name_that_no_file_can_have(name: str) -> None:
    with pytest.raises(InputError, match=r"no such file: .*; (give|check) the "):
        rl.read(name)
