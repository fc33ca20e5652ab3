"""Files whose columns are called by words that no list has, or that only content tells apart."""

import json
import zipfile
from pathlib import Path
from typing import Any

from tests.reading.corpus.habits import (
    ANSWERS,
    DOUBLE,
    DOUBLED_ITEMS,
    JUDGED,
    JUDGES,
    MARKERS,
    PANEL,
    SCALED,
    SCRIPTS,
    Habit,
    Rows,
    csv_file,
    json_file,
    long_panel,
    score,
    verdict,
)
from tests.reading.corpus.truth import workbook

CRITERIA = [(s, m, n, r) for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)]
FEATURES = ("smile", "nod")
CODED: Rows = sorted(
    (s, m, feature, int(score(n, r, i) > 2)) for s, m, n, r in CRITERIA for i, feature in enumerate(FEATURES)
)
BY_ITEM: Rows = sorted(
    (s, m, item, score(n, r, i)) for s, m, n, r in CRITERIA for i, item in enumerate(("content", "style"))
)
FEELINGS = ["Negative", "Neutral", "Positive"]


def zipped(folder: Path) -> Path:
    inner = csv_file(["script", "marker", "mark"], long_panel())(folder)
    with zipfile.ZipFile(folder / "export.zip", "w") as archive:
        archive.write(inner, "export.csv")
    return folder / "export.zip"


def a_sheet_per_class(folder: Path) -> Path:
    rows = [[s, *(score(n, r) for r in range(5))] for n, s in enumerate(SCRIPTS)]
    head = ["Studente", *(f"Commissario {m}" for m in MARKERS)]
    workbook(folder / "classi.xlsx", {"5A": [head, *rows[:12]], "5B": [head, *rows[12:]]})
    return folder / "classi.xlsx"


def a_sheet_per_week(folder: Path) -> Path:
    sheets = {
        f"Week {week}": [
            ["Student", "Steward", "Score"],
            *([s, m, score(n, r, week)] for s, m, n, r in CRITERIA),
        ]
        for week in (1, 2)
    }
    workbook(folder / "weekly.xlsx", sheets)
    return folder / "weekly.xlsx"


WEEKS: Rows = sorted((s, m, "all", score(n, r, week)) for s, m, n, r in CRITERIA for week in (1, 2))


