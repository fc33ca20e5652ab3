"""Bad input, damaged files and control files: one message on stderr, exit code 2, nothing written."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

import raterlens as rl
from raterlens.app.cli.main import AT_FAULT, main
from raterlens.reading.read import read
from tests.support.command_line import Captured, run
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL, write
from tests.support.reading_files import FILES

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
            "no rater column among",
        ),
    ],
)
def test_whole_files_that_say_too_little(text: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(rl.RaterlensError, match=what):
        read(write(tmp_path, text))
