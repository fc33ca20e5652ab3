"""A third set of files by the tools and habits of the list, written down before they were read for the first time."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from tests.reading.corpus.habits import (
    ANSWERS,
    DOUBLED,
    DOUBLED_ITEMS,
    DRAWN,
    JUDGED,
    JUDGES,
    MARKERS,
    PANEL,
    SCALED,
    SCRIPTS,
    Habit,
    Rows,
    agreed,
    csv_file,
    double,
    gold,
    json_file,
    long_panel,
    missing_words,
    score,
    verdict,
)
from tests.reading.corpus.truth import Grid, workbook


def judged(name: str, form: Callable[[int, str, int, str], dict[str, Any]]) -> Callable[[Path], Path]:
    """One record per verdict."""
    return json_file(
        [form(n, a, k, j) for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)], f"{name}.jsonl"
    )


def answered(name: str, form: Callable[[int, str], dict[str, Any]]) -> Callable[[Path], Path]:
    """One record per answer."""
    return json_file([form(n, a) for n, a in enumerate(ANSWERS)], name)


def parquet(frame: pl.DataFrame) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        frame.write_parquet(folder / "x.parquet")
        return folder / "x.parquet"

    return write


def sheet(rows: list[list[Any]]) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        workbook(folder / "marks.xlsx", {"Marks": rows})
        return folder / "marks.xlsx"

    return write


def per_marker(folder: Path) -> Path:
    for r, m in enumerate(MARKERS):
        Grid(["Candidate", "Mark"], [[s, score(n, r)] for n, s in enumerate(SCRIPTS)]).write(
            folder / f"{m}.csv"
        )
    return folder


def per_run(folder: Path) -> Path:
    for k, j in enumerate(JUDGES):
        rows = [[a, j, verdict(n, k)] for n, a in enumerate(ANSWERS)]
        Grid(["answer_id", "judge", "verdict"], rows).write(folder / f"run_{k}.csv")
    return folder


def database(folder: Path) -> Path:
    with sqlite3.connect(folder / "marks.sqlite") as connection:
        connection.execute("create table marks (candidate text, examiner text, mark integer)")
        connection.executemany("insert into marks values (?, ?, ?)", long_panel())
    connection.close()
    return folder / "marks.sqlite"


def by_ranks(r: int) -> list[int]:
    """The places that a marker gives to all scripts."""
    order = sorted(range(len(SCRIPTS)), key=lambda n: (-score(n, r, top=40), n))
    return [1 + order.index(n) for n in range(len(SCRIPTS))]


PLACES = [by_ranks(r) for r in range(5)]
RANKED: Rows = sorted(
    (s, m, "all", len(SCRIPTS) - PLACES[r][n]) for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)
)
MEMBERS: Rows = sorted(
    (s, m, i, score(n, r, k))
    for n, s in enumerate(SCRIPTS)
    for r, m in enumerate(MARKERS)
    for k, i in enumerate(("Content", "Style"))
)
CODED = missing_words("ABS", "DNS", "W/D")
FRENCH = missing_words("absent", "dispensé")
SPANISH = missing_words("no presentado", "exento")
COPIES = long_panel()
LETTERS = ["F", "E", "D", "C", "B", "A"]
TEXTS = [f"The answer is {'long' if n % 2 else 'short'} and on topic." for n in range(len(ANSWERS))]

THIRD = [
    Habit(
        "Erst- und Zweitkorrektur",
        csv_file(
            [
                "Prüfling",
                "Erstkorrektor",
                "Punkte Erstkorrektor",
                "Zweitkorrektor",
                "Punkte Zweitkorrektor",
                "Endpunkte",
            ],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            separator=";",
        ),
        DOUBLED,
    ),
    Habit(
        "readers by name",
        csv_file(
            [
                "Essay ID",
                "Reader 1 Name",
                "Reader 1 Score",
                "Reader 2 Name",
                "Reader 2 Score",
                "Resolved Score",
            ],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "correcteur 1 et 2",
        csv_file(
            ["N° candidat", "Correcteur 1", "Note 1", "Correcteur 2", "Note 2", "Note finale"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "two criteria of each examiner",
        csv_file(
            ["Candidate", "Examiner A", "A content", "A style", "Examiner B", "B content", "B style"],
            [
                [s, MARKERS[a], score(n, a, 0), score(n, a, 1), MARKERS[b], score(n, b, 0), score(n, b, 1)]
                for n, (s, a, b) in enumerate(
                    (row[0], MARKERS.index(row[1]), MARKERS.index(row[3]))
                    for row in double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y])
                )
            ],
        ),
        DOUBLED_ITEMS,
    ),
    Habit(
        "double marking under a title",
        sheet(
            [
                ["Summer series, component 2"],
                [],
                ["Script no.", "First marker", "First mark", "Second marker", "Second mark", "Agreed mark"],
                *double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            ]
        ),
        DOUBLED,
    ),
    Habit(
        "ranks in long form",
        csv_file(
            ["essay", "judge", "rank"],
            [[s, m, PLACES[r][n]] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)],
        ),
        RANKED,
        asks=True,
    ),
    Habit(
        "ranks of each judge in a column",
        csv_file(
            ["essay", *MARKERS], [[s, *(PLACES[r][n] for r in range(5))] for n, s in enumerate(SCRIPTS)]
        ),
        RANKED,
        asks=True,
    ),
    Habit("codes for absence", csv_file(["candidate", "examiner", "mark"], CODED[0]), CODED[1]),
    Habit("absents et dispensés", csv_file(["candidat", "correcteur", "note"], FRENCH[0]), FRENCH[1]),
    Habit("no presentados", csv_file(["alumno", "evaluador", "calificación"], SPANISH[0]), SPANISH[1]),
    Habit(
        "a few rows pasted twice",
        csv_file(["candidate", "examiner", "mark"], [*COPIES, *COPIES[10:13]]),
        PANEL,
        asks=True,
    ),
    Habit(
        "seeds, once more",
        csv_file(
            ["id", "judge", "seed", "verdict"],
            [
                [a, j, 41 + d, ["fail", "pass"][verdict(n, k, d)]]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
        ),
        DRAWN,
    ),
    Habit(
        "true and false",
        judged("booleans", lambda n, a, k, j: {"id": a, "judge": j, "verdict": bool(verdict(n, k))}),
        JUDGED,
    ),
    Habit(
        "plain repeats, once more",
        json_file(
            [
                {"id": a, "judge": j, "verdict": verdict(n, k, d)}
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
            "repeats.jsonl",
        ),
        DRAWN,
    ),
    Habit(
        "texts beside an id",
        judged(
            "texts",
            lambda n, a, k, j: {
                "id": a,
                "prompt": "Explain.",
                "completion": TEXTS[n],
                "judge": j,
                "score": score(n, k),
            },
        ),
        SCALED,
    ),
    Habit(
        "a log with its costs",
        judged(
            "costs",
            lambda n, a, k, j: {
                "sample_id": a,
                "judge_model": j,
                "temperature": 0.2 * k,
                "latency_ms": 300 + n,
                "prompt_tokens": 200 + n % 7,
                "cost_usd": 0.001 * n,
                "label": ["fail", "pass"][verdict(n, k)],
            },
        ),
        JUDGED,
    ),
    Habit(
        "a reference label beside verdicts",
        judged(
            "reference",
            lambda n, a, k, j: {"id": a, "judge": j, "score": verdict(n, k), "reference_label": gold(n)},
        ),
        JUDGED,
    ),
    Habit(
        "judges as keys",
        answered(
            "keys.jsonl", lambda n, a: {"id": a, "scores": {j: verdict(n, k) for k, j in enumerate(JUDGES)}}
        ),
        JUDGED,
    ),
    Habit(
        "a list of evaluations",
        answered(
            "evaluations.jsonl",
            lambda n, a: {
                "answer_id": a,
                "evaluations": [{"evaluator": j, "rating": score(n, k)} for k, j in enumerate(JUDGES)],
            },
        ),
        SCALED,
    ),
    Habit(
        "lists side by side",
        answered(
            "lists.jsonl",
            lambda n, a: {"id": a, "annotators": JUDGES, "labels": [verdict(n, k) for k in range(3)]},
        ),
        JUDGED,
    ),
    Habit(
        "lists side by side in parquet",
        parquet(
            pl.DataFrame(
                {
                    "id": ANSWERS,
                    "judges": [JUDGES] * len(ANSWERS),
                    "scores": [[score(n, k) for k in range(3)] for n in range(len(ANSWERS))],
                }
            )
        ),
        SCALED,
    ),
    Habit(
        "pandas by index",
        json_file(
            {
                str(3 * n + k): {"id": a, "judge": j, "score": score(n, k)}
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            }
        ),
        SCALED,
    ),
    Habit(
        "Weights & Biases",
        json_file(
            {
                "columns": ["example_id", "grader", "grade"],
                "data": [[a, j, score(n, k)] for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)],
            },
            "table.table.json",
        ),
        SCALED,
    ),
    Habit("one file per marker", per_marker, PANEL, asks=True),
    Habit("one file per run", per_run, JUDGED),
    Habit(
        "Excel's Unicode text",
        csv_file(["Kandidat", "Prüfer", "Punkte"], long_panel(), separator="\t", encoding="utf-16"),
        PANEL,
    ),
    Habit(
        "a verdict at the end of a text",
        judged(
            "prose",
            lambda n, a, k, j: {
                "id": a,
                "judge": j,
                "judge_output": f"Answer {n} is discussed at some length.\nVerdict: "
                + ["fail", "pass"][verdict(n, k)],
            },
        ),
        JUDGED,
        asks=True,
    ),
    Habit(
        "a score between tags",
        judged(
            "tags",
            lambda n, a, k, j: {
                "id": a,
                "judge": j,
                "response": f"It reads well enough. <score>{score(n, k)}</score>",
            },
        ),
        SCALED,
        asks=True,
    ),
    Habit(
        "answers side by side",
        csv_file(
            ["prompt", "response_a", "response_b", "judge", "winner"],
            [[f"q{n}", "x", "y", j, "ab"[verdict(n, k)]] for n in range(30) for k, j in enumerate(JUDGES)],
        ),
        None,
        refusal="pairwise",
    ),
    Habit(
        "chosen and rejected, once more",
        json_file([{"prompt": f"q{n}", "chosen": "x", "rejected": "y"} for n in range(30)], "dpo.jsonl"),
        None,
        refusal="pairwise",
    ),
    Habit(
        "per cent with the sign",
        csv_file(["student", "teacher", "grade"], [[s, m, f"{20 * y} %"] for s, m, y in long_panel()]),
        PANEL,
    ),
    Habit(
        "marks out of five",
        csv_file(["student", "teacher", "points"], [[s, m, f"{y}/5"] for s, m, y in long_panel()]),
        PANEL,
    ),
    Habit(
        "letter grades",
        csv_file(["student", "teacher", "grade"], [[s, m, LETTERS[y]] for s, m, y in long_panel()]),
        PANEL,
    ),
    Habit(
        "sí y no",
        csv_file(
            ["respuesta", "juez", "correcto"],
            [
                [a, j, ["no", "sí"][verdict(n, k)]]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        JUDGED,
    ),
    Habit(
        "comments above the header",
        csv_file(["# exported by the marking desk"], [["candidate", "examiner", "mark"], *long_panel()]),
        PANEL,
    ),
    Habit(
        "merged headers in Excel",
        sheet(
            [
                ["Script", *(cell for m in MARKERS for cell in (m, None))],
                [None, *["Content", "Style"] * 5],
                *([s, *(score(n, r, k) for r in range(5) for k in (0, 1))] for n, s in enumerate(SCRIPTS)),
            ]
        ),
        MEMBERS,
    ),
    Habit(
        "a form",
        csv_file(
            ["Timestamp", "Email Address", "Which script do you mark?", "Content", "Style"],
            [
                [f"2025-06-0{1 + r} 10:{n:02}:00", m, s, score(n, r, 0), score(n, r, 1)]
                for n, s in enumerate(SCRIPTS)
                for r, m in enumerate(MARKERS)
            ],
        ),
        MEMBERS,
    ),
    Habit("a database", database, PANEL),
    Habit(
        "a row of means below",
        csv_file(
            ["Script", *MARKERS],
            [
                *([s, *(score(n, r) for r in range(5))] for n, s in enumerate(SCRIPTS)),
                ["Mean", *(round(sum(score(n, r) for n in range(24)) / 24, 2) for r in range(5))],
            ],
        ),
        PANEL,
    ),
    Habit(
        "judges with errors",
        judged(
            "errors",
            lambda n, a, k, j: {
                "id": a,
                "judge": j,
                "verdict": "TIMEOUT" if (n + k) % 10 == 3 else ["fail", "pass"][verdict(n, k)],
            },
        ),
        [row for row in JUDGED if (ANSWERS.index(row[0]) + JUDGES.index(row[1])) % 10 != 3],
    ),
]
