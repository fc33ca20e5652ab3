"""Bad input: each refusal says what is wrong, the value seen and what to do, in one line."""

import datetime as dt
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read

GOOD = "student,rater,score\n1,a,0\n2,b,1\n"


def refusal(source: object, **arguments: object) -> str:
    """Read what must be refused; return the message."""
    with pytest.raises(RaterlensError) as caught:
        read(source, **arguments)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    return message


def scores(*values: object, **more: object) -> pl.DataFrame:
    n = len(values)
    return pl.DataFrame(
        {"student": range(n), "rater": ["a", "b"] * (n // 2) + ["a"] * (n % 2), "score": values, **more}
    )


# A file's bytes, and the parts its refusal must have: what, the value seen, what to do.
FILES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
    "empty": ("x.csv", b"", ("'x.csv'", "empty file", "header line")),
    "only blanks": ("x.csv", b" \n\n", ("empty file", "header line")),
    "only a BOM": ("x.csv", b"\xef\xbb\xbf", ("empty file",)),
    "header only": (
        "x.csv",
        b"student,rater,score\n",
        ("'student', 'rater', 'score'", "no rows", "add the ratings"),
    ),
    "header and blank lines": ("x.csv", b"student,rater,score\n\n\n", ("no rows",)),
    "png": (
        "x.csv",
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        ("not a text table", "byte 8 is NUL", "save the table as csv"),
    ),
    "NUL bytes": ("x.csv", b"\0" * 100, ("not a text table", "byte 0 is NUL")),
    "prose": (
        "x.csv",
        b"Dear all\nhere are the marks.\n",
        ("not a table", "'Dear all'", "must name the columns"),
    ),
    "prose with commas": (
        "x.txt",
        b"Dear all, here they are\nBest, Ann\n",
        ("no student column recognised", "'Dear all', 'here they are'", "student="),
    ),
    "html": ("x.csv", b"<!DOCTYPE html>\n<html></html>\n", ("not a table", "'<!DOCTYPE html>'")),
    "long row": (
        "x.csv",
        b"student,rater,score\n1,a,0\n2,b,1,9\n",
        ("line 3", "4 fields where the header has 3", "quotes around"),
    ),
    "short row": (
        "x.csv",
        b"student,rater,score\n1,a,0\n\n2,b\n3,c,1\n",
        ("line 4", "2 fields where the header has 3", "fill or remove"),
    ),
    "very short row": (
        "x.csv",
        b"student,rater,score\n1,a,0\n2\n",
        ("line 3", "1 field where the header has 3"),
    ),
    "short row after a broken field": (
        "x.csv",
        b'student,rater,score\n1,"a\nb",0\n2,b\n',
        ("line 4", "2 fields where the header has 3"),
    ),
    "short row, last column unused": (
        "x.csv",
        b"student,rater,score,remark\n1,a,0,x\n2,b,1\n",
        ("line 3", "3 fields where the header has 4"),
    ),
    "zero-filled end": ("x.csv", GOOD.encode() * 5000 + b"\0" * 100, ("line 15,001", "1 field where")),
    "open quote": (
        "x.csv",
        b'student,rater,score\n1,a,0\n2,"b,1\n3,c,0\n',
        ("from line 3 on", "quote", "not closed"),
    ),
    "open quote in the header": ("x.csv", b'student,"rater,score\n1,a,0\n', ("from line 1 on", "not closed")),
    "wrong encoding": (
        "x.csv",
        "student,rater,score\n1,a,0\n2,Zo\x81,1\n".encode("latin1"),
        ("not utf-8", "byte 0x81 at position 30", "line 3", "save the file as UTF-8", "encoding='cp1252'"),
    ),
    "wrong encoding far down": (
        "x.csv",
        GOOD.encode() + b"3,c,1\n" * 20_000 + "4,Zo\x81,1\n".encode("latin1"),
        ("not utf-8", "byte 0x81 at position 120,036", "line 20,004"),
    ),
    "wrong encoding in an unused column": (
        "x.csv",
        b"student,rater,score,remark\n1,a,0,x\n2,b,1,\x81t\xe9\n",
        ("byte 0x81", "line 3"),
    ),
    "doubled column": (
        "x.csv",
        b"student,rater,score,rater\n1,a,0,b\n",
        ("more than one column named 'rater'", "own"),
    ),
    "doubled but for blanks": ("x.csv", b"student,rater,score, rater\n1,a,0,b\n", ("named 'rater'",)),
    "csv called parquet": (
        "x.parquet",
        GOOD.encode(),
        ("not a parquet file", "begins with b'stud'", "rename it to .csv"),
    ),
    "empty parquet": ("x.parquet", b"", ("empty file", "write the table again")),
    "parquet with nonsense inside": (
        "x.parquet",
        b"PAR1" + b"\x07" * 50 + b"PAR1",
        ("is damaged or cut short", "copy it again"),
    ),
    "unknown extension": ("x.docx", b"PK", ("'.docx'", ".csv, .tsv, .txt, .parquet", "save the table")),
    "no extension": ("ratings", GOOD.encode(), ("unknown extension ''", ".csv")),
}


@pytest.mark.parametrize("case", FILES)
def test_files(case: str, tmp_path: Path) -> None:
    name, content, parts = FILES[case]
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name)
    assert all(part in message for part in parts), message


