"""Bad input, damaged files, wrong options and mishaps: one message on stderr, exit code 2, nothing written."""

import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from polars.exceptions import PanicException

import raterlens as rl
from raterlens.app.cli import fit_command
from raterlens.app.cli.main import AT_FAULT, DONE, FAILED, GATE_FAILED, INTERRUPTED, main
from raterlens.base.errors import InputError, OptionError, RaterlensError
from raterlens.ratings.coded import Ratings
from raterlens.reading.read import read
from tests.support.command_line import RUN, Captured, run, small_table
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, write
from tests.support.reading_files import FILES

# ----- bad input, damaged files and control files: one message on stderr, exit code 2, nothing written


# ------------------------------------------ bad input: one message on stderr, exit code 2, nothing written


HEADER = "student,rater,item,score\n"
GOOD = HEADER + "1,A,x,1\n1,B,x,0\n2,A,x,0\n2,B,x,1\n"

BAD_FILES: dict[str, tuple[str | bytes, Sequence[str], str]] = {
    "empty file": ("", (), "empty"),
    "header only": (HEADER, (), "no rows"),
    "not a table": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff\xfe", (), "bad.csv"),
    "ragged rows": (GOOD + "3,A,x,1,9,9\n", (), "6"),
    "wrong encoding": ("student,rater,item,score\n1,J\x81rgen,x,1\n2,A,x,0\n".encode("latin-1"), (), "utf-8"),
    "unknown encoding": (GOOD, ("--encoding", "klingon"), "klingon"),
    "missing column": (GOOD, ("--rater", "judge"), "judge"),
    "doubled column": ("student,rater,item,score,score\n1,A,x,1,0\n2,A,x,0,1\n", (), "score"),
    "text score": (GOOD + "3,A,x,good\n", (), "good"),
    "fractional score": (GOOD + "3,A,x,2.51\n", (), "2.51"),
    "negative score": (GOOD + "3,A,x,-1\n", (), "-1"),
    "infinite score": (GOOD + "3,A,x,inf\n", (), "inf"),
    "ordered scores for a model of pass and fail": (GOOD + "3,A,x,7\n", ("--model", "probit"), "7"),
    "unknown scale": (GOOD, ("--scale", "likert"), "likert"),
    "all scores missing": (HEADER + "1,A,x,\n2,A,x,\n", (), "missing"),
    "one rating": (HEADER + "1,A,x,1\n", (), "1 rating"),
    "one student": (HEADER + "77,A,x,1\n77,B,x,0\n", (), "77"),
    "all pass": (HEADER + "1,A,x,1\n2,A,x,1\n", (), "all 2 ratings are passes"),
    "all fail": (HEADER + "1,A,x,0\n2,A,x,0\n", (), "all 2 ratings are fails"),
    "unknown model": (GOOD, ("--model", "gmff"), "did you mean 'gmf'?"),
    "unknown method": (GOOD, ("--method", "reml"), "reml"),
    "unknown link": (GOOD, ("--link", "logti"), "did you mean 'logit'?"),
    "unknown option": (GOOD, ("--modle", "gmf"), "--modle"),
    "cut that is no number": (GOOD, ("--cut", "high"), "high"),
    "cut that is not finite": (GOOD, ("--cut", "nan"), "nan"),
    "empty column name": (GOOD, ("--rater", "rater,"), "'rater,'"),
    "option without a value": (GOOD, ("--student",), "--student"),
}


def at_fault(capsys: Captured, arguments: Sequence[str | Path], seen: str) -> None:
    """Exit code 2, and one message that holds the value seen."""
    assert main([str(argument) for argument in arguments]) == AT_FAULT
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("raterlens: ")
    assert shown.err.count("raterlens: ") == 1
    assert "Traceback" not in shown.err
    assert seen in shown.err


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_table_or_option(case: str, tmp_path: Path, capsys: Captured) -> None:
    content, options, seen = BAD_FILES[case]
    path, out = tmp_path / "bad.csv", tmp_path / "results"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    at_fault(capsys, ["fit", path, "--out", out, *options], seen)
    assert sorted(tmp_path.iterdir()) == [path]


def test_no_such_file(tmp_path: Path, capsys: Captured) -> None:
    at_fault(capsys, ["fit", tmp_path / "nowhere.csv", "--out", tmp_path / "results"], "nowhere.csv")
    assert not (tmp_path / "results").exists()


