"""Files of arrays: what was written is read, and what is not whole is refused."""

import numpy as np
import polars as pl
import pytest

from raterlens.base.errors import InputError
from raterlens.ratings.packed_file import Scratch, forget, narrow, open_packed, writing


def written(path):
    with writing(path) as (file, about):
        file.array("numbers", np.arange(12.0).reshape(3, 4))
        file.labels("names", pl.Series(["a", "é", None]))
        file.empty("filled", np.int32, 5)[:] = np.arange(5)
        file.array("none", np.empty(0, dtype=np.int8))
        about["notes"] = ["é"]
    return path


def test_arrays_and_labels_come_back(tmp_path):
    found = open_packed(written(tmp_path / "x.rlpack"))
    np.testing.assert_array_equal(found.array("numbers"), np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(found.array("filled"), np.arange(5))
    assert found.array("none").size == 0
    assert found.labels("names").to_list() == ["a", "é", None]
    assert found.about == {"notes": ["é"]}
    assert "numbers" in found
    assert "others" not in found


def test_every_damaged_byte_of_an_array_is_noticed(tmp_path):
    path = written(tmp_path / "x.rlpack")
    whole = path.read_bytes()
    found = open_packed(path)
    for name, length in (("numbers", 96), ("names", found.array("names").nbytes), ("filled", 20)):
        first = found._arrays[name]["first"]
        for at in range(first, first + length, 7):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            with pytest.raises(
                InputError, match=f"'x.rlpack' is damaged: '{name}' has another checksum in block 1"
            ):
                open_packed(path).array(name)


def test_a_part_is_checked_without_the_rest(tmp_path):
    path, numbers = tmp_path / "x.rlpack", np.arange(200_000).reshape(-1, 2)
    with writing(path) as (file, _):
        file.array("numbers", numbers)
    found = open_packed(path)
    np.testing.assert_array_equal(found.array("numbers", 16_000, 17_000), numbers[16_000:17_000])
    whole = bytearray(path.read_bytes())
    whole[found._arrays["numbers"]["first"] + 2**18] ^= 1  # the first byte of the second block: of row 2**14
    path.write_bytes(whole)
    damaged = open_packed(path)
    np.testing.assert_array_equal(damaged.array("numbers", 0, 2**14), numbers[: 2**14])
    np.testing.assert_array_equal(damaged.array("numbers", 2**15), numbers[2**15 :])
    for start, stop in ((2**14 - 1, 2**14 + 1), (2**15 - 1, 2**15), (0, None)):
        with pytest.raises(InputError, match="in block 2"):
            damaged.array("numbers", start, stop)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda whole: b"PAR1" + whole[4:], "is not a file of packed ratings"),
        (lambda whole: whole[:30], "is cut short after 30 bytes"),
        (lambda whole: whole[:8] + b"\1" + whole[9:], "has pack version 1, this release reads 2"),
        (lambda whole: whole[:-100], "it is cut short or damaged"),
        (lambda whole: whole[:23] + b"\x7f" + whole[24:], "its header has another checksum"),
        (lambda whole: whole[:30] + b"\x7f" + whole[31:], "its header has another checksum"),
        (lambda whole: whole[:-3] + b"xyz", "its header has another checksum"),
    ],
)
def test_files_that_are_not_whole(damage, message, tmp_path):
    path = written(tmp_path / "x.rlpack")
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(InputError, match=message):
        open_packed(path)


def test_codes_are_as_narrow_as_can_be():
    assert [narrow(size) for size in (0, 1, 256, 257, 2**16 + 1)] == [
        np.dtype(kind) for kind in ("u1", "u1", "u1", "u2", "u4")
    ]


def test_scratch_keeps_numbers_on_disk(tmp_path):
    scratch = Scratch(tmp_path)
    kept = [scratch.keep(np.full(2000, value)) for value in (1, 2)]
    forget(kept[0])
    assert [int(values.sum()) for values in kept] == [2000, 4000]
    assert list(tmp_path.iterdir()) == []
