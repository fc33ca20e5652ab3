"""Files in which columns of other kinds stand beside the scores, and surveys, pivots and records of other shapes."""

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.reading.corpus.habits import (
    DOUBLE,
    DOUBLED,
    MARKERS,
    PANEL,
    SCRIPTS,
    Habit,
    Rows,
    csv_file,
    json_file,
    score,
)
from tests.reading.corpus.truth import workbook

WIDE = [[s, *(score(n, r) for r in range(5))] for n, s in enumerate(SCRIPTS)]
ITEMS = ("content", "style")
BY_ITEM: Rows = sorted(
    (s, m, item, score(n, r, i))
    for n, s in enumerate(SCRIPTS)
    for r, m in enumerate(MARKERS)
    for i, item in enumerate(ITEMS)
)
GRADED = ["very poor", "poor", "average", "good", "very good", "excellent"]
LEVELS = ["A2", "A2+", "B1", "B1+", "B2", "B2+"]


def beside(*more: Any) -> list[list[Any]]:
    """Two scores per row, and what else stands in it."""
    return [
        [s, m, score(n, r), score(n, r, 1), *(one(n, r) for one in more)]
        for n, s in enumerate(SCRIPTS)
        for r, m in enumerate(MARKERS)
    ]


def seen_by_two(n: int, r: int) -> bool:
    return r < 2 or n % 3 == 0


def posters(folder: Path) -> Path:
    """A survey: whoever answers has a row, whatever is rated a column."""
    head = ["Timestamp", "Response ID", *(f"How good is it? [Poster {letter}]" for letter in "ABCDEFGHJKLM")]
    rows = [[f"2025-05-{1 + r:02} 10:00", 900 + 7 * r, *(score(n, r) for n in range(12))] for r in range(5)]
    return csv_file(head, rows)(folder)


def with_a_second_table(folder: Path) -> Path:
    path = csv_file(["script", "marker", "mark", "late"], [[s, m, y, "no"] for s, m, _, y in PANEL])(folder)
    path.write_text(path.read_text() + "\nWeights,1.0\nRounding,up\n")
    return path


def pivoted(folder: Path) -> Path:
    lines = [
        ["marker", *(m for m in MARKERS for _ in ITEMS)],
        ["item", *(item for _ in MARKERS for item in ITEMS)],
        ["script", *[""] * 10],
        *([s, *(score(n, r, i) for r in range(5) for i in range(2))] for n, s in enumerate(SCRIPTS)),
    ]
    (folder / "pivot.csv").write_text("\n".join(",".join(map(str, line)) for line in lines))
    return folder / "pivot.csv"


def a_file_per_annotator(folder: Path) -> Path:
    """As doccano exports a project: nothing within says who labelled."""
    with zipfile.ZipFile(folder / "project.zip", "w") as archive:
        for r, m in enumerate(MARKERS[:3]):
            lines = [
                {"id": s, "text": f"Text of {s}", "label": [f"{score(n, r)}_stars"], "Comments": []}
                for n, s in enumerate(SCRIPTS)
            ]
            archive.writestr(f"{m}.jsonl", "\n".join(map(json.dumps, lines)))
    return folder / "project.zip"


def by_panellist(folder: Path) -> Path:
    people = ("Chair", "HR", "External")
    head = ["Ref", *(f"{person} / {item}" for person in people for item in ITEMS), "Total"]
    rows = [[score(n, r, i) for r in range(3) for i in range(2)] for n in range(len(SCRIPTS))]
    sheet: list[list[Any]] = [head, *([s, *row, sum(row)] for s, row in zip(SCRIPTS, rows, strict=True))]
    workbook(folder / "panel.xlsx", {"Scores": sheet})
    return folder / "panel.xlsx"


