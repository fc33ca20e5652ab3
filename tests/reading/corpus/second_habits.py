"""More files by the same tools and habits, written down before they were read for the first time."""

from pathlib import Path
from typing import Any

import polars as pl

from tests.reading.corpus.habits import (
    ANSWERS,
    DOUBLE,
    DOUBLED,
    DRAWN,
    GOLD,
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
    missing_words,
    ranks,
    score,
    verdict,
)
from tests.reading.corpus.truth import workbook

WORDS = ["poor", "fair", "good", "very good", "excellent", "outstanding"]


def long_judged(*more: Any) -> list[list[Any]]:
    return [
        [a, j, verdict(n, k), *(f(n, k) for f in more)]
        for n, a in enumerate(ANSWERS)
        for k, j in enumerate(JUDGES)
    ]


def triple() -> tuple[list[list[Any]], Rows]:
    """A third marker only where the first two are apart."""
    cells, rows = [], []
    for n, (s, a, b) in enumerate(DOUBLE):
        x, y = score(n, a), score(n, b)
        c = next(r for r in range(5) if r not in (a, b))
        third = abs(x - y) > 1
        cells.append(
            [s, MARKERS[a], x, MARKERS[b], y, MARKERS[c] if third else "", score(n, c) if third else ""]
        )
        rows += [(s, MARKERS[a], "all", x), (s, MARKERS[b], "all", y)]
        rows += [(s, MARKERS[c], "all", score(n, c))] if third else []
    return cells, sorted(rows)


def marker_sheets(folder: Path) -> Path:
    path = folder / "by_marker.xlsx"
    workbook(
        path,
        {
            m: [["Candidate", "Mark"], *([s, score(n, r)] for n, s in enumerate(SCRIPTS))]
            for r, m in enumerate(MARKERS)
        },
    )
    return path


def two_logs(folder: Path) -> Path:
    for j, judge in enumerate(JUDGES):
        pl.DataFrame(
            {
                "id": ANSWERS,
                "judge": [judge] * len(ANSWERS),
                "score": [verdict(n, j) for n in range(len(ANSWERS))],
            }
        ).write_ndjson(folder / f"{judge}.jsonl")
    return folder


def half(n: int, r: int) -> float:
    return score(n, r, 0, 10) / 2


TRIPLE, SPANISH, FRENCH = (
    triple(),
    missing_words("No presentado", "exento"),
    missing_words("absent", "dispensé", "non noté"),
)
HALVES: Rows = sorted(
    (s, m, "all", score(n, r, 0, 10)) for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)
)
FEW: Rows = sorted(
    (a, j, "all", score(n, k, 0, 4)) for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)
)

