"""Files that a fourth set, written before it was first read, found misread or not understood."""

from pathlib import Path
from typing import Any

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
    json_file,
    long_panel,
    score,
    verdict,
)
from tests.reading.corpus.third_habits import answered, judged
from tests.reading.corpus.truth import workbook

ORDINALS = ["Primo valutatore", "Voto primo valutatore", "Secondo valutatore", "Voto secondo valutatore"]
STAGES = ["seed", "bud", "leaf", "oak", "fir", "elm"]
BY_SCRIPT = [[s, *(score(n, r) for r in range(5))] for n, s in enumerate(SCRIPTS)]
CRITERIA: Rows = sorted(
    (s, m, item, score(n, r, i))
    for n, s in enumerate(SCRIPTS)
    for r, m in enumerate(MARKERS)
    for i, item in enumerate(("content", "style"))
)
TWO_SCORES = [
    [s, m, score(n, r, 0), score(n, r, 1)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)
]


def with_legend(folder: Path) -> Path:
    """The marks on the second sheet, under a name that says nothing."""
    legend: list[list[Any]] = [["Cijfer", "Betekenis"], [0, "niets"], [5, "uitstekend"]]
    workbook(folder / "marks.xlsx", {"Legenda": legend, "Blad2": [["Leerling", *MARKERS], *BY_SCRIPT]})
    return folder / "marks.xlsx"


def per_marker(folder: Path) -> Path:
    """A file per marker with two criteria."""
    for r, m in enumerate(MARKERS):
        rows = [[s, score(n, r, 0), score(n, r, 1)] for n, s in enumerate(SCRIPTS)]
        csv_file(["script", "content", "style"], rows)(folder).rename(folder / f"{m}.csv")
    return folder


def tested(n: int) -> dict[str, Any]:
    """A result of promptfoo as its JSON Lines have it."""
    given = [
        {
            "pass": bool(verdict(n, k)),
            "score": verdict(n, k),
            "assertion": {"type": "llm-rubric", "metric": j},
        }
        for k, j in enumerate(JUDGES)
    ]
    about = {"testIdx": n, "promptIdx": 0, "provider": {"id": "a"}, "vars": {"topic": f"t{n % 4}"}}
    return about | {"gradingResult": {"pass": True, "componentResults": given}}


TESTED: Rows = sorted((f"test {ANSWERS.index(a)}", j, i, y) for a, j, i, y in JUDGED)


def task(n: int, answer: str) -> dict[str, Any]:
    """A task of Label Studio, now and then with ground truth, which is always "good"."""

    def by(who: Any, good: int, truth: bool) -> dict[str, Any]:
        value = {"choices": [["bad", "good"][good]]}
        result = [{"from_name": "v", "to_name": "t", "type": "choices", "value": value}]
        return {"completed_by": who, "ground_truth": truth, "result": result}

    people = [by(j, verdict(n, k), False) for k, j in enumerate(JUDGES)]
    return {"id": answer, "data": {"t": "x"}, "annotations": people + [by("lead", 1, True)] * (n % 5 == 0)}


def langfuse() -> list[list[Any]]:
    return [
        [f"s{n}-{k}", a, "quality", score(n, k), "ANNOTATION", j]
        for n, a in enumerate(ANSWERS)
        for k, j in enumerate(JUDGES)
    ]


FOURTH = [
    Habit(
        "Italian ordinals with and without capitals",
        csv_file(
            ["Studente", *ORDINALS, "Voto definitivo"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "marker and mark in a language that is not read",
        csv_file(
            ["Ymgeisydd", "Arholwr 1", "Marc 1", "Arholwr 2", "Marc 2"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y]),
        ),
        DOUBLED,
        asks=True,
    ),
    Habit(
        "several criteria per marker, and nobody called a student",
        csv_file(
            ["Inscrição", "Avaliador 1", "content 1", "style 1", "Avaliador 2", "content 2", "style 2"],
            [
                [s, *(x for r in two for x in (MARKERS[r], score(n, r, 0), score(n, r, 1)))]
                for n, (s, *two) in enumerate((s, a, b) for s, a, _, b, _ in double(lambda *row: list(row)))
            ],
        ),
        DOUBLED_ITEMS,
    ),
    Habit(
        "runs of judges called models",
        json_file(
            [
                {"id": a, "model": j, "run": d, "seed": 7 + d, "temperature": 1, "score": verdict(n, k, d)}
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
            "runs.jsonl",
        ),
        DRAWN,
        asks=True,
    ),
    Habit(
        "scores beside metrics of the program",
        answered(
            "log.jsonl",
            lambda n, a: {
                "id": a,
                "scores": {j: verdict(n, k) for k, j in enumerate(JUDGES)},
                "metrics": {"start": 1, "end": 3 + n % 2},
            },
        ),
        JUDGED,
    ),
    Habit(
        "a human gold beside nested judgments",
        answered(
            "log.jsonl",
            lambda n, a: {
                "id": a,
                "judgments": {j: {"score": score(n, k), "tokens": 30} for k, j in enumerate(JUDGES)},
                "human_gold": score(n, 4),
            },
        ),
        SCALED,
    ),
    Habit(
        "first, last and user names beside who graded",
        csv_file(
            ["First name", "Last name", "Username", "Score", "Graded by", "Time graded"],
            [[f"F{s[-1]}", f"L{s[-2:]}", s, y, m, "5 June"] for s, m, y in long_panel()],
        ),
        PANEL,
    ),
    Habit(
        "criteria beside a marker called something else",
        csv_file(["student", "ved", "content", "style"], TWO_SCORES),
        CRITERIA,
        asks=True,
    ),
    Habit("one file per marker with two criteria", per_marker, CRITERIA, asks=True),
    Habit("marks on the second sheet", with_legend, PANEL),
    Habit(
        "promptfoo, one result per line",
        json_file([tested(n) for n in range(len(ANSWERS))], "x.jsonl"),
        TESTED,
    ),
    Habit("ground truth that is always good", json_file([task(n, a) for n, a in enumerate(ANSWERS)]), JUDGED),
    Habit(
        "scores of Langfuse as csv",
        csv_file(["id", "traceId", "name", "value", "source", "authorUserId"], langfuse()),
        SCALED,
    ),
    Habit(
        "ratings within texts, turn by turn",
        judged(
            "mtbench",
            lambda n, a, k, j: {
                "id": a,
                "judge": j,
                "turn": 1,
                "judgment": f"Good. Rating: [[{score(n, k)}]]",
            },
        ),
        SCALED,
        asks=True,
    ),
    Habit(
        "words of one's own",
        csv_file(
            ["pupil", "teacher", "stage"],
            long_panel(lambda n, r: STAGES[score(n, r)]),
        ),
        None,
        refusal="seed=?",
    ),
]