def test_a_folder(tmp_path: Path, capsys: Captured) -> None:
    at_fault(capsys, ["fit", tmp_path], tmp_path.name)


def test_no_file_given(capsys: Captured) -> None:
    at_fault(capsys, ["fit"], "FILE")


def test_unknown_command(capsys: Captured) -> None:
    at_fault(capsys, ["fitt"], "fitt")


def test_out_is_checked_before_anything_is_read(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "taken").write_text("mine")
    at_fault(capsys, ["fit", "nowhere.csv", "--out", tmp_path / "taken"], "taken")
    at_fault(capsys, ["fit", "nowhere.csv", "--out", tmp_path / "taken" / "below"], "below")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "raterlens-demo").write_text("mine")
    at_fault(capsys, ["demo"], "raterlens-demo")
    assert (tmp_path / "taken").read_text() == "mine"


def test_bad_input_as_a_process(tmp_path: Path) -> None:
    done = run("fit", tmp_path / "nowhere.csv")
    assert (done.returncode, done.stdout) == (AT_FAULT, b"")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (GOOD, ("--starts", "0"), "--starts 0 is not possible; give a whole number from 1 to 1,000"),
        (GOOD, ("--resume",), "name it with --checkpoint"),
        (
            GOOD,
            ("--model", "hrm", "--item-slopes"),
            "takes no --item-slopes; leave it out, or use --model gmf",
        ),
        (GOOD, ("--reference", "max corrected", "--no-standard-errors"), "leave out --no-standard-errors"),
        (GOOD + "3,A,x,2\n", ("--model", "probit"), "for example --cut 2, or use --model gmf"),
        (GOOD, ("--cut", "5"), "(score < --cut 5)"),
        (HEADER + "1,,x,1\n2,,x,0\n", (), "fill it in, or name another with --rater"),
        (GOOD, ("--covariates", "bad.csv"), "no such file: 'bad.csv'"),
    ],
)
def test_options_are_named_as_they_are_typed(
    content: str, options: Sequence[str], message: str, tmp_path: Path, capsys: Captured
) -> None:
    path = tmp_path / "table.csv"
    path.write_text(content)
    at_fault(capsys, ["fit", path, *options], message)


# --- empty, truncated, mislabelled and locked files of every kind: one clear message, exit code 2, no traceback


