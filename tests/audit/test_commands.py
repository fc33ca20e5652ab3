"""The audit of commands: each can succeed, and a wrong success is noticed."""

import json
from pathlib import Path

import pytest

from audit.commands import CHECKS, DONE, GATE_FAILED, check

ROWS = [
    [s, r, i, int(2 * s + (3 * r + 5 * i + s) % 4 > 5), 0, s % 2]
    for s in range(5)
    for r in range(3)
    for i in range(2)
]


@pytest.mark.parametrize(
    "words",
    [
        ["judge", "--trusted", "r0", "--baseline", "last.json"],
        ["next", "--fit", "earlier.json", "--forbidden", "pairs.csv", "--budget", "2"],
        ["plan", "--students", "3", "--raters", "raters.csv", "--marks", "1"],
        ["fit", "--decide", "0.5", "--remark", "2", "--previous", "earlier.json"],
        ["check", "--min-kappa", "0.3"],
        ["compare", "earlier.json", "other.json"],
    ],
    ids=lambda words: words[0],
)
def test_each_command_succeeds_where_nothing_is_wrong(words: list[str], tmp_path: Path) -> None:
    case = {"words": words, "ratings": ROWS, "kind": "csv", "damage": None}
    assert check(case, tmp_path) == f"{words[0]} done"


@pytest.mark.parametrize("word", ["x", "1.5", "-1"])
def test_a_refusal_is_one_line_and_writes_nothing(word: str, tmp_path: Path) -> None:
    case = {"words": ["plan", "--items", word], "ratings": ROWS, "kind": "csv", "damage": None}
    assert check(case, tmp_path) == "refused"
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ("s9,r0\ns9,r0\n", "given out twice"),
        ("s0,r0\n", "a forbidden reading"),
        ("s9,r0\ns9,r1\n", "two readings of a student"),
        ("s1,r0\n", "read already"),
        ("s9,r0\ns8,r1\ns7,r0\n", "beyond the budget"),
        ("s9,r9\n", "a stranger"),
    ],
)
def test_wrong_readings_are_noticed(pairs: str, why: str, tmp_path: Path) -> None:
    (tmp_path / "out").write_text(f"student,rater\n{pairs}")
    words = ["next", "--forbidden", "pairs.csv", "--budget", "2"]
    case = {"words": words, "ratings": ROWS, "kind": "csv", "damage": None}
    with pytest.raises(AssertionError, match=why):
        CHECKS["next"](DONE, "", tmp_path, case)


@pytest.mark.parametrize(
    ("said", "code", "why"),
    [
        ('{"passed": true}', GATE_FAILED, "3, but passed is True"),
        ('{"passed": NaN}', DONE, "NaN in JSON"),
        (json.dumps({"judges": []}), DONE, "nobody is judged"),
        (
            json.dumps({"people": [], "judges": [{"judge": "a", "right": 0, "passes": 0}] * 2}),
            DONE,
            "twice",
        ),
    ],
)
def test_wrong_judgements_are_noticed(said: str, code: int, why: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=why):
        CHECKS["judge"](code, said, tmp_path, {"words": ["judge"]})
