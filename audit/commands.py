"""Commands on tiny tables, some of their files damaged: an answer that makes sense, or a refusal in one line.

What a command writes or prints is checked against what it was given: nobody marks work that they may not mark, every
judge is judged once, a failed gate is exit code 3.
"""

import contextlib
import io
import json
from collections import Counter
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

import raterlens as rl
from audit.damaged_files import FRAME, KINDS, changes, edited, whole
from audit.small_designs import NONE, OPTIONS, designs, table
from audit.subject import LONGEST_MESSAGE, Case, Subject
from raterlens.app.cli.main import main
from raterlens.base.errors import RaterlensError

DONE, FAILED, AT_FAULT, GATE_FAILED = 0, 1, 2, 3
PAIRS = "student,rater\ns0,r0\ns1,r1\ns2,r0\n"
LOADS = "rater,load\nr0,2\nr1,9\nr2,0\nr3,3\n"
MODEL = (
    "model",
    "method",
    "halo",
    "prior",
    "ability",
    "shared",
    "known_slope",
    "starts",
    "reference",
    "covariance",
)
COUNTS = st.sampled_from([*["1", "2", "3", "5", "20"] * 6, "0", "-1", "1.5", "x"])
SHARES = st.sampled_from(["0", "0.5", "0.9", "1", "2", "-1"])
Options = dict[str, SearchStrategy[Any]]

FIT: Options = {f"--{name.replace('_', '-')}": OPTIONS[name] for name in MODEL}
TABLE: Options = {
    "--known": st.sampled_from(["known.csv", "known", "nothing"]),
    "--trusted": st.sampled_from(["r0", "r0,r1", "nobody", ""]),
    "--piece": st.just("piece"),
    "--cut": st.sampled_from(["1", "0", "2", "-1", "1.5"]),
}
GATE: Options = {
    "--min-sharpness": st.sampled_from(["0", "0.5", "1", "2"]),
    "--min-kappa": st.sampled_from(["0.3", "-1"]),
    "--min-ratings": COUNTS,
    "--max-infit": st.just("1.2"),
    "--by-estimate": st.none(),
    "--only": st.sampled_from(["r0", "r1", "nobody"]),
    "--baseline": st.just("earlier.json"),
}
COMMANDS: dict[str, Options] = {
    "judge": {
        "--by": st.sampled_from(["item", "school", "rater", "nothing"]),
        "--by-metric": st.sampled_from(["capability", "accuracy", "sharpness", "kappa"]),
        "--min-accuracy": SHARES,
        "--min-capability": SHARES,
        "--min-sharpness": SHARES,
        "--margin": st.sampled_from(["0", "0.1", "-1", "nan"]),
        "--by-estimate": st.none(),
        "--without": st.sampled_from(["r0", "r1,r2", "nobody"]),
        "--only": st.sampled_from(["r0", "r1", "nobody"]),
        "--baseline": st.just("last.json"),
    },
    "next": {
        "--budget": COUNTS,
        "--capacity": COUNTS | st.just("raters.csv"),
        "--forbidden": st.just("pairs.csv"),
        "--floor": COUNTS,
        "--fit": st.just("earlier.json"),
        "--piece": st.just("piece"),
    },
    "plan": {
        "--students": COUNTS | st.just("pairs.csv"),
        "--raters": COUNTS | st.just("raters.csv"),
        "--items": COUNTS,
        "--marks": COUNTS,
        "--scheme": st.sampled_from(["random", "ring", "blocks", "x"]),
        "--common": COUNTS,
        "--seeded": COUNTS,
        "--team": COUNTS,
        "--forbidden": st.just("pairs.csv"),
        "--fit": st.just("earlier.json"),
        "--slope": COUNTS,
        "--slope-spread": COUNTS,
        "--severity-spread": COUNTS,
        "--categories": COUNTS,
        "--cut": COUNTS,
        "--target-se": st.sampled_from(["0.2", "0", "-1", "9"]),
        "--target-accuracy": st.sampled_from(["0.7", "0", "1", "2"]),
    },
    "fit": FIT
    | TABLE
    | {
        "--decide": st.sampled_from(["0.5", "1", "0.2,0.8", "ability 0.3", "ability x", "2,1", "", "nan"]),
        "--remark": COUNTS,
        "--previous": st.just("earlier.json"),
        "--anchors": st.just("earlier.json"),
        "--groups": st.sampled_from(["school", "item", "nothing"]),
        "--time": st.sampled_from(["school", "item"]),
        "--facets-tables": st.none(),
    },
    "check": FIT | TABLE | GATE,
    "compare": {"--json": st.none()},
}
NEEDED: dict[str, SearchStrategy[dict[str, str]]] = {
    "judge": st.sampled_from([{"--known": "known"}] * 3 + [{"--trusted": "r0"}, {"--trusted": "r0,r1"}]),
    "check": st.sampled_from([{"--min-kappa": "0.3"}, {"--min-sharpness": "0.5"}, {"--min-ratings": "3"}]),
    "fit": st.just({"--decide": "0.5"}) | st.just({}),
}
"""Required options of each command."""
COLUMNS = {"--piece": "piece", "--groups": "school", "--time": "school", "--by": "school"}
"""Options that name a column which other tables than ours have not."""
MOST = 4
FILES = ("ratings.csv", "known.csv", "pairs.csv", "raters.csv", "earlier.json", "other.json", "last.json")