FRAME = pl.DataFrame(
    {
        "student": [f"s{i % 40}" for i in range(400)],
        "rater": [f"r{i % 7}" for i in range(400)],
        "item": [f"i{i % 3}" for i in range(400)],
        "score": [(i * 7919 + i // 3) % 2 for i in range(400)],
    }
)
ONE_FILE = {kind: write for kind, write in FILES.items() if "parquet" not in kind}
# Text that ends early between two rows is a whole, shorter table: nothing can tell. Here it ends within a row.
CUT = {"csv": -9, "jsonl": -9}


def refused(path: Path, capsys: pytest.CaptureFixture, *options: str) -> str:
    assert main(["check", str(path), *options]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    message = shown.err.strip()
    assert message.startswith("raterlens: ")
    assert "\n" not in message
    assert "unforeseen" not in message
    return message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_cut_short(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: CUT.get(kind, len(content) * 6 // 10)])
    message = refused(path, capsys)
    assert path.name.removesuffix(".gz").removesuffix(".xz").removesuffix(".zst") in message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_empty(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    path.write_bytes(b"")
    message = refused(path, capsys)
    assert "empty file" in message or "cannot be decompressed" in message


@pytest.mark.parametrize("kind", ONE_FILE)
def test_a_letter_under_another_name(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path)
    path.write_text("Dear colleagues\nplease find the marks attached.\n")
    assert path.name in refused(path, capsys)


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [
        ("xlsx", ".csv"),
        ("sav", ".csv"),
        ("dta", ".txt"),
        ("sqlite", ".jsonl"),
        ("duckdb", ".tsv"),
        ("rds", ".csv"),
    ]
    + [
        ("csv", suffix)
        for suffix in (".xlsx", ".sav", ".dta", ".db", ".duckdb", ".rds", ".rda", ".jsonl", ".json")
    ]
    + [("xlsx", ".sav"), ("sav", ".dta"), ("dta", ".xlsx"), ("sqlite", ".duckdb"), ("duckdb", ".sqlite")],
)
def test_mislabelled(kind: str, suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    path = ONE_FILE[kind](FRAME, tmp_path).rename(tmp_path / f"renamed{suffix}")
    message = refused(path, capsys)
    assert f"'renamed{suffix}'" in message
    assert "not" in message
    if kind in ("xlsx", "sav", "dta", "sqlite", "duckdb"):
        # What it really is, and the two ways out.
        assert "rename it to end in ." in message
        assert "--format " in message


def test_a_workbook_with_a_password(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    # Excel wraps an encrypted workbook in an OLE container, as old workbooks were.
    (tmp_path / "marks.xlsx").write_bytes(bytes.fromhex("d0cf11e0a1b11ae1") + bytes(1000))
    assert "protected by a password" in refused(tmp_path / "marks.xlsx", capsys)


def test_a_zip_that_is_no_workbook(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    import zipfile

    with zipfile.ZipFile(tmp_path / "marks.xlsx", "w") as archive:
        archive.writestr("letter.txt", "Dear all")
    assert "'marks.xlsx'" in refused(tmp_path / "marks.xlsx", capsys)


def test_a_folder_with_a_damaged_part(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = FILES["parquet folder"](FRAME, tmp_path)
    part = folder / "part-1.parquet"
    part.write_bytes(part.read_bytes()[:-10])
    assert "'part-1.parquet' is cut short" in refused(folder, capsys)
    part.write_text("student,rater,score\n")
    assert "'part-1.parquet' is not a parquet file" in refused(folder, capsys)


def test_a_folder_of_different_tables(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    folder = FILES["parquet folder"](FRAME, tmp_path)
    FRAME.drop("score").write_parquet(folder / "part-1.parquet")
    assert "'parts'" in refused(folder, capsys)


# ------------------------------------------ unsupported parts of a control file are named, with their line


REFUSED = {
    "binomial": (MODEL, "Models = ?,?,?,B5\n", 8, "binomial trials (B5) are not supported"),
    "poisson": (MODEL, "Models = ?,?,?,P\n", 8, "Poisson counts (P) are not supported"),
    "model weight": (MODEL, "Models = ?,?,?,R3,0.5\n", 8, "weight 0.5"),
    "reversed": (MODEL, "Models = ?,-?,?,R3\n", 8, "turned round"),
    "no scale": (MODEL, "Models = ?,?,?,Q3\n", 8, "'Q3' is not a scale"),
    "facets of the model": (MODEL, "Models = ?,?,R3\n", 8, "2 facets where the data have 3"),
    "mixed": (MODEL, "Models=\n?,?,1,R5\n?,?,?,R3\n*\n", 10, "scores up to 3 beside those up to 5"),
    "group anchors": ("2, Readers", "2, Readers, G", 15, "group-anchored"),
    "facet code": ("2, Readers", "2, Readers, X", 15, "facet 2 has the code 'X'"),
    "far too many": ("1 = Ann", "1-9999999999 = Ann", 16, "9,999,999,999 elements"),
    "backwards": ("1,1,1-3,2", "1,1,3-1,2", 25, "'3-1' is not an element of facet 3 (Criteria)"),
    "no such rater facet": ("Inter-rater = 2", "Inter-rater = 9", 4, "facet 9 where Facets = 3"),
    "no such positive facet": ("Positive = 1", "Positive = 9", 5, "facet 9 where Facets = 3"),
    "no facets": ("Facets = 3 ", "Facets = 0 ", 3, "'0' facets"),
    "a line as an element": ("Arrange = m, 2N", "Dvalues = 1, $Line", 7, "'1, $Line' are not supported"),
    "a group as an element": ("Arrange = m, 2N", "Dvalues = 3, 1, $Group", 7, "'3, 1, $Group' are not"),
    "beyond the data": ("Arrange = m, 2N", "Dvalues = 7, 1", 7, "facet 7 where Facets = 3"),
    "included specifications": ("Arrange = m, 2N", "%include more.txt", 7, "is not a specification"),
    "a folder elsewhere": ("Data =\n", "Data = C:\\my\\study.txt\n", 24, "write Data = study.txt"),
    "element weight": ("1 = Ann", "1 = Ann,,,2", 16, "weights and merged elements"),
    "measure": ("1 = Ann", "1 = Ann, high", 16, "'high' is not a number"),
    "facet number": ("3, Criteria", "4, Criteria", 19, "facet 4 where Facets = 3"),
    "fractional weight": ("1,2,2,1", "R0.5,1,2,2,1", 28, "the weight 0.5 is not supported"),
    "null element": ("1,2,2,1", "1,0,2,1", 28, "facet 2 takes no part (element 0)"),
    "too many scores": ("1,2,2,1", "1,2,2,1,3", 28, "2 scores where the elements call for 1"),
    "two ranges": ("1,2,2,1", "1-2,1-2,2,1,3", 28, "both have a range"),
    "beyond all elements": (
        "1,1,1-3,2",
        f"1,{10**30},1-3,2",
        25,
        "'1000000000000000000000000000000' is not an element",
    ),
    "no element": ("1,2,2,1", "1,Bob,2,1", 28, "'Bob' is not an element of facet 2 (Readers)"),
    "short line": ("1,2,2,1", "1,2,2", 28, "3 fields where 3 elements and a score are due"),
    "paired": ("Arrange = m, 2N", "Entered = 1,1,2", 7, "paired comparisons"),
    "recoded": (MODEL, "Models=?,?,?,S\nRating scale=S,R3\n0=no,,,x\n*\n", 10, "scores are recoded (x)"),
    "prose": ("Arrange = m, 2N", "Here we go", 7, "'Here we go' is not a specification"),
    "no file": ("Data =\n", "Data = gone.txt\n", 24, "no file 'gone.txt'"),
    "a workbook": ("Data =\n", "Data = marks.xlsx\n", 24, "'marks.xlsx' are not supported"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_not_supported_is_named_with_its_line(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    old, new, line, what = REFUSED[case]
    whole = HEAD + MODEL + LABELS + DATA
    assert old in whole
    assert main(["check", str(write(tmp_path, whole.replace(old, new)))]) == 2
    message = capsys.readouterr().err
    assert f"'study.txt', line {line}: " in message
    assert what in message
    assert message.count("\n") == 1


@pytest.mark.parametrize("path", ["gone.txt", "."])
def test_a_file_that_is_not_there(path: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match="cannot read"):
        rl.read_facets(tmp_path / path)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (HEAD + LABELS + DATA, "has no Models="),
        (HEAD + MODEL + LABELS, "has no data"),
        (HEAD + MODEL + LABELS + "Data=\n9,9,9,1\n", "no rating that fits"),
        (
            (HEAD + MODEL + LABELS + DATA)
            .replace("Inter-rater = 2", "")
            .replace("Readers", "Staff")
            .replace("Criteria", "Points of view"),
            "no column is named for the rater",
        ),
    ],
)
def test_whole_files_that_say_too_little(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        read(write(tmp_path, text))


# -------------- bad input: each refusal says what is wrong, the value seen and what to do, in one line


GOOD_ROWS = "student,rater,score\n1,a,0\n2,b,1\n"


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
TABLES: dict[str, tuple[str, bytes, tuple[str, ...]]] = {
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
    "zero-filled end": (
        "x.csv",
        GOOD_ROWS.encode() * 5000 + b"\0" * 100,
        ("line 15,001", "1 field where"),
    ),
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
        GOOD_ROWS.encode() + b"3,c,1\n" * 20_000 + "4,Zo\x81,1\n".encode("latin1"),
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
        GOOD_ROWS.encode(),
        ("not a parquet file", "begins with b'stud'", "rename it to .csv"),
    ),
    "empty parquet": ("x.parquet", b"", ("empty file", "write the table again")),
    "parquet with nonsense inside": (
        "x.parquet",
        b"PAR1" + b"\x07" * 50 + b"PAR1",
        ("is damaged or cut short", "copy it again"),
    ),
    "unknown extension": ("x.docx", b"PK", ("'.docx'", ".csv, .tsv, .txt, .parquet", "save the table")),
    "no extension": ("ratings", GOOD_ROWS.encode(), ("unknown extension ''", ".csv")),
}


@pytest.mark.parametrize("case", TABLES)
def test_files(case: str, tmp_path: Path) -> None:
    name, content, parts = TABLES[case]
    (tmp_path / name).write_bytes(content)
    message = refusal(tmp_path / name)
    assert all(part in message for part in parts), message


def test_no_such_file_by_read(tmp_path: Path) -> None:
    (tmp_path / "essays.csv").write_text(GOOD_ROWS)
    message = refusal(tmp_path / "esays.csv")
    assert "no such file" in message
    assert "esays.csv" in message
    assert "did you mean 'essays.csv'?" in message
    assert "check the spelling" in refusal(tmp_path / "nowhere" / "x.csv")


def test_a_folder_by_read(tmp_path: Path) -> None:
    message = refusal(tmp_path)
    assert "is a folder" in message
    assert "one file" in message


def test_a_file_that_may_not_be_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    (tmp_path / "x.csv").write_text(GOOD_ROWS)
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
    crossed = {"student": [n // 2 for n in range(12)], "other": ["x", "y"] * 6, "score": [0, 1, 1] * 4}
    message = refusal(pl.DataFrame(crossed))
    assert "no column is named for the rater" in message
    assert "accept it with rater='other'" in message


@pytest.mark.parametrize(
    ("role", "extra"), [("student", "person"), ("rater", "Judge"), ("score", "rating"), ("item", "task")]
)
def test_two_columns_for_a_role(role: str, extra: str) -> None:
    frame = scores(0, 1, 1, 0, item=["i", "j", "i", "j"]).with_columns(pl.Series(extra, [1, 0, 0, 2]))
    message = refusal(frame)
    assert f"could be the {role}, and so could" in message
    assert f"{role}='{role}'" in message
    assert f"{role}='{extra}'" in message


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


# --------------------------------------------------------- mishaps that are nobody's fault, or our own


LIMITED = "import resource; resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    small_table().write_csv(path)
    return path


def broken(error: BaseException) -> Callable[..., None]:
    def fail(*_: object, **__: object) -> None:
        raise error

    return fail


def test_a_bug_says_how_to_report_it(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(RuntimeError("unlucky")))
    monkeypatch.delenv("RATERLENS_DEBUG", raising=False)
    assert main(["fit", str(table)]) == FAILED
    message = capsys.readouterr().err
    assert "RuntimeError: unlucky" in message
    assert "RATERLENS_DEBUG=1" in message
    assert "Traceback" not in message
    monkeypatch.setenv("RATERLENS_DEBUG", "1")
    assert main(["fit", str(table)]) == FAILED
    assert "Traceback" in capsys.readouterr().err


def test_a_full_disk_is_not_called_a_bug(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(OSError(28, "No space left on device")))
    assert main(["fit", str(table)]) == FAILED
    message = capsys.readouterr().err
    assert "No space left on device" in message
    assert "bug in Raterlens" not in message


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("can't start new thread"),
        ImportError("libsqlite3.so.0: failed to map segment from shared object"),
    ],
)
def test_too_little_memory_is_not_called_a_bug(
    error: Exception, table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(error))
    assert main(["fit", str(table)]) == FAILED
    assert capsys.readouterr().err.startswith("raterlens: not enough memory")


def test_a_library_that_panics_is_one_message(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(PanicException("index out of bounds")))
    monkeypatch.delenv("RATERLENS_DEBUG", raising=False)
    assert main(["fit", str(table)]) == FAILED
    assert "PanicException: index out of bounds" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "code"), [(["fit"], FAILED), (["judge", "--trusted", "A"], FAILED), (["fit", "--help"], DONE)]
)
def test_an_address_space_of_one_gibibyte(words: list[str], code: int, table: Path) -> None:
    """Libraries would abort."""
    command = [sys.executable, "-c", f"{LIMITED}; {RUN}", *words[:1], str(table), *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    if code:
        assert done.stderr.startswith(
            "raterlens: not enough memory: this process may use 1,024 MiB of address"
        )
        assert done.stderr.count("\n") == 1


def test_interrupt(table: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.setattr(fit_command, "request_of", broken(KeyboardInterrupt()))
    assert main(["fit", str(table)]) == INTERRUPTED
    assert capsys.readouterr().err == "raterlens: interrupted\n"


def test_closed_stderr_leaves_stdout_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert main(["fit", str(tmp_path / "nowhere.csv")]) == AT_FAULT
    assert capsys.readouterr().out == ""


def test_closed_pipe_is_quiet_and_keeps_the_exit_code(table: Path) -> None:
    gate = ["check", "--min-ratings", "1000000", "--json"]
    for words, code in ((["fit"], DONE), (["fit", "--json"], DONE), (gate, GATE_FAILED)):
        command = [sys.executable, "-c", RUN, words[0], str(table), *words[1:]]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        assert (process.wait(timeout=120), complaint) == (code, b"")
