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


def test_lists_of_bare_scores_are_of_raters_by_their_place(tmp_path: Path) -> None:
    answers = [{"question": f"q{n}", "answer": f"a{n}", "human_scores": [3, n % 2, 5]} for n in range(6)]
    (tmp_path / "x.json").write_text(json.dumps(answers))
    ratings = read(tmp_path / "x.json")
    assert ratings.raters.to_list() == [1, 2, 3]
    assert ratings.score.tolist() == [score for answer in answers for score in answer["human_scores"]]
    assert any("lists of scores under 'human_scores'" in str(note) for note in ratings.notes)
    nested = [{"qid": n, "answers": [{"model": m, "human_scores": [n, 1]} for m in "AB"]} for n in range(5)]
    (tmp_path / "y.json").write_text(json.dumps(nested))
    ratings = read(tmp_path / "y.json", student=["qid", "model"])
    assert (ratings.n_students, ratings.n_raters, ratings.n_ratings) == (10, 2, 20)


@pytest.mark.parametrize("more", [{}, {"rater": "AM"}])
def test_lists_of_scores_that_nobody_can_be_told_to_have_given(more: dict[str, str], tmp_path: Path) -> None:
    rows = [{"id": n, **more, "scores": [3, 4, 5][: 3 - (n % 2 and not more)]} for n in range(6)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"lists of scores under 'scores' .*nothing says who"):
        read(tmp_path / "x.jsonl")