def test_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "essays.csv").write_text(GOOD)
    message = refusal(tmp_path / "esays.csv")
    assert "no such file" in message
    assert "esays.csv" in message
    assert "did you mean 'essays.csv'?" in message
    assert "check the spelling" in refusal(tmp_path / "nowhere" / "x.csv")


def test_a_folder(tmp_path: Path) -> None:
    message = refusal(tmp_path)
    assert "is a folder" in message
    assert "one file" in message


def test_a_file_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.csv").write_text(GOOD)
    monkeypatch.setattr(Path, "open", closed)
    message = refusal(tmp_path / "x.csv")
    assert "cannot read" in message
    assert "Permission denied" in message


def test_truncated_parquet(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    scores(0, 1, 1, 0).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-20])
    message = refusal(path)
    assert "cut short" in message
    assert "write it again" in message


def test_parquet_without_rows(tmp_path: Path) -> None:
    scores(0, 1).head(0).write_parquet(tmp_path / "x.parquet")
    assert "no rows" in refusal(tmp_path / "x.parquet")


def test_wrong_encoding_named_by_the_user(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_bytes("student,rater,score\n1,a,0\n2,Zoë,1\n".encode())
    message = refusal(tmp_path / "x.csv", encoding="ascii")
    assert "not ascii" in message
    assert "byte 0xc3" in message
    for unknown in ("utf-9", "hex"):
        assert f"unknown encoding {unknown!r}" in refusal(tmp_path / "x.csv", encoding=unknown)


@pytest.mark.parametrize("source", [[1, 2], {"student": [1]}, None, 3, b"x.csv", pd.Series([1])])
def test_objects_that_are_no_table(source: object) -> None:
    message = refusal(source)
    assert repr(type(source).__name__) in message
    assert "dataframe" in message


@pytest.mark.parametrize(
    "source",
    [
        pd.DataFrame([[1, 2, 3]], columns=["rater", "rater", "score"]),
        pa.table([[1], [2], [3]], names=["rater", "rater", "score"]),
    ],
    ids=["pandas", "pyarrow"],
)
def test_doubled_columns_in_dataframes(source: object) -> None:
    message = refusal(source)
    assert "doubled column names: 'rater' 2 times" in message
    assert "a name of its own" in message


def test_doubled_columns_once_names_are_text() -> None:
    assert "more than one column named '0'" in refusal(pd.DataFrame([[1, 2]], columns=[0, "0"]))


# The columns asked for, and the parts of the refusal.
COLUMNS: dict[str, tuple[dict[str, object], type[RaterlensError], tuple[str, ...]]] = {
    "misspelt": (
        {"rater": "Ratr"},
        InputError,
        ("no column 'Ratr' for rater", "did you mean 'rater'?", "'score', 'x'"),
    ),
    "missing": (
        {"items": ["x", "zzz"]},
        InputError,
        ("no column 'zzz' for items", "the columns are: 'student'"),
    ),
    "one of several": ({"rater": ["rater", "topic"]}, InputError, ("no column 'topic' for rater",)),
    "two roles": (
        {"student": "rater", "rater": "rater"},
        OptionError,
        ("column 'rater' is given for student and rater", "its own"),
    ),
    "role and item": (
        {"student": "student", "items": ["x", "student"]},
        OptionError,
        ("for student and items",),
    ),
    "twice in a role": ({"rater": ["rater", "rater"]}, OptionError, ("for rater (2 times)",)),
    "none": ({"items": []}, OptionError, ("items=[] names no column", "choose from: 'student'")),
    "items and score": (
        {"items": ["x"], "score": "score"},
        OptionError,
        ("items=['x'] and score='score'", "choose one"),
    ),
    "items and item": (
        {"items": ["x"], "item": "x"},
        OptionError,
        ("items=['x'] and item='x'", "choose one"),
    ),
    "several scores": (
        {"score": ["score", "x"]},
        OptionError,
        ("score=['score', 'x'] names several", "items="),
    ),
}


@pytest.mark.parametrize("case", COLUMNS)
def test_columns(case: str) -> None:
    arguments, kind, parts = COLUMNS[case]
    with pytest.raises(kind) as caught:
        read(scores(0, 1, 1, 0, x=[1, 0, 1, 0]), **arguments)  # type: ignore[arg-type]
    assert all(part in str(caught.value) for part in parts), str(caught.value)


@pytest.mark.parametrize("role", ["student", "rater", "score"])
def test_a_role_without_a_column(role: str) -> None:
    message = refusal(scores(0, 1, 1, 0).with_columns(pl.lit("one").alias(role)).rename({role: "other"}))
    assert f"no {role} column recognised" in message
    assert f"name it with {role}=" in message
    assert "'other'" in message
    assert ("items=" in message) == (role == "score")


def test_a_rater_that_only_the_content_suggests_is_asked_for() -> None:
    message = refusal(scores(0, 1, 1, 0).rename({"rater": "other"}))
    assert "no rater column among 'student', 'other', 'score'" in message
    assert "accept it with rater='other'" in message


@pytest.mark.parametrize(
    ("role", "extra"), [("student", "person"), ("rater", "Judge"), ("score", "rating"), ("item", "task")]
)
def test_two_columns_for_a_role(role: str, extra: str) -> None:
    frame = scores(0, 1, 1, 0, item=["i", "j", "i", "j"]).with_columns(pl.Series(extra, [1, 0, 0, 2]))
    message = refusal(frame)
    assert f"'{role}', '{extra}' could each be the {role} column" in message
    assert f"say which, for example {role}='{role}'" in message


# Scores, and what the refusal says of them.
SCORES: dict[str, tuple[list[object], dict[str, object], tuple[str, ...]]] = {
    "text": (
        ["0", "nice", "1", "dull"],
        {},
        ("score 'nice'", "row 2", "not a number (the first of 2)", "leave a missing", "map="),
    ),
    "text with cut": (["0", "nice", "1"], {"cut": 1}, ("score 'nice'", "row 2", "is not a number;")),
    "words among numbers": (["0", "2", "pass"], {}, ("score 'pass'", "row 3", "stands among numbers")),
    "dates": (
        [pl.date(2026, 1, 1)],
        {},
        ("score 2026-01-01", "row 1", "not a number (the first of 3)"),
    ),
    "durations": ([dt.timedelta(1)] * 3, {}, ("score '1 day, 0:00:00'", "row 1", "not a number")),
    "halves as written": (
        [0, 1, 2.5, 1.5],
        {"as_written": True},
        ("score 2.5", "row 3", "is a fraction (the first of 2)", "cut=3"),
    ),
    "fractions": ([0, 1, 2.3, 1.7], {}, ("from 0 to 2.3 in 4 different values", "bands=", "cut=")),
    "a slip": ([0, 1] * 60 + [1.23], {}, ("score 1.23", "row 121", "is a fraction;", "cut")),
    "a code for missing": ([0, -1, 1], {}, ("-1 among scores from 0 to 1", "taken for missing", "map='-1='")),
    "negative": ([0, -3, 1], {}, ("score -3", "row 2", "is negative", "cut")),
    "about zero": ([-2, -1, 0, 1, 2], {}, ("from -2 to 2", "map='-2=0,-1=1,0=2,1=3,2=4'")),
    "infinite": ([0, 1, float("inf")], {}, ("score inf", "row 3", "is infinite", "leave it blank")),
    "infinite with cut": ([0, 1, float("-inf")], {"cut": 1}, ("score -inf", "is infinite")),
    "infinite as text": (["0", "1", "Infinity"], {}, ("score 'Infinity'", "is infinite")),
    "percentages": ([0, 83, 100, 57], {}, ("from 0 to 100", "bands=", "cut=")),
    "all missing": ([None, None, None], {}, ("all 3 scores in 'score' are missing", "check")),
    "all missing as text": (["NA", "", "."], {}, ("all 3 scores in 'score' are missing",)),
    "all NaN": ([float("nan")] * 3, {"cut": 1}, ("all 3 scores in 'score' are missing",)),
    "all pass": (
        [1, 1, 1],
        {},
        (
            "all 3 ratings are passes (score 1)",
            "nothing can be estimated",
            "give the lowest passing score, for example cut=3",
        ),
    ),
    "all fail": ([0, 0, 0], {}, ("all 3 ratings are fails (score 0)", "check the score column")),
    "all the same": ([2, 2, 2], {}, ("all 3 ratings are the same (score 2)",)),
    "all pass by the cut": (
        [3, 4, 5],
        {"cut": 2.5},
        ("all 3 ratings are passes (score >= cut=2.5)", "whether cut=2.5 is the lowest passing score"),
    ),
    "all fail by the cut": ([3, 4, 5], {"cut": 6}, ("all 3 ratings are fails (score < cut=6)",)),
    "one rating": ([1, None, None], {}, ("1 rating in the table", "at least two")),
}


@pytest.mark.parametrize("case", SCORES)
def test_scores(case: str) -> None:
    values, arguments, parts = SCORES[case]
    n = max(len(values), 3)
    frame = pl.DataFrame({"student": range(n), "rater": [i % 2 for i in range(n)]})
    column = values[0] if isinstance(values[0], pl.Expr) else pl.Series(values, strict=False)
    message = refusal(frame.with_columns(score=column), **arguments)
    assert all(part in message for part in parts), message


def test_a_bad_score_in_a_text_file_is_named_by_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('student,rater,score,remark\n1,a,0,"two\nlines"\n\n2,b,1,\n3,a,x,\n')
    message = refusal(tmp_path / "x.csv")
    assert "score 'x' in column 'score', line 6, is not a number;" in message


def test_a_bad_score_in_a_wide_table_is_named_by_its_column() -> None:
    message = refusal(scores(0, 1, 0, 1, x=[1, 0, -4, 1]), items=["score", "x"])
    assert "score -4 in column 'x', row 3, is negative" in message


@pytest.mark.parametrize("cut", [float("nan"), float("inf"), "3", True])
def test_cuts(cut: object) -> None:
    message = refusal(scores(0, 1, 1, 0), cut=cut)
    assert f"cut={cut!r} is not a finite number" in message
    assert "for example cut=3" in message


# Labels


def test_one_student() -> None:
    message = refusal(scores(0, 1, 1, 0).with_columns(student=pl.lit("Ann")))
    assert "all 4 ratings are of one student, 'Ann'" in message
    assert "check the student column" in message


@pytest.mark.parametrize("role", ["student", "rater", "item"])
@pytest.mark.parametrize("blank", ["", None])
def test_a_column_without_labels(role: str, blank: str | None) -> None:
    frame = scores(0, 1, 1, 0, item=["i"] * 4).with_columns(pl.lit(blank).alias(role))
    message = refusal(frame)
    assert f"the {role} column '{role}' is blank in all 4 rows" in message
    assert f"{role}=" in message


def test_no_row_that_is_whole() -> None:
    frame = pl.DataFrame({"student": ["s", None], "rater": ["a", "b"], "score": [None, 1]})
    message = refusal(frame)
    assert "none of the 2 rows has a score and a label in each of 'student', 'rater'" in message


def test_combinations_that_cannot_be_told_apart() -> None:
    message = refusal(scores(0, 1, a=["x:y", "x"], b=["z", "y:z"]), rater=["a", "b"])
    assert "'a', 'b' are both 'x:y:z'" in message
    assert "without ':'" in message


def test_ratings_made_by_hand_are_checked() -> None:
    good = read(scores(0, 1, 1, 0))
    parts = {
        name: getattr(good, name) for name in ("student", "item", "score", "students", "raters", "items")
    }
    with pytest.raises(ValueError, match="rater codes must be 4 numbers from 0 to 1"):
        Ratings(rater=good.rater + 1, **parts)
    with pytest.raises(ValueError, match="rater codes must be 4 numbers"):
        Ratings(rater=good.rater[:2], **parts)