def a_folder_per_model(folder: Path) -> Path:
    """As lm-evaluation-harness logs its samples: files of the same name."""
    for m, model in enumerate(("llama", "mistral")):
        (folder / model).mkdir()
        lines = [
            {
                "doc_id": n,
                "resps": [["x"]],
                "metrics": ["exact", "fuzzy"],
                "exact": verdict(n, m),
                "fuzzy": verdict(n, 2),
            }
            for n in range(len(ANSWERS))
        ]
        (folder / model / "samples.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


LOGGED: Rows = sorted(
    (f"{n}:{model}", metric, "all", verdict(n, k))
    for n in range(len(ANSWERS))
    for m, model in enumerate(("llama", "mistral"))
    for metric, k in (("exact", m), ("fuzzy", 2))
)


def listed_verdicts(n: int, answer: str) -> dict[str, Any]:
    given = [{"judge": j, "verdict": ["incorrect", "correct"][verdict(n, k)]} for k, j in enumerate(JUDGES)]
    return {
        "answer_id": answer,
        "question": f"What is {n} + {n}?",
        "answer": f"It is {2 * n}",
        "verdicts": given,
    }


FIFTH = [
    Habit(
        "a criterion by a word of its own",
        csv_file(
            ["script", "marker", "facette", "mark"],
            [
                [s, m, item, score(n, r, i)]
                for s, m, n, r in CRITERIA
                for i, item in enumerate(("content", "style"))
            ],
        ),
        BY_ITEM,
        asks=True,
    ),
    Habit(
        "features that are absent or present",
        csv_file(
            ["video_id", "coder", "behaviour", "code"],
            [
                [s, m, feature, ["absent", "present"][score(n, r, i) > 2]]
                for s, m, n, r in CRITERIA
                for i, feature in enumerate(FEATURES)
            ],
        ),
        CODED,
    ),
    Habit(
        "a mean that is rounded down",
        csv_file(
            ["Candidate", "Examiner", "content", "style", "Overall band", "Judgement of the two"],
            [
                [s, MARKERS[r], x, y, (x + y) // 2, (x + y) // 2]
                for n, (s, *two) in enumerate(DOUBLE)
                for r in two
                for x, y in [(score(n, r, 0), score(n, r, 1))]
            ],
        ),
        DOUBLED_ITEMS,
    ),
    Habit(
        "Label Studio as csv",
        csv_file(
            ["text", "id", "sentiment", "annotator", "annotation_id", "lead_time"],
            [
                [f"Text number {n}", s, FEELINGS[score(n, r, top=2)], m, 900 + 5 * n + r, 3.5]
                for s, m, n, r in CRITERIA
            ],
        ),
        sorted((s, m, "all", score(n, r, top=2)) for s, m, n, r in CRITERIA),
    ),
    Habit(
        "rows that are numbered beside raters with a column each",
        csv_file(
            ["vpn", *(f"rater{r + 1}" for r in range(5))],
            [[n + 1, *(score(n, r) for r in range(5))] for n in range(24)],
        ),
        sorted((str(n + 1), f"rater{r + 1}", "all", score(n, r)) for n in range(24) for r in range(5)),
    ),
    Habit(
        "scores under a heading without a judge",
        json_file(
            [
                {
                    "id": a,
                    "expected": "x",
                    "scores": {c: verdict(n, k) for k, c in enumerate(("tone", "relevance"))},
                }
                for n, a in enumerate(ANSWERS)
            ],
            "log.jsonl",
        ),
        sorted(
            (a, c, "all", verdict(n, k))
            for n, a in enumerate(ANSWERS)
            for k, c in enumerate(("tone", "relevance"))
        ),
        asks=True,
    ),
    Habit(
        "verdicts in a list, and a question for each answer",
        json_file([listed_verdicts(n, a) for n, a in enumerate(ANSWERS)], "log.jsonl"),
        JUDGED,
    ),
    Habit(
        "an identifier called after the prompt, beside its text and its answer",
        csv_file(
            ["prompt_id", "prompt", "completion", "judge", "rating"],
            [
                [a, f"Write {n}", f"Text {n}", j, score(n, k)]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        SCALED,
    ),
    Habit(
        "seeds with definitive marks, tolerances and differences",
        csv_file(
            ["Examiner", "Seed ID", "Examiner mark", "Definitive mark", "Tolerance", "Difference"],
            [[m, s, score(n, r), 3, 1, score(n, r) - 3] for s, m, n, r in CRITERIA],
        ),
        PANEL,
    ),
    Habit(
        "a short Chinese table",
        csv_file(["考生号", "阅卷员", "得分"], long_panel(), encoding="gb18030"),
        PANEL,
    ),
    Habit(
        "a short Japanese table",
        csv_file(["受験番号", "採点者", "得点"], long_panel(), encoding="shift_jis"),
        PANEL,
    ),
    Habit("a csv file in a zip archive", zipped, PANEL),
    Habit(
        "a sheet per class",
        a_sheet_per_class,
        PANEL,
        asks=True,
    ),
    Habit("a folder per model with files of one name", a_folder_per_model, LOGGED, asks=True),
    Habit(
        "who moderated, and the words of a framework",
        csv_file(
            ["Pupil UPN", "School", "Moderator", "Judgement"],
            [
                [s, f"School {n // 8}", MARKERS[r], ["WTS", "EXS", "GDS"][score(n, r, top=2)]]
                for n, (s, *two) in enumerate(DOUBLE)
                for r in two
            ],
        ),
        sorted((s, MARKERS[r], "all", score(n, r, top=2)) for n, (s, *two) in enumerate(DOUBLE) for r in two),
    ),
    Habit(
        "a teacher's mark beside the moderator's",
        csv_file(
            ["Centre", "Candidate", "Teacher mark", "Moderator mark"],
            [[7, s, score(n, 0), score(n, 1)] for n, s in enumerate(SCRIPTS)],
        ),
        sorted(
            (s, m, "all", score(n, r))
            for n, s in enumerate(SCRIPTS)
            for r, m in enumerate(("Teacher", "Moderator"))
        ),
    ),
    Habit(
        "answers with their annotators in nested lists",
        json_file(
            {
                "project": "p",
                "tasks": [
                    {
                        "task_id": a,
                        "by_annotator": [
                            {"annotator_id": j, "answer": {"rating": score(n, k)}, "ms": 12}
                            for k, j in enumerate(JUDGES)
                        ],
                    }
                    for n, a in enumerate(ANSWERS)
                ],
            }
        ),
        SCALED,
    ),
    Habit(
        "a third rating now and then, and the sum of the others",
        csv_file(
            ["essay_id", "essay_set", "rater1_domain1", "rater2_domain1", "rater3_domain1", "domain1_score"],
            [
                [s, 1, score(n, 0), score(n, 1), score(n, 2) if n % 4 == 0 else "", score(n, 0) + score(n, 1)]
                for n, s in enumerate(SCRIPTS)
            ],
        ),
        sorted(
            (s, f"rater{r + 1}", "all", score(n, r))
            for n, s in enumerate(SCRIPTS)
            for r in range(3)
            if r < 2 or n % 4 == 0
        ),
        asks=True,
    ),
    Habit(
        "answers of several models, turn by turn",
        json_file(
            [
                {
                    "question_id": n // 3,
                    "model": "xyz"[n % 3],
                    "judge": j,
                    "score": score(n, k, turn),
                    "turn": turn,
                    "tstamp": 1e9 + n,
                }
                for n, _ in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for turn in (1, 2)
            ],
            "judgments.jsonl",
        ),
        sorted(
            (f"{n // 3}:{'xyz'[n % 3]}", j, str(turn), score(n, k, turn))
            for n, _ in enumerate(ANSWERS)
            for k, j in enumerate(JUDGES)
            for turn in (1, 2)
        ),
        asks=True,
    ),
    Habit(
        "marks in steps of 40",
        csv_file(
            ["inscrição", "corretor", "comp1", "comp2", "nota final"],
            [
                [s, m, 40 * score(n, r), 40 * score(n, r, 1), 40 * (score(n, r) + score(n, r, 1))]
                for s, m, n, r in CRITERIA
            ],
        ),
        sorted((s, m, f"comp{i + 1}", score(n, r, i)) for s, m, n, r in CRITERIA for i in (0, 1)),
    ),
    Habit(
        "a Greek table",
        csv_file(["Μαθητής", "Βαθμολογητής", "Βαθμός"], long_panel(), encoding="cp1253"),
        PANEL,
    ),
    Habit(
        "numbers of candidates by a word that no list has",
        csv_file(
            ["ref", "marker", "question", "mark"],
            [[s, m, f"Q{i + 1}", score(n, r, i)] for s, m, n, r in CRITERIA for i in (0, 1)],
        ),
        sorted((s, m, f"Q{i + 1}", score(n, r, i)) for s, m, n, r in CRITERIA for i in (0, 1)),
        asks=True,
    ),
    Habit(
        "games of two answers in lists",
        json_file(
            [
                {
                    "id": a,
                    "model": "m",
                    "judge": "j",
                    "games": [{"score": "A>B"}, {"score": "B>A" if n % 2 else "A=B"}],
                }
                for n, a in enumerate(ANSWERS)
            ],
            "x.jsonl",
        ),
        None,
        refusal="compare two answers",
    ),
    Habit(
        "visits and items, both of a word of their own",
        csv_file(
            ["patient_id", "visit", "clinician", "UPDRS_item", "severity_0_4"],
            [
                [s, visit, m, item, score(n, r, i + 5 * visit)]
                for visit in (1, 2)
                for s, m, n, r in CRITERIA
                for i, item in enumerate(("gait", "speech"))
            ],
        ),
        sorted(
            (s, m, item, score(n, r, i + 5 * visit))
            for visit in (1, 2)
            for s, m, n, r in CRITERIA
            for i, item in enumerate(("gait", "speech"))
        ),
        asks=True,
    ),
    Habit("a sheet per week with the raters in a column", a_sheet_per_week, WEEKS, asks=True),
    Habit(
        "words of one's own, a column per rater",
        csv_file(
            ["Statement", *(f"Expert {r + 1}" for r in range(4)), "CVI"],
            [
                [s, *(["unclear", "partly clear", "clear"][score(n, r, top=2)] for r in range(4)), 0.5]
                for n, s in enumerate(SCRIPTS)
            ],
        ),
        None,
        refusal="clear=.,partly clear=.,unclear=.",
    ),
]
