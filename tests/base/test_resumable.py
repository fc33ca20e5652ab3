"""Work in parts: the same rows however often it was interrupted, and never parts of other work."""

import polars as pl
import pytest

from raterlens.base.errors import OptionError
from raterlens.base.resumable import Parts, Workers, replace_text, work_through


def squares(base: int, number: int) -> pl.DataFrame:
    return pl.DataFrame({"number": [number], "square": [(base + number) ** 2]})


def test_finished_parts_are_not_done_again(tmp_path):
    parts = Parts(tmp_path / "parts", tmp_path / "work.json")
    parts.open({"base": 3})
    parts.keep(1, squares(3, 1))
    seen: list[tuple[int, int]] = []
    missing = [number for number in range(3) if not parts.part(number).exists()]
    work_through(squares, 3, 3, missing, parts.keep, Workers(1), lambda *done: seen.append(done))
    assert seen == [(1, 3), (2, 3), (3, 3)]
    rows = pl.concat([pl.read_parquet(parts.part(number)) for number in range(3)])
    assert rows["square"].to_list() == [9, 16, 25]


def test_an_error_leaves_what_was_finished(tmp_path):
    parts = Parts(tmp_path / "parts", tmp_path / "work.json")
    parts.open({})

    def keep(number: int, rows: pl.DataFrame) -> None:
        if number == 1:
            raise KeyboardInterrupt
        parts.keep(number, rows)

    with pytest.raises(KeyboardInterrupt):
        work_through(squares, 0, 3, [0, 1, 2], keep, Workers(1))
    assert [path.name for path in sorted(parts.folder.iterdir())] == ["000000.parquet"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [({"seed": 2}, "was begun with seed 1, not 2"), ({"seed": 1, "data": "b" * 64}, "another data")],
)
def test_parts_of_other_work_are_refused(tmp_path, wanted, message):
    parts = Parts(tmp_path, tmp_path / "work.json")
    parts.open({"seed": 1, "data": "a" * 64})
    with pytest.raises(OptionError, match=message) as caught:
        parts.open(wanted)
    assert caught.value.remedy.startswith("give another folder")


def test_a_text_is_written_whole(tmp_path):
    replace_text(tmp_path / "page.md", "one\n")
    replace_text(tmp_path / "page.md", "two\n")
    assert (tmp_path / "page.md").read_text() == "two\n"
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]