SIXTH = [
    Habit(
        "the most points there are, and another person's yes",
        csv_file(
            ["Student ID", "Graded by", "content - Points", "style - Points", "Possible Points", "Self?"],
            beside(lambda n, r: 16, lambda n, r: "yes" if n == r else "no"),
        ),
        BY_ITEM,
    ),
    Habit(
        "numbers about the essay beside its scores",
        csv_file(
            ["essay_id", *(f"score_r{r}" for r in range(1, 6)), "female", "age", "words", "share"],
            [[*row, n % 2, 30 + n % 9, 300 + 7 * n, n / 37] for n, row in enumerate(WIDE)],
        ),
        sorted((s, f"r{r + 1}", "all", score(n, r)) for n, s in enumerate(SCRIPTS) for r in range(5)),
    ),
    Habit(
        "a share of all points",
        csv_file(
            ["script", "marker", *ITEMS, "grade"],
            [[*row, round(100 * (row[2] + row[3]) / 10, 1)] for row in beside()],
        ),
        BY_ITEM,
    ),
    Habit(
        "words of praise that no list has together",
        csv_file(["script", "marker", "view"], [[s, m, GRADED[y]] for s, m, _, y in PANEL]),
        PANEL,
    ),
    Habit(
        "levels of a language with plus",
        csv_file(["alumno", "evaluador", "nivel"], [[s, m, LEVELS[y]] for s, m, _, y in PANEL]),
        PANEL,
    ),
    Habit(
        "codes that nobody knows among marks",
        csv_file(
            ["script", "marker", "mark"],
            [[s, m, "ZZ" if place % 17 == 3 else y] for place, (s, m, _, y) in enumerate(PANEL)],
        ),
        [row for place, row in enumerate(PANEL) if place % 17 != 3],
        asks=True,
    ),
    Habit(
        "a third reader for some, on all criteria",
        csv_file(
            ["script", *(f"NOTE_K{i}_L{r}" for r in (1, 2, 3) for i in (1, 2)), "age"],
            [
                [s, *(score(n, r, i) if seen_by_two(n, r) else "" for r in range(3) for i in range(2)), 41]
                for n, s in enumerate(SCRIPTS)
            ],
        ),
        sorted(
            (s, f"L{r + 1}", f"K{i + 1}", score(n, r, i))
            for n, s in enumerate(SCRIPTS)
            for r in range(3)
            for i in range(2)
            if seen_by_two(n, r)
        ),
    ),
    Habit(
        "markers beside their marks, whatever both are called",
        csv_file(
            ["Prüfling", "Erstkorrektor", "EK", "Zweitkorrektor", "ZK"],
            [[s, MARKERS[a], score(n, a), MARKERS[b], score(n, b)] for n, (s, a, b) in enumerate(DOUBLE)],
        ),
        DOUBLED,
    ),
    Habit(
        "a row per answer to a survey",
        posters,
        sorted(
            (f"{letter}]", str(900 + 7 * r), "all", score(n, r))
            for n, letter in enumerate("ABCDEFGHJKLM")
            for r in range(5)
        ),
        asks=True,
    ),
    Habit("a second table below", with_a_second_table, PANEL),
    Habit("a pivoted table", pivoted, BY_ITEM),
    Habit(
        "a melted table",
        csv_file(
            ["", "script", "variable", "value"],
            [
                [k, s, f"{m}_{item}", y]
                for k, (s, m, item, y) in enumerate(sorted(BY_ITEM, key=lambda row: (row[1], row[2], row[0])))
            ],
        ),
        BY_ITEM,
    ),
    Habit(
        "a file per annotator",
        a_file_per_annotator,
        sorted((s, m, "all", score(n, r)) for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS[:3])),
        asks=True,
    ),
    Habit(
        "a judge with the name of its prompt",
        json_file(
            [
                {"answer_id": s, "judge": [m, f"prompt-{n % 2}"], "note": "as asked", "score": score(n, r)}
                for n, s in enumerate(SCRIPTS)
                for r, m in enumerate(MARKERS)
            ]
        ),
        PANEL,
    ),
    Habit(
        "panellists before each criterion",
        by_panellist,
        sorted(
            (s, person, item, score(n, r, i))
            for n, s in enumerate(SCRIPTS)
            for r, person in enumerate(("Chair", "HR", "External"))
            for i, item in enumerate(ITEMS)
        ),
    ),
    Habit(
        "student and rater by names that no list has",
        csv_file(["quux", "plugh", *ITEMS, "depth"], beside(lambda n, r: 2 + n % 3)),
        BY_ITEM,
        asks=True,
    ),
    Habit(
        "numbers of candidates with zeros before them",
        csv_file(["Nro", *MARKERS], [[f"{n:05}", *row[1:]] for n, row in enumerate(WIDE)]),
        sorted(
            (f"{n:05}", m, "all", score(n, r)) for n in range(len(SCRIPTS)) for r, m in enumerate(MARKERS)
        ),
    ),
]
