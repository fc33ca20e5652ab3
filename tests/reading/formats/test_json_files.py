"""JSON records, nested and of several types; refusals name the line."""

import json
from pathlib import Path

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.read import read


def test_records_within_records(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"sample": {"id": 1}, "judge": {"name": "m", "version": 2}, "verdict": true}\n\n'
        '{"sample": {"id": 2}, "judge": {"name": "n"}, "verdict": false}\n'
    )
    ratings = read(tmp_path / "x.jsonl", student="sample.id", rater="judge.name", score="verdict")
    assert ratings.raters.to_list() == ["m", "n"]
    assert ratings.score.tolist() == [1, 0]


def test_json_values_of_several_types(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"student": 1, "rater": "a", "score": "1"}, {"student": "x", "rater": "b", "score": 0}]'
    )
    assert read(tmp_path / "x.json").students.to_list() == ["1", "x"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is an empty file"),
        (b"[]", "has no records"),
        (b"[1, 2]", "element 1 of the list is '1'"),
        (b'[{"student": 1}, {"stu', "is not JSON from line 1 on"),
        (b'{"student": 1}\n[2]\n', r"line 2, is '\[2\]'"),
        (b'{"student": 1}\n{"stu\n', "line 2, is not JSON"),
        ('{"student": 1, "rater": "Zo\x81\xeb"}\n{'.encode("latin1"), "is not utf-8: byte 0x81"),
    ],
)
def test_what_is_no_record_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.json")


def test_another_encoding(tmp_path: Path) -> None:
    rows = [{"student": n, "rater": "Zoë", "score": n} for n in (0, 1)]
    (tmp_path / "x.json").write_bytes(json.dumps(rows, ensure_ascii=False).encode("utf-16"))
    assert read(tmp_path / "x.json", encoding="utf-16").raters.to_list() == ["Zoë"]


@pytest.mark.parametrize(("name", "where"), [("x.json", ""), ("x.jsonl", ", line 2,")])
def test_nested_without_end(name: str, where: str, tmp_path: Path) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    (tmp_path / name).write_text(deep if name == "x.json" else f'{{"student": 1}}\n{{"student": {deep}}}\n')
    with pytest.raises(InputError, match=f"{where} has lists or records nested too deeply"):
        read(tmp_path / name)