def panels() -> SearchStrategy[Any]:
    """Rows as those of `designs`, but enough for most models, and nearly everybody marks everybody."""

    def scored(size: tuple[int, int, int, int]) -> SearchStrategy[Any]:
        students, raters, items, highest = size
        every = product(range(students), range(raters), range(items))
        places = [place for place in every if (place[0] + place[1]) % 4 or raters < 3]
        scores = st.lists(st.integers(0, highest), min_size=len(places), max_size=len(places))
        return scores.map(
            lambda given: [[*place, score, place[1] % 2] for place, score in zip(places, given, strict=True)]
        )

    sizes = st.tuples(st.integers(4, 7), st.integers(2, 4), st.integers(1, 2), st.integers(1, 2))
    return sizes.flatmap(scored)


def verdicts() -> SearchStrategy[Any]:
    """Rows with known answers, enough to judge by: student, rater, item, score, piece, known answer."""

    def scored(size: tuple[int, int, int]) -> SearchStrategy[Any]:
        students, raters, highest = size
        n, levels = students * raters, st.integers(0, highest)
        scores = st.lists(levels, min_size=n, max_size=n)
        answers = st.lists(st.one_of(levels, levels, st.just(NONE)), min_size=students, max_size=students)
        return st.tuples(scores, answers).map(
            lambda given: [
                [place // raters, place % raters, 0, score, 0, given[1][place // raters]]
                for place, score in enumerate(given[0])
            ]
        )

    return st.tuples(st.integers(18, 30), st.integers(1, 4), st.integers(1, 2)).flatmap(scored)


@st.composite
def cases(draw: Callable[[SearchStrategy[Any]], Any]) -> Case:
    """Three in four give what is needed, and nothing of theirs is damaged; the others are careless."""
    careful = draw(st.sampled_from([True, True, True, False]))
    name = draw(st.sampled_from(sorted(COMMANDS)))
    kind = draw(st.sampled_from(["csv"] * len(KINDS) + list(KINDS)))
    if careful and name == "judge":
        kind = "csv"  # other kinds hold no known answers
    options = COMMANDS[name]
    if careful and kind != "csv":
        options = {option: values for option, values in options.items() if option not in COLUMNS}
    chosen = draw(st.lists(st.sampled_from(sorted(options)), max_size=MOST, unique=True))
    given = {option: draw(options[option]) for option in chosen}
    fits = draw(st.lists(st.sampled_from(["earlier.json", "other.json", "nothing.json"]), max_size=3))
    if careful:
        given |= draw(NEEDED.get(name, st.just({})))
        fits = ["earlier.json", "other.json"]
    damage = st.fixed_dictionaries({"file": st.sampled_from(FILES), "edits": changes()})
    words = [name, *(fits if name == "compare" else ())]
    for option, value in given.items():
        words += [option] if value is None else [option, str(value)]
    return {
        "words": words,
        "ratings": draw((verdicts() if name == "judge" else panels()) if careful else designs()),
        "kind": kind,
        "damage": None if careful else draw(st.none() | damage),
    }


def check(case: Case, folder: Path) -> str:
    words, ratings = list(case["words"]), _written(case, folder)
    if words[0] in ("judge", "next", "fit", "check"):
        words.insert(1, str(ratings))
    words = [str(folder / word) if word in FILES else word for word in words]
    if words[0] in ("next", "plan", "fit"):
        words += ["--out", str(folder / "out")]
    if words[0] in ("judge", "check"):
        words += ["--json"]
    before = _contents(folder)
    code, said, complaint = run(words)
    if code == AT_FAULT:
        if words[0] == "check" and said:  # what has to be confirmed
            assert json.loads(said)["questions"]
        else:
            _refused(complaint)
        assert _contents(folder) == before, "refused, but something is written"
        return "refused"
    assert code in (DONE, GATE_FAILED), f"{code}: {complaint}"
    assert code == DONE or words[0] in ("judge", "check")
    assert "Traceback" not in complaint, complaint
    if words[0] in CHECKS:
        CHECKS[words[0]](code, said, folder, case)
    return f"{words[0]} done"


def run(words: list[str]) -> tuple[int, str, str]:
    """Exit code, standard output and standard error."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = main(words)
    return code, out.getvalue(), errors.getvalue()


def _written(case: Case, folder: Path) -> Path:
    """The files that a command is given, one of them damaged; the ratings."""
    frame = table(case["ratings"]) if case["kind"] == "csv" else FRAME
    contents = {"known.csv": _known(frame), "pairs.csv": PAIRS.encode(), "raters.csv": LOADS.encode()}
    name, contents["ratings.csv"] = "ratings.csv", frame.write_csv().encode()
    if case["kind"] != "csv":
        name, contents["ratings.csv"] = whole(case["kind"])
    for earlier, model in (("earlier.json", "gmf"), ("other.json", "tfm")):
        if earlier in case["words"]:
            contents[earlier] = _fitted(frame, model)
    if "last.json" in case["words"]:
        contents["last.json"] = whole("judges.json")[1]
    if case["damage"] and case["damage"]["file"] in contents:
        file = case["damage"]["file"]
        contents[file] = edited(contents[file], case["damage"]["edits"])
    for file, content in contents.items():
        (folder / (name if file == "ratings.csv" else file)).write_bytes(content)
    return folder / name


def _known(frame: pl.DataFrame) -> bytes:
    """Answers for three of the students."""
    work = frame.select("student", "item").unique(maintain_order=True).head(3)
    return work.with_columns(answer=pl.int_range(pl.len()) % 2).write_csv().encode()


def _fitted(frame: pl.DataFrame, model: str) -> bytes:
    try:
        return rl.fit(frame, model=model, max_iterations=20, known=None).to_json().encode()
    except RaterlensError:
        return b"{}"


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _refused(complaint: str) -> None:
    lines = complaint.strip().splitlines()
    assert len([line for line in lines if line.startswith("raterlens: ")]) == 1, complaint
    assert len(lines[-1]) <= LONGEST_MESSAGE, f"{len(lines[-1])} characters: {lines[-1][:200]}"


def _no_constant(name: str) -> None:
    raise AssertionError(f"{name} in JSON")


def _judged(code: int, said: str, folder: Path, case: Case) -> None:
    found = json.loads(said, parse_constant=_no_constant)
    if "judges" in found:
        names = [row["judge"] for row in found["judges"]]
        assert names, "nobody is judged"
        assert len(set(names)) == len(names), "a judge twice"
        assert not {*names} & {*found["people"]}, "people among the judges"
        for row in found["judges"]:
            _measured(row)
        failed = any(row["verdict"] == "not trusted" for row in found["judges"])
        assert failed != found["passed"], "passed, but a judge is not trusted, or the other way round"
    if "passed" in found:
        assert found["passed"] == (code == DONE), f"{code}, but passed is {found['passed']}"


def _measured(row: dict[str, Any]) -> None:
    """Numbers within their ranges, and inside their intervals."""
    for name, least in {
        "accuracy": 0,
        "sensitivity": 0,
        "specificity": 0,
        "capability": -1,
        "sharpness": -1,
    }.items():
        if row.get(name) is not None:
            assert least <= row[f"{name}_low"] <= row[name] <= row[f"{name}_high"] <= 1, row
    assert all(row.get(name) is None or 0 <= row[name] <= 1 for name in ("right", "passes", "expected")), row


def _assigned(code: int, said: str, folder: Path, case: Case) -> None:
    """A reading is given out once, to somebody who may do it."""
    found = pl.read_csv(folder / "out", infer_schema=False)
    pairs = list(zip(found["student"], found["rater"], strict=True))
    assert len(set(pairs)) == len(pairs), "a reading is given out twice"
    words = case["words"]
    intact = case["damage"] is None
    if intact and "--forbidden" in words:
        assert not {*pairs} & {("s0", "r0"), ("s1", "r1"), ("s2", "r0")}, "a forbidden reading"
    if words[0] == "next" and case["kind"] == "csv" and intact:
        rows = table(case["ratings"])
        assert not {*pairs} & {*zip(rows["student"], rows["rater"], strict=True)}, "read already"
        assert {*found["rater"]} <= {*rows["rater"]}, "a stranger"
        assert found["student"].n_unique() == len(found), "two readings of a student"
        if "--budget" in words:
            assert len(found) <= int(words[words.index("--budget") + 1]), "beyond the budget"
    if intact and ("--capacity" in words or "--raters" in words) and "raters.csv" in words:
        most = {"r0": 2, "r1": 9, "r2": 0, "r3": 3}
        own = [
            rater
            for rater, kind in zip(
                found["rater"], found.get_column("kind", default=found["rater"]), strict=True
            )
            if kind != "seeded"
        ]
        for rater, n in Counter(own).items():
            assert n <= most.get(rater, len(found)), f"{rater} has {n} readings"


def _decided(code: int, said: str, folder: Path, case: Case) -> None:
    for name in ("raters.csv", "students.csv", "fit.json", "report.html"):
        assert (folder / "out" / name).exists(), f"no {name}"
    if (folder / "out" / "decisions.csv").exists():
        found = pl.read_csv(folder / "out" / "decisions.csv", infer_schema_length=None)
        chances = found.select(pl.col("^p_.*$"))
        assert ((chances.sum_horizontal() - 1).abs() < 1e-6).all(), "chances of grades do not add up to 1"
        assert "--decide" in case["words"]
    if (folder / "out" / "remark.csv").exists():
        budget = int(case["words"][case["words"].index("--remark") + 1])
        assert len(pl.read_csv(folder / "out" / "remark.csv")) <= budget, "beyond the budget"


CHECKS = {"judge": _judged, "check": _judged, "next": _assigned, "plan": _assigned, "fit": _decided}
SUBJECT = Subject("commands", cases, check, share=0.2, batch=15)