SECOND = [
    Habit(
        "Marker, Mark, Marker, Mark",
        csv_file(
            ["Candidate", "Marker", "Mark", "Marker", "Mark"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y]),
        ),
        DOUBLED,
    ),
    Habit(
        "rater_1 and rating_1",
        csv_file(
            ["essay_id", "rater_1", "rating_1", "rater_2", "rating_2", "consensus"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "adjudicated",
        csv_file(
            [
                "Script no.",
                "1st examiner",
                "1st examiner mark",
                "2nd examiner",
                "2nd examiner mark",
                "Adjudicated mark",
            ],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "Dutch double marking",
        csv_file(
            ["Leerling", "Beoordelaar 1", "Cijfer 1", "Beoordelaar 2", "Cijfer 2", "Eindcijfer"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            separator=";",
        ),
        DOUBLED,
    ),
    Habit(
        "Spanish double marking",
        csv_file(
            ["Alumno", "Evaluador 1", "Nota 1", "Evaluador 2", "Nota 2", "Nota final"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            separator=";",
        ),
        DOUBLED,
    ),
    Habit(
        "third marking where needed",
        csv_file(["Candidate", "Marker1", "Mark1", "Marker2", "Mark2", "Marker3", "Mark3"], TRIPLE[0]),
        TRIPLE[1],
    ),
    Habit(
        "German ranks",
        csv_file(
            ["Beitrag", "Juror", "Platz"],
            [[s, m, ranks(r)[n]] for r, m in enumerate(MARKERS) for n, s in enumerate(SCRIPTS)],
        ),
        sorted(
            (s, m, "all", len(SCRIPTS) - ranks(r)[n])
            for r, m in enumerate(MARKERS)
            for n, s in enumerate(SCRIPTS)
        ),
        asks=True,
    ),
    Habit("not presented", csv_file(["Estudiante", "Evaluador", "Nota"], SPANISH[0]), SPANISH[1]),
    Habit(
        "absent in French",
        csv_file(["Élève", "Correcteur", "Points"], FRENCH[0], encoding="cp1252"),
        FRENCH[1],
    ),
    Habit(
        "half points",
        csv_file(
            ["Candidate", "Examiner", "Band"],
            [[s, m, half(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)],
        ),
        HALVES,
    ),
    Habit("a sheet per marker", marker_sheets, PANEL),
    Habit(
        "Japanese long table",
        csv_file(
            ["受験者", "採点者", "得点"],
            [[s, m, score(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)],
            encoding="shift_jis",
        ),
        PANEL,
    ),
    Habit(
        "Russian long table",
        csv_file(
            ["Ученик", "Эксперт", "Балл"],
            [[s, m, score(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)],
            encoding="cp1251",
        ),
        PANEL,
    ),
    Habit(
        "words beside points",
        csv_file(
            ["student", "rater", "level", "points"],
            [
                [s, m, WORDS[score(n, r)], score(n, r)]
                for n, s in enumerate(SCRIPTS)
                for r, m in enumerate(MARKERS)
            ],
        ),
        PANEL,
    ),
    Habit(
        "seeds",
        csv_file(
            ["id", "judge", "seed", "score", "reasoning"],
            [
                [a, j, 100 + d, verdict(n, k, d), "because"]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
        ),
        DRAWN,
    ),
    Habit(
        "plain repeats",
        csv_file(
            ["id", "judge", "score"],
            [
                [a, j, verdict(n, k, d)]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
        ),
        DRAWN,
    ),
    Habit(
        "label beside a verdict",
        json_file(
            [
                dict(zip(("id", "judge", "verdict", "label"), row, strict=True))
                for row in long_judged(lambda n, j: gold(n))
            ],
            "x.jsonl",
        ),
        JUDGED,
        known=GOLD,
    ),
    Habit(
        "text, id and judges",
        json_file(
            [
                {
                    "id": a,
                    "prompt": "same",
                    "response": "same answer",
                    **{j: verdict(n, k) for k, j in enumerate(JUDGES)},
                }
                for n, a in enumerate(ANSWERS)
            ],
            "x.jsonl",
        ),
        JUDGED,
    ),
    Habit(
        "judge objects in a list",
        json_file(
            [
                {
                    "sample_id": a,
                    "target": gold(n),
                    "evaluations": [
                        {"evaluator": j, "score": verdict(n, k), "cost": 0.1} for k, j in enumerate(JUDGES)
                    ],
                }
                for n, a in enumerate(ANSWERS)
            ],
            "x.jsonl",
        ),
        JUDGED,
    ),
    Habit(
        "scores by judge",
        json_file(
            [
                {"id": a, "scores": {j: verdict(n, k) for k, j in enumerate(JUDGES)}, "latency": 1.2}
                for n, a in enumerate(ANSWERS)
            ],
            "x.json",
        ),
        JUDGED,
    ),
    Habit(
        "columns of lists",
        json_file(
            {
                "id": [r[0] for r in long_judged()],
                "judge": [r[1] for r in long_judged()],
                "score": [r[2] for r in long_judged()],
            }
        ),
        JUDGED,
    ),
    Habit(
        "MLflow assessments with an expectation",
        json_file(
            [
                {
                    "info": {"trace_id": a},
                    "assessments": [
                        *(
                            {
                                "name": "ok",
                                "source": {"source_type": "LLM_JUDGE", "source_id": j},
                                "feedback": {"value": bool(verdict(n, k))},
                            }
                            for k, j in enumerate(JUDGES)
                        ),
                        {
                            "name": "ok",
                            "source": {"source_type": "HUMAN", "source_id": "lead"},
                            "expectation": {"value": bool(gold(n))},
                        },
                    ],
                }
                for n, a in enumerate(ANSWERS)
            ]
        ),
        JUDGED,
        known=GOLD,
    ),
    Habit(
        "Phoenix labels only",
        json_file(
            [
                {
                    "span_id": a,
                    "annotation_name": "correct",
                    "annotator_kind": "LLM",
                    "identifier": j,
                    "result": {"label": ["incorrect", "correct"][verdict(n, k)]},
                }
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
            "x.jsonl",
        ),
        JUDGED,
    ),
    Habit(
        "Argilla JSON",
        json_file(
            [
                {
                    "id": a,
                    "fields": {"text": "t"},
                    "metadata": {"split": "x"},
                    "responses": {
                        "quality": [
                            {"user_id": j, "value": verdict(n, k), "status": "submitted"}
                            for k, j in enumerate(JUDGES)
                        ]
                    },
                }
                for n, a in enumerate(ANSWERS)
            ]
        ),
        JUDGED,
    ),
    Habit("a log per judge", two_logs, JUDGED),
    Habit(
        "an answer in text",
        csv_file(
            ["question_id", "judge", "judgment"],
            [
                [a, j, f"Let me think.\nThe answer holds up in parts.\nScore: {score(n, k)}"]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        SCALED,
        asks=True,
    ),
    Habit(
        "expected in words",
        csv_file(
            ["id", "judge", "score", "expected"],
            [
                [a, j, score(n, k), ["no", "yes"][gold(n)]]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        SCALED,
    ),
    Habit(
        "intents",
        csv_file(
            ["utterance_id", "annotator", "intent"],
            [
                [a, j, ["book", "cancel", "ask"][score(n, k, 0, 2)]]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        None,
        "order",
    ),
    Habit(
        "category codes",
        csv_file(
            ["doc_id", "coder", "category"],
            [[a, j, 1 + score(n, k, 0, 3)] for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)],
        ),
        None,
        "order",
    ),
    Habit(
        "left or right",
        csv_file(
            ["judge", "left", "right", "better"],
            [
                [JUDGES[n % 3], f"S{n % 7}", f"S{(n + 3) % 11}", ["left", "right"][verdict(n, 0)]]
                for n in range(40)
            ],
        ),
        None,
        "pairwise",
    ),
    Habit(
        "win rates",
        json_file(
            [
                {
                    "instruction": f"i{n}",
                    "output_1": f"x{n}",
                    "output_2": f"y{n}",
                    "annotator": JUDGES[n % 3],
                    "preference": 1 + verdict(n, 1),
                }
                for n in range(30)
            ],
            "p.jsonl",
        ),
        None,
        "pairwise",
    ),
    Habit(
        "n/a and timeouts",
        json_file(
            [
                {
                    "id": r[0],
                    "judge": r[1],
                    "score": None if k % 13 == 2 else "timeout" if k % 13 == 5 else r[2],
                }
                for k, r in enumerate(long_judged())
            ],
            "x.jsonl",
        ),
        sorted((r[0], r[1], "all", r[2]) for k, r in enumerate(long_judged()) if k % 13 not in (2, 5)),
    ),
    Habit(
        "stars",
        csv_file(
            ["review_id", "annotator", "stars"],
            [
                [a, j, "★" * (1 + score(n, k, 0, 4))]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        sorted((s, r, i, y + 1) for s, r, i, y in FEW),
    ),
    Habit(
        "units and a footer",
        csv_file(
            ["Candidate", "Examiner", "Mark [out of 5]"],
            [[s, m, score(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)],
            plain_above="Board of Studies;;\nPaper 1\n\n",
            plain_below="\nPrinted 3 July 2025 by the office\n",
        ),
        PANEL,
    ),
    Habit(
        "wide with tokens",
        csv_file(
            ["example_id", *(f"{j}_score" for j in JUDGES), *(f"{j}_tokens" for j in JUDGES)],
            [
                [a, *(verdict(n, k) for k in range(3)), *(80 + n + k for k in range(3))]
                for n, a in enumerate(ANSWERS)
            ],
        ),
        JUDGED,
    ),
    Habit(
        "human label among judges",
        csv_file(
            ["id", *(f"{j}_label" for j in JUDGES), "human_label"],
            [[a, *(verdict(n, k) for k in range(3)), gold(n)] for n, a in enumerate(ANSWERS)],
        ),
        sorted([*JUDGED, *((a, "human", "all", gold(n)) for n, a in enumerate(ANSWERS))]),
    ),
    Habit(
        "GB long table",
        csv_file(
            ["考号", "评分员", "题目", "分数"],
            [
                [s, m, i, score(n, r, k)]
                for n, s in enumerate(SCRIPTS)
                for r, m in enumerate(MARKERS)
                for k, i in enumerate(("内容", "语言"))
            ],
            encoding="gb18030",
        ),
        sorted(
            (s, m, i, score(n, r, k))
            for n, s in enumerate(SCRIPTS)
            for r, m in enumerate(MARKERS)
            for k, i in enumerate(("内容", "语言"))
        ),
    ),
    Habit(
        "Qualtrics with two sliders",
        csv_file(
            ["StartDate", "ResponseId", "QID1", "QID2", "QID3_1"],
            [
                ["Start Date", "Response ID", "Your name", "Essay code", "How good is it?"],
                *([f'{{"ImportId":"{c}"}}' for c in ("startDate", "_recordId", "QID1", "QID2", "QID3_1")],),
                *(
                    [
                        ["2025-01-01 08:00:00", f"R_{n}_{r}", m, s, score(n, r)]
                        for n, s in enumerate(SCRIPTS)
                        for r, m in enumerate(MARKERS)
                    ]
                ),
            ],
        ),
        PANEL,
    ),
    Habit(
        "old and new marks of one script",
        csv_file(
            ["script", "examiner", "session", "mark"],
            [
                [s, m, t, score(n, r, t == "June")]
                for n, s in enumerate(SCRIPTS)
                for r, m in enumerate(MARKERS)
                for t in ("January", "June")
            ],
        ),
        sorted(
            (s, m, "all", score(n, r, k))
            for n, s in enumerate(SCRIPTS)
            for r, m in enumerate(MARKERS)
            for k in (0, 1)
        ),
    ),
    Habit(
        "structs of judges in parquet",
        lambda folder: (
            pl.DataFrame(
                {
                    "id": ANSWERS,
                    "judges": [{f"j{k}": verdict(n, k) for k in range(3)} for n in range(len(ANSWERS))],
                }
            ).write_parquet(folder / "x.parquet"),
            folder / "x.parquet",
        )[1],
        sorted((a, f"j{k}", "all", verdict(n, k)) for n, a in enumerate(ANSWERS) for k in range(3)),
    ),
]
