"""Small files that unfold, views that never end and files that change are refused, soon and in little memory."""

import bz2
import gzip
import lzma
import os
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import raterlens as rl
from raterlens.base.errors import InputError
from raterlens.reading.formats import delimited, parquet
from raterlens.reading.formats.table import read_whole

TABLE = pl.DataFrame({"student": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [0, 1, 1, 1]})
SPACES = b" " * (1 << 20)


def unfolding(path: Path, part: str, before: bytes, times: int) -> None:
    """A workbook with so many MB of spaces in one of its parts."""
    whole = path.with_name("whole.xlsx")
    TABLE.write_excel(whole)
    with zipfile.ZipFile(whole) as book, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for name in book.namelist():
            content = book.read(name)
            with made.open(name, "w") as file:
                place = content.index(before) if name == part else 0
                file.write(content[:place])
                for _ in range(times if name == part else 0):
                    file.write(SPACES)
                file.write(content[place:])


@pytest.mark.parametrize(
    ("part", "before"), [("xl/worksheets/sheet1.xml", b"</sheetData>"), ("xl/sharedStrings.xml", b"</t>")]
)
def test_a_workbook_is_refused_by_its_directory(part: str, before: bytes, tmp_path: Path) -> None:
    unfolding(path := tmp_path / "x.xlsx", part, before, 100)
    with pytest.raises(InputError, match=r"'x\.xlsx' has 0\.1 MB, but unfolds to 105 MB or more"):
        rl.read(path)
    unfolding(path, part, before, 1)
    assert rl.read(path).n_ratings == 4


@pytest.mark.parametrize(
    ("suffix", "opened"), [("gz", gzip.open), ("bz2", bz2.open), ("xz", lzma.open)], ids=["gz", "bz2", "xz"]
)
def test_unpacking_stops(suffix: str, opened: Callable[..., Any], tmp_path: Path) -> None:
    with opened(path := tmp_path / f"x.csv.{suffix}", "wb") as file:
        file.write(TABLE.write_csv().encode())
        for _ in range(100):
            file.write(SPACES)
    with pytest.raises(InputError, match="unfolds to 71 MB or more"):
        rl.read(path)


def test_a_file_of_r_that_unfolds(tmp_path: Path) -> None:
    with gzip.open(path := tmp_path / "x.rds", "wb") as file:
        for _ in range(80):
            file.write(SPACES)
    with pytest.raises(InputError, match="unfolds to 71 MB or more"):
        rl.read(path)


