"""Files of every format with bytes changed, lost, doubled or added: read as they were, or refused in one line.

Where a format can tell (a checksum, or text that others read too), what is read must be right. The others hold no
checksum: there a changed number is a number.
"""

import csv
import io
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow.parquet
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.subject import Case, Subject, refusal
from raterlens.base.errors import RaterlensError
from raterlens.judging.judge import JudgeReport
from tests.support.facets_files import DATA, HEAD, LABELS, MODEL
from tests.support.reading_files import FILES

LOGS = Path(__file__).parents[1] / "tests" / "data"
FRAME = pl.DataFrame(
    {
        "student": [f"s{i % 8}" for i in range(48)],
        "rater": [f"r{i % 3}" for i in range(48)],
        "item": [f"i{i // 24}" for i in range(48)],
        "score": [(i * 7919 + i // 3) % 2 for i in range(48)],
    }
)
CHECKED = ("csv.gz", "csv.xz", "rlpack")
"""Formats with a checksum over all that counts."""
KINDS = (
    *(kind for kind in FILES if "folder" not in kind and "partitioned" not in kind),
    *("parquet", "plain parquet", "rlpack", "facets", "eval", "eval.json", "fit.json", "judges.json"),
)
EDITS = ("cut", "flip", "set", "insert", "remove", "double", "blank")


def judged(baseline: Path | None = None) -> JudgeReport:
    """Judges, compared with a record."""
    known = (
        FRAME.select("student", "item")
        .unique(maintain_order=True)
        .with_columns(answer=pl.int_range(pl.len()) % 2)
    )
    return rl.judge(FRAME, known=known, baseline=baseline)


@cache
def whole(kind: str) -> tuple[str, bytes]:
    """The name and the bytes of the file as it should be."""
    with TemporaryDirectory() as folder:
        place = Path(folder)
        if kind in FILES:
            path = FILES[kind](FRAME, place)
        elif kind == "parquet":
            path = place / "ratings.parquet"
            FRAME.write_parquet(path)
        elif kind == "plain parquet":
            path = place / "ratings.parquet"
            pyarrow.parquet.write_table(FRAME.to_arrow(), path, compression="none", data_page_version="2.0")
        elif kind == "rlpack":
            path = rl.pack(FRAME, place / "ratings.rlpack")
        elif kind == "fit.json":
            path = rl.fit(FRAME).save(place / "fit.json")
        elif kind == "judges.json":
            path = place / "judges.json"
            judged().save(path)
        elif kind == "facets":
            path = place / "study.txt"
            path.write_text(HEAD + MODEL + LABELS + DATA)
        else:
            path = LOGS / {"eval": "inspect.eval", "eval.json": "inspect.json.gz"}[kind]
        return path.name, path.read_bytes()


def edited(content: bytes, edits: list[list[object]]) -> bytes:
    """Places count around, so that every edit fits every file."""
    data = bytearray(content)
    for what, place, length, value in edits:
        assert isinstance(place, int)
        assert isinstance(length, int)
        at = place % (len(data) + 1)
        piece = str(value).encode("utf-8", "surrogatepass")
        if what == "cut":
            del data[at:]
        elif what == "insert":
            data[at:at] = piece
        elif what == "double":
            data[at:at] = data[at : at + length]
        elif what == "remove":
            del data[at : at + length]
        elif what == "blank":
            data[at : at + length] = bytes(len(data[at : at + length]))
        elif at < len(data):
            data[at] = (data[at] ^ 1 << length % 8) if what == "flip" else length % 256
    return bytes(data)


def changes() -> SearchStrategy[list[list[object]]]:
    """A few edits."""
    signs = [*'",;\n\r\0\t{]<é\ufeff\u200b', "e\u0301", "\x1b[31m", "@SUM(1)", ";=", "\\ud800"]
    numbers = ["1e999", "nan", "NaN", "-Infinity", "-1", str(10**30), "9" * 400]
    text = st.sampled_from([*signs, *numbers, "x" * 70_000])
    edit = st.tuples(
        st.sampled_from(EDITS), st.integers(0, 1 << 16), st.integers(0, 300), text | st.text(max_size=3)
    ).map(list)
    return st.lists(edit, min_size=1, max_size=4)


def cases() -> SearchStrategy[Case]:
    return st.fixed_dictionaries({"kind": st.sampled_from(KINDS), "edits": changes()})


def check(case: Case, folder: Path) -> str:
    name, content = whole(case["kind"])
    damaged = edited(content, case["edits"])
    (folder / name).write_bytes(damaged)
    try:
        if case["kind"] == "fit.json":
            str(rl.load(folder / name))
            return "read"
        if case["kind"] == "judges.json":
            judged(folder / name)
            return "read"
        ratings = rl.read(folder / name, cut=1 if "eval" in case["kind"] else None)
    except RaterlensError as error:
        return refusal(error)
    found = ratings.table()
    if case["kind"] in CHECKED:
        expected = rl.read(FRAME).table()
        if case["kind"] == "rlpack":
            found, expected = found.sort(found.columns), expected.sort(found.columns)
        assert found.equals(expected), f"read as other ratings: {found}"
    if case["kind"] == "csv":
        _as_others_read(damaged, found, noted=bool(ratings.notes))
    return "read"


def _as_others_read(content: bytes, found: pl.DataFrame, noted: bool) -> None:
    """The csv module of Python, which knows nothing of us, sees as many rows, and the same labels in them."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        assert noted, "not UTF-8, read all the same, and nothing said of it"
        return
    rows = [
        row
        for row in csv.reader(io.StringIO(text, newline=""), strict=True)
        if any(cell.strip() for cell in row)
    ]
    assert noted or len(found) == len(rows) - 1, (
        f"{len(found)} ratings, nothing said of others in {len(rows)} rows"
    )
    seen = {text for row in rows for cell in row for text in (cell, cell.strip())}
    for role in ("student", "rater"):
        strange = {str(label) for label in found[role]} - seen
        # A label with a line break is noted as one.
        strange = {label for label in strange if not (noted and {"\r", "\n"} & {*label})}
        assert not strange, f"{role} {strange}"


SUBJECT = Subject("damaged files", cases, check, share=0.4, batch=100)