def test_parquet_rows_that_take_no_room(tmp_path: Path) -> None:
    rows = 80_000_000
    one = pa.DictionaryArray.from_arrays(pa.array([0] * 1000, pa.int8()), pa.array(["a"]))
    table = pa.table({name: pa.chunked_array([one] * (rows // 1000)) for name in ("student", "rater")})
    pq.write_table(table, path := tmp_path / "x.parquet", row_group_size=rows)
    with pytest.raises(InputError, match="unfolds to 80 MB or more"):
        rl.read(path, score="student")


@pytest.mark.parametrize(
    "counted", ["n", "count(*) over (order by n rows between unbounded preceding and unbounded following)"]
)
def test_a_view_that_never_ends(counted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raterlens.reading.formats.other_programs.VIEW_SECONDS", 0.3)
    monkeypatch.setattr("raterlens.reading.formats.other_programs.VIEW_ROWS", 50_000)
    with sqlite3.connect(path := tmp_path / "x.db") as connection:
        endless = "with recursive e(n) as (select 1 union all select n + 1 from e)"
        connection.execute(
            f"create view ratings as {endless} select n as student, n % 3 as rater, {counted} as score from e"
        )
    connection.close()
    with pytest.raises(InputError, match=r"a view of 'x\.db' does not end"):
        rl.read(path)


def test_a_file_that_changes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.csv"
    TABLE.write_csv(path)
    whole = Path.read_bytes

    def shrunk(self: Path) -> bytes:
        content = whole(self)
        self.write_bytes(content[:20])
        return content

    monkeypatch.setattr(Path, "read_bytes", shrunk)
    with pytest.raises(InputError, match=r"'x\.csv' changed while it was read"):
        read_whole(path)


@pytest.mark.parametrize(
    ("kind", "place", "reader"),
    [
        ("csv", delimited, "well_quoted"),
        ("csv", pl, "read_csv"),
        ("parquet", parquet, "check_pages"),
        ("parquet", pl.LazyFrame, "collect"),
    ],
)
def test_a_large_file_that_is_cut_short_while_it_is_read(
    kind: str, place: Any, reader: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Read in pieces, never mapped: the system would end the process."""
    n = 200_000
    table = pl.DataFrame(
        {"student": range(n), "rater": ["a", "b"] * (n // 2), "score": [0, 1, 1, 0] * (n // 4)}
    )
    path = tmp_path / f"x.{kind}"
    if kind == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path, compression="uncompressed", row_group_size=50_000)
    monkeypatch.setattr("raterlens.reading.formats.encodings.READ_AT_ONCE", 0)
    monkeypatch.setattr("raterlens.reading.formats.parquet.READ_AT_ONCE", 0)
    through = getattr(place, reader)

    def cut_short_first(*given: Any, **options: Any) -> Any:
        os.truncate(path, path.stat().st_size // 2)
        return through(*given, **options)

    monkeypatch.setattr(place, reader, cut_short_first)
    with pytest.raises(InputError, match=r"changed while it was read|damaged or cut short"):
        rl.read(path)


def test_a_long_last_line_without_an_end(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text(
        "student,rater,score\ns1,a,1\ns2,a,0\ns1,b,1\n" + "s" * 200_000 + ",b,1", encoding="utf-8"
    )
    assert rl.read(path).n_ratings == 4


def test_labels_that_look_alike_are_one() -> None:
    names = ["Zo\u00eb", "Zoe\u0308", "Ann", "Ann\u200b", "\u202aBob\u202c", "Bob"]
    table = pl.DataFrame(
        {"student": [n // 6 for n in range(24)], "rater": names * 4, "score": [n % 2 for n in range(24)]}
    )
    ratings = rl.read(table, duplicates="keep")
    assert ratings.n_raters == 3
    assert any("look like the same rater" in note for note in ratings.notes)
    assert rl.read(table, duplicates="keep", as_written=True).n_raters == 6


def test_a_rater_called_like_a_formula_is_no_total() -> None:
    table = TABLE.with_columns(rater=pl.col("rater").replace("a", "@SUM(1)"))
    assert rl.read(table).raters.to_list() == ["@SUM(1)", "b"]


@pytest.mark.parametrize(
    ("text", "half"),
    [
        (r"a\ud800", r"\ud800"),
        (r"a\udc00b", r"\udc00"),
        (r"a\\\ud83d", r"\ud83d"),
        (r"\ud83d\ude00", None),
        (r"\\ud800", None),
    ],
)
@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_half_a_character_is_refused_by_line(name: str, text: str, half: str | None, tmp_path: Path) -> None:
    records = [
        f'{{"student": {n // 2}, "rater": "{"b" if n % 2 else text}", "score": {n % 2}}}' for n in range(8)
    ]
    content = "\n".join(records) if name.endswith("l") else "[" + ",\n".join(records) + "]"
    (tmp_path / name).write_text(content, encoding="utf-8")
    if half is None:
        assert rl.read(tmp_path / name).n_raters == 2
        return
    with pytest.raises(InputError, match=r"line 1, has .*, half of a character") as caught:
        rl.read(tmp_path / name)
    assert caught.value.value == half


def test_an_infinite_label_is_refused_by_place() -> None:
    table = TABLE.with_columns(student=pl.Series([1.5, 1.5, float("inf"), 2.5]))
    with pytest.raises(InputError, match="the student label at row 3 is inf"):
        rl.read(table)


def test_numbers_beyond_64_bits_are_labels(tmp_path: Path) -> None:
    rows = [f'{{"student": {10**30 + n // 2}, "rater": "{"ab"[n % 2]}", "score": {n % 2}}}' for n in range(8)]
    (tmp_path / "x.jsonl").write_text("\n".join(rows), encoding="utf-8")
    assert rl.read(tmp_path / "x.jsonl").n_students == 4


def test_labels_with_separators_survive_a_control_file(tmp_path: Path) -> None:
    table = TABLE.with_columns(rater=pl.col("rater").replace("a", "a;=b, c"))
    rl.write_facets(rl.read(table), tmp_path / "x.facets")
    assert rl.read(tmp_path / "x.facets").raters.to_list() == ["a;=b, c", "b"]


@pytest.mark.parametrize("ending", ['",1\n', ""], ids=["closed", "never closed"])
def test_a_cell_longer_than_any_text_is_refused(tmp_path, monkeypatch, ending):
    monkeypatch.setattr(delimited, "LONGEST", 1000)
    path = tmp_path / "x.csv"
    path.write_text(f'student,rater,score\n1,a,0\n1,"{"x" * 2000}{ending}')
    with pytest.raises(
        InputError, match="from line 3 on: a field has more than 1,000 characters, or a quote"
    ):
        rl.read(path)
