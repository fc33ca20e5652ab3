"""Files as exam boards and teams with LLM judges have them, by the habits and tools that made them."""

import json
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tests.reading.corpus.truth import Grid, workbook

Rows = list[tuple[str, str, str, int]]
MARKERS = ["Okafor", "Lindqvist", "Moreau", "Baptiste", "Yilmaz"]
JUDGES = ["gpt-4.1", "claude-sonnet-4", "qwen-2.5-72b"]
SCRIPTS = [f"K{1040 + 3 * n}" for n in range(24)]
ANSWERS = [f"a-{n:03}" for n in range(30)]


@dataclass(frozen=True)
class Habit:
    """A file and what is to be read from it; `rows` None where it is to be refused with `refusal` in the message."""

    name: str
    write: Callable[[Path], Path]
    """Into a folder; returns what is to be read."""
    rows: Rows | None
    refusal: str = ""
    asks: bool = False
    answer: dict[str, Any] = field(default_factory=dict)
    """A person's answer to what the proposal leaves open."""
    known: dict[str, int] | None = None
    """Known answers by student, where the file has them."""


def csv_file(header: list[str], rows: list[list[Any]], **more: Any) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / "table.csv"
        Grid(header, rows, **more).write(path)
        return path

    return write


def json_file(content: Any, name: str = "log.json") -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        path = folder / name
        lines = name.endswith("jsonl")
        text = "\n".join(json.dumps(one) for one in content) if lines else json.dumps(content)
        path.write_text(text, encoding="utf-8")
        return path

    return write


def ability(n: int) -> float:
    return random.Random(100 + n).gauss(0, 1)


def score(n: int, rater: int, item: int = 0, top: int = 5) -> int:
    """Rater by rater as people mark: ability, severity and noise."""
    draw = random.Random(10_000 * n + 100 * rater + item)
    middle = top / 2 + top / 4 * ability(n) + 0.3 * (rater - 2) + draw.gauss(0, 0.6)
    return min(max(round(middle), 0), top)


def verdict(n: int, rater: int, draw: int = 0) -> int:
    return int(ability(n) + 0.3 * (rater - 1) + random.Random(1000 * n + 10 * rater + draw).gauss(0, 0.7) > 0)


def gold(n: int) -> int:
    return int(ability(n) > 0)


def pair(n: int) -> tuple[int, int]:
    first, second = random.Random(n).sample(range(5), 2)
    return first, second


DOUBLE = [(script, *pair(n)) for n, script in enumerate(SCRIPTS)]
DOUBLED: Rows = sorted(
    (script, MARKERS[r], "all", score(n, r)) for n, (script, *two) in enumerate(DOUBLE) for r in two
)
DOUBLED_ITEMS: Rows = sorted(
    (script, MARKERS[r], item, score(n, r, i))
    for n, (script, *two) in enumerate(DOUBLE)
    for r in two
    for i, item in enumerate(("content", "style"))
)
JUDGED: Rows = sorted(
    (answer, judge, "all", verdict(n, j))
    for n, answer in enumerate(ANSWERS)
    for j, judge in enumerate(JUDGES)
)
GOLD = {answer: gold(n) for n, answer in enumerate(ANSWERS)}
SCALED: Rows = sorted(
    (answer, judge, "all", score(n, j)) for n, answer in enumerate(ANSWERS) for j, judge in enumerate(JUDGES)
)
DRAWN: Rows = sorted(
    (answer, judge, "all", verdict(n, j, d))
    for n, answer in enumerate(ANSWERS)
    for j, judge in enumerate(JUDGES)
    for d in range(3)
)
PANEL: Rows = sorted(
    (script, m, "all", score(n, r)) for n, script in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)
)


def double(form: Callable[[str, int, int, int, int], list[Any]]) -> list[list[Any]]:
    return [form(s, a, score(n, a), b, score(n, b)) for n, (s, a, b) in enumerate(DOUBLE)]


def agreed(a: int, b: int) -> int:
    return (a + b + 1) // 2


def judgement_rows(*more: Callable[[int, int], Any]) -> list[list[Any]]:
    return [
        [answer, judge, verdict(n, j), *(extra(n, j) for extra in more)]
        for n, answer in enumerate(ANSWERS)
        for j, judge in enumerate(JUDGES)
    ]


def long_panel(write: Callable[[int, int], Any] = score) -> list[list[Any]]:
    return [[s, m, write(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)]


def missing_words(*words: str) -> tuple[list[list[Any]], Rows]:
    """Every ninth mark is a word that stands for a missing one."""
    cells: list[list[Any]] = []
    rows: Rows = []
    for place, (s, m, y) in enumerate(long_panel()):
        if place % 9 == 4:
            cells.append([s, m, words[place // 9 % len(words)]])
        else:
            cells.append([s, m, y])
            rows.append((s, m, "all", y))
    return cells, sorted(rows)


def ranks(rater: int) -> list[int]:
    """1 is best: the place of each script."""
    order = sorted(
        range(len(SCRIPTS)), key=lambda n: -(ability(n) + random.Random(n * 50 + rater).gauss(0, 0.5))
    )
    return [order.index(n) + 1 for n in range(len(SCRIPTS))]


RANKED: Rows = sorted(
    (s, m, "all", len(SCRIPTS) - ranks(r)[n]) for r, m in enumerate(MARKERS) for n, s in enumerate(SCRIPTS)
)

ENGLISH, GERMAN_MISSING = (
    missing_words("ABS", "DNS", "Exempt"),
    missing_words("abwesend", "entschuldigt", "n. b."),
)


def marking_workbook(folder: Path) -> Path:
    path = folder / "marking.xlsx"
    cells: list[list[Any]] = [
        ["Session 2025 – Paper 2"],
        [],
        ["Candidate", "", "1st marking", "", "2nd marking", "", "Moderation"],
        ["Number", "Centre", "Marker", "Mark", "Marker", "Mark", "Moderated mark"],
        *double(lambda s, a, x, b, y: [s, 300 + a, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
    ]
    workbook(path, {"Marks": cells})
    return path


def moodle() -> Callable[[Path], Path]:
    upper = ["Student", "", "", "content", "", "", "style", "", "", "Grading info", ""]
    lower = [
        "First name",
        "Last name",
        "Username",
        *["Score", "Definition", "Feedback"] * 2,
        "Graded by",
        "Time graded",
    ]
    definition = ["None", "Weak", "Fair", "Good", "Strong", "Superb"]
    rows = [
        [
            "Kid",
            f"Nr{n}",
            s,
            *(c for i in (0, 1) for c in (score(n, r, i), definition[score(n, r, i)], "")),
            MARKERS[r],
            "Monday, 3 March 2025, 9:10 AM",
        ]
        for n, (s, *two) in enumerate(DOUBLE)
        for r in two
    ]
    return csv_file(lower, rows, upper=upper)


def qualtrics() -> Callable[[Path], Path]:
    head = ["StartDate", "EndDate", "Progress", "Finished", "ResponseId", "Q1", "Q2", "Q5_1", "Q5_2"]
    texts = [
        "Start Date",
        "End Date",
        "Progress",
        "Finished",
        "Response ID",
        "Who are you?",
        "Which script?",
        "Rate it - content",
        "Rate it - style",
    ]
    imports = [json.dumps({"ImportId": name}) for name in head]
    rows = [
        [
            "2025-05-01 10:00:00",
            "2025-05-01 10:05:00",
            100,
            "True",
            f"R_{n}x{r}",
            MARKERS[r],
            s,
            score(n, r, 0),
            score(n, r, 1),
        ]
        for n, (s, *two) in enumerate(DOUBLE)
        for r in two
    ]
    return csv_file(head, [texts, imports, *rows])


QUALTRICS: Rows = sorted((s, m, f"Rate it - {i}", y) for s, m, i, y in DOUBLED_ITEMS)


def promptfoo() -> Any:
    def result(n: int) -> dict[str, Any]:
        parts = [
            {
                "pass": bool(verdict(n, j)),
                "score": verdict(n, j),
                "reason": "ok",
                "assertion": {"type": "llm-rubric", "metric": judge},
            }
            for j, judge in enumerate(JUDGES)
        ]
        return {
            "id": f"r{n}",
            "testIdx": n,
            "promptIdx": 0,
            "provider": {"id": "openai:gpt-4o", "label": ""},
            "vars": {"answer_id": ANSWERS[n], "expected": gold(n)},
            "metadata": {"topic": "ab"[n % 2]},
            "gradingResult": {"pass": True, "score": 1, "componentResults": parts},
            "latencyMs": 12,
            "cost": 0.1,
        }

    return {"evalId": "e", "results": {"version": 3, "results": [result(n) for n in range(len(ANSWERS))]}}


def deepeval() -> Any:
    cases = [
        {
            "name": answer,
            "input": "q",
            "actualOutput": "a",
            "expectedOutput": "e",
            "order": n,
            "metricsData": [
                {
                    "name": "Correctness [GEval]",
                    "threshold": 0.5,
                    "success": bool(verdict(n, j)),
                    "score": 0.2 + 0.6 * verdict(n, j),
                    "evaluationModel": judge,
                }
                for j, judge in enumerate(JUDGES)
            ],
        }
        for n, answer in enumerate(ANSWERS)
    ]
    return {"testCases": cases, "conversationalTestCases": [], "metricsScores": []}


def inspect_log() -> Any:
    samples = [
        {
            "id": answer,
            "epoch": d + 1,
            "input": "q",
            "target": str(gold(n)),
            "metadata": {"topic": "ab"[n % 2]},
            "scores": {
                judge: {"value": "CI"[1 - verdict(n, j, d)], "explanation": "x"}
                for j, judge in enumerate(JUDGES)
            },
        }
        for n, answer in enumerate(ANSWERS)
        for d in range(3)
    ]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "qa", "model": "openai/gpt"},
        "samples": samples,
    }


def lm_eval(folder: Path) -> Path:
    """One file per model: the same documents, answered by each."""
    for m, model in enumerate(("llama", "mistral")):
        lines = [
            {
                "doc_id": n,
                "doc": {"question": f"q{n}"},
                "target": "x",
                "resps": [["x"]],
                "filter": "none",
                "metrics": ["exact_match", "f1_ok"],
                "exact_match": float(verdict(n, m)),
                "f1_ok": float(verdict(n, m + 2)),
            }
            for n in range(len(ANSWERS))
        ]
        (folder / f"samples_qa_{model}.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return folder


LM_EVAL: Rows = sorted(
    (f"{n}:samples_qa_{model}", metric, "all", verdict(n, m + 2 * k))
    for m, model in enumerate(("llama", "mistral"))
    for n in range(len(ANSWERS))
    for k, metric in enumerate(("exact_match", "f1_ok"))
)


def label_studio() -> Any:
    def annotation(n: int, who: dict[str, Any], value: int, truth: bool) -> dict[str, Any]:
        result = [
            {
                "from_name": "ok",
                "to_name": "text",
                "type": "choices",
                "value": {"choices": [["no", "yes"][value]]},
            }
        ]
        return {"id": n, "completed_by": who, "result": result, "ground_truth": truth, "was_cancelled": False}

    return [
        {
            "id": n,
            "data": {"text": f"text {n}"},
            "annotations": [
                *(
                    annotation(10 * n + j, {"email": f"{judge}@x.org"}, verdict(n, j), False)
                    for j, judge in enumerate(("ada", "ben", "cy"))
                ),
                *([annotation(10 * n + 9, {"email": "lead@x.org"}, gold(n), True)] if n % 2 else []),
            ],
        }
        for n in range(len(ANSWERS))
    ]


LABEL_STUDIO: Rows = sorted(
    (str(n), f"{who}@x.org", "all", verdict(n, j))
    for n in range(len(ANSWERS))
    for j, who in enumerate(("ada", "ben", "cy"))
)


def argilla_parquet(folder: Path) -> Path:
    path = folder / "argilla.parquet"
    pl.DataFrame(
        {
            "id": ANSWERS,
            "text": [f"t{n}" for n in range(len(ANSWERS))],
            "quality.responses": [[verdict(n, j) for j in range(3)] for n in range(len(ANSWERS))],
            "quality.responses.users": [JUDGES] * len(ANSWERS),
            "quality.responses.status": [["submitted"] * 3] * len(ANSWERS),
        }
    ).write_parquet(path)
    return path


def structs_parquet(folder: Path) -> Path:
    path = folder / "hf.parquet"
    pl.DataFrame(
        {
            "uid": ANSWERS,
            "prompt": ["p"] * len(ANSWERS),
            "annotations": [
                [{"annotator": judge, "rating": score(n, j)} for j, judge in enumerate(JUDGES)]
                for n in range(len(ANSWERS))
            ],
        }
    ).write_parquet(path)
    return path


def langfuse() -> Any:
    scores = [
        {
            "id": f"s{n}-{j}",
            "traceId": answer,
            "observationId": None,
            "name": f"helpful-{judge}",
            "value": verdict(n, j),
            "stringValue": ["False", "True"][verdict(n, j)],
            "dataType": "BOOLEAN",
            "source": "EVAL",
            "timestamp": "2025-02-01T10:00:00Z",
            "comment": "c",
        }
        for n, answer in enumerate(ANSWERS)
        for j, judge in enumerate(JUDGES)
    ]
    return {"data": scores, "meta": {"page": 1, "limit": 100, "totalItems": len(scores), "totalPages": 1}}


LANGFUSE: Rows = sorted((s, f"helpful-{j}", i, y) for s, j, i, y in JUDGED)


def phoenix_spans() -> list[dict[str, Any]]:
    return [
        {
            "context.span_id": answer,
            "name": "llm",
            "span_kind": "LLM",
            "start_time": "2025-01-01T00:00:00Z",
            "attributes.input.value": "q",
            "attributes.output.value": "a",
            "attributes.llm.token_count.total": 40 + n,
            **{
                f"eval.{judge}.{what}": value
                for j, judge in enumerate(JUDGES)
                for what, value in (
                    ("label", ["bad", "good"][verdict(n, j)]),
                    ("score", float(verdict(n, j))),
                    ("explanation", "e"),
                )
            },
        }
        for n, answer in enumerate(ANSWERS)
    ]


def braintrust() -> list[dict[str, Any]]:
    return [
        {
            "id": answer,
            "input": "q",
            "output": "o",
            "expected": "e",
            "scores": {judge: verdict(n, j) for j, judge in enumerate(JUDGES)},
            "metadata": {"model": "m", "human_label": gold(n)},
            "metrics": {"tokens": 100 + n, "duration": 1.5},
            "created": "2025-01-01",
        }
        for n, answer in enumerate(ANSWERS)
    ]


def openai_evals() -> list[dict[str, Any]]:
    events = [
        {
            "run_id": "r",
            "event_id": 3 * n + j,
            "sample_id": answer,
            "type": "metrics",
            "data": {"judge": judge, "score": verdict(n, j)},
            "created_by": "",
            "created_at": "2025-01-01",
        }
        for n, answer in enumerate(ANSWERS)
        for j, judge in enumerate(JUDGES)
    ]
    return [{"spec": {"eval_name": "qa", "run_id": "r"}}, *events, {"final_report": {"accuracy": 0.6}}]


def mlflow_table() -> Any:
    columns = [
        "request_id",
        "inputs",
        "outputs",
        *(f"{judge}/value" for judge in JUDGES),
        *(f"{judge}/rationale" for judge in JUDGES),
    ]
    data = [
        [a, "q", "o", *(["no", "yes"][verdict(n, j)] for j in range(3)), "r", "r", "r"]
        for n, a in enumerate(ANSWERS)
    ]
    return {"columns": columns, "data": data}


def folder_of_raters(folder: Path) -> Path:
    """One csv file per marker."""
    for r, marker in enumerate(MARKERS):
        rows = [[s, score(n, r)] for n, s in enumerate(SCRIPTS)]
        Grid(["candidate", "mark"], rows).write(folder / f"{marker}.csv")
    return folder


def encoded(
    encoding: str, student: str, raters: list[str], words: str = ""
) -> tuple[Callable[[Path], Path], Rows]:
    rows = [[s, *(score(n, r) for r in range(len(raters)))] for n, s in enumerate(SCRIPTS)]
    expected = sorted((s, m, "all", score(n, r)) for n, s in enumerate(SCRIPTS) for r, m in enumerate(raters))
    return csv_file([student, *raters], rows, encoding=encoding), expected


GB, BIG5, SJIS, LATIN2 = (
    encoded("gb18030", "学生", ["王老师", "李老师", "张老师"]),
    encoded("big5", "學生", ["陳老師", "林老師", "黃老師"]),
    encoded("shift_jis", "受験者", ["田中先生", "鈴木先生", "佐藤先生"]),
    encoded("iso8859_2", "Zdający", ["Łukasz Wiśniewski", "Żaneta Król", "Paweł Gąsior"]),
)

EXACT = [[s, m, score(n, r)] for n, s in enumerate(SCRIPTS) for r, m in enumerate(MARKERS)]
CLASSES = ["sports", "politics", "science", "travel"]

HABITS = [
    Habit(
        "first and second marker",
        csv_file(
            ["Candidate", "First marker", "First mark", "Second marker", "Second mark", "Agreed mark"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
        ),
        DOUBLED,
    ),
    Habit(
        "examiner A and B",
        csv_file(
            ["Script", "Examiner A", "Examiner A mark", "Examiner B", "Examiner B mark"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y]),
        ),
        DOUBLED,
    ),
    Habit(
        "German double marking",
        csv_file(
            ["Matrikel", "Erstprüfer", "Punkte Erstprüfer", "Zweitprüfer", "Punkte Zweitprüfer", "Endpunkte"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            separator=";",
        ),
        DOUBLED,
    ),
    Habit(
        "French double marking",
        csv_file(
            ["Candidat", "Correcteur 1", "Note 1", "Correcteur 2", "Note 2", "Note finale"],
            double(lambda s, a, x, b, y: [s, MARKERS[a], x, MARKERS[b], y, agreed(x, y)]),
            separator=";",
        ),
        DOUBLED,
    ),
    Habit(
        "several criteria per marker",
        csv_file(
            ["id", "rater1", "content1", "style1", "rater2", "content2", "style2"],
            [
                [s, MARKERS[a], score(n, a, 0), score(n, a, 1), MARKERS[b], score(n, b, 0), score(n, b, 1)]
                for n, (s, a, b) in enumerate(DOUBLE)
            ],
        ),
        DOUBLED_ITEMS,
    ),
    Habit("two header rows of a marking system", marking_workbook, DOUBLED),
    Habit(
        "ranks, one row each",
        csv_file(
            ["entry", "judge", "rank"],
            [[s, m, ranks(r)[n]] for r, m in enumerate(MARKERS) for n, s in enumerate(SCRIPTS)],
        ),
        RANKED,
        asks=True,
    ),
    Habit(
        "ranks in columns",
        csv_file(
            ["Poster", *MARKERS], [[s, *(ranks(r)[n] for r in range(5))] for n, s in enumerate(SCRIPTS)]
        ),
        RANKED,
        asks=True,
    ),
    Habit("absent candidates", csv_file(["candidate", "examiner", "mark"], ENGLISH[0]), ENGLISH[1]),
    Habit(
        "absent candidates in German",
        csv_file(["Prüfling", "Prüfer", "Punkte"], GERMAN_MISSING[0]),
        GERMAN_MISSING[1],
    ),
    Habit("exact copies", csv_file(["script", "marker", "mark"], [*EXACT, *EXACT[:7]]), PANEL, asks=True),
    Habit(
        "conflicting copies",
        csv_file(["script", "marker", "mark"], [*EXACT, *([s, m, (y + 1) % 6] for s, m, y in EXACT[:7])]),
        PANEL,
        asks=True,
        answer={"duplicates": "first"},
    ),
    Habit(
        "draws in a column",
        csv_file(
            ["answer_id", "judge", "verdict", "run"],
            [
                [a, j, verdict(n, k, d), d + 1]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
                for d in range(3)
            ],
        ),
        DRAWN,
    ),
    Habit("Moodle rubric", moodle(), DOUBLED_ITEMS),
    Habit("Qualtrics", qualtrics(), QUALTRICS),
    Habit(
        "a title and units",
        csv_file(
            ["Candidate no.", "Examiner", "Mark (/5)"], long_panel(), plain_above="Marks for June 2025\n\n"
        ),
        PANEL,
    ),
    Habit("GB18030", *GB),
    Habit("Big5", *BIG5),
    Habit("Shift-JIS", *SJIS),
    Habit("Latin-2", *LATIN2),
    Habit(
        "judges among metadata",
        csv_file(
            ["id", *JUDGES, "temperature", "seed", "total_tokens", "latency_ms", "cost_usd", "ts"],
            [
                [a, *(verdict(n, j) for j in range(3)), 0.7, 42, 500 + n, 30 + n % 9, 0.01, 1_700_000_000 + n]
                for n, a in enumerate(ANSWERS)
            ],
        ),
        JUDGED,
    ),
    Habit(
        "expected beside a score",
        csv_file(["id", "judge", "score", "expected"], judgement_rows(lambda n, j: gold(n))),
        JUDGED,
        known=GOLD,
    ),
    Habit(
        "promptfoo",
        json_file(promptfoo()),
        sorted((f"test {ANSWERS.index(s)}", r, i, y) for s, r, i, y in JUDGED),
    ),
    Habit("DeepEval", json_file(deepeval()), JUDGED),
    Habit("Inspect AI with epochs", json_file(inspect_log()), DRAWN),
    Habit("lm-evaluation-harness, one file per model", lm_eval, LM_EVAL, asks=True),
    Habit(
        "Label Studio with ground truth",
        json_file(label_studio()),
        LABEL_STUDIO,
        known={str(n): gold(n) for n in range(1, len(ANSWERS), 2)},
    ),
    Habit("Argilla parquet", argilla_parquet, JUDGED),
    Habit("Langfuse scores", json_file(langfuse()), LANGFUSE),
    Habit(
        "MLflow evaluation table", json_file(mlflow_table()), sorted((s, r, i, y) for s, r, i, y in JUDGED)
    ),
    Habit("Phoenix spans", json_file(phoenix_spans(), "spans.jsonl"), JUDGED),
    Habit(
        "Weights & Biases table",
        json_file({"columns": ["id", "judge", "score"], "data": judgement_rows()}),
        JUDGED,
    ),
    Habit("Braintrust", json_file(braintrust(), "export.jsonl"), JUDGED),
    Habit("OpenAI evals", json_file(openai_evals(), "events.jsonl"), JUDGED),
    Habit("Hugging Face structs", structs_parquet, SCALED),
    Habit(
        "pandas by columns",
        json_file(
            {
                name: {str(k): row[place] for k, row in enumerate(judgement_rows())}
                for place, name in enumerate(("id", "judge", "score"))
            }
        ),
        JUDGED,
    ),
    Habit(
        "judges as objects",
        json_file(
            [
                {
                    "id": a,
                    "judges": {
                        judge: {"score": verdict(n, j), "reason": "r"} for j, judge in enumerate(JUDGES)
                    },
                }
                for n, a in enumerate(ANSWERS)
            ],
            "j.jsonl",
        ),
        JUDGED,
    ),
    Habit(
        "a rating in text",
        csv_file(
            ["id", "judge", "output"],
            [
                [a, j, f"The answer is mostly fine. Rating: [[{score(n, k)}]]"]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        SCALED,
        asks=True,
    ),
    Habit(
        "scores 0 to 5, known pass and fail",
        csv_file(
            ["id", "judge", "score", "ground_truth"],
            [
                [a, j, score(n, k), ["fail", "pass"][gold(n)]]
                for n, a in enumerate(ANSWERS)
                for k, j in enumerate(JUDGES)
            ],
        ),
        SCALED,
    ),
    Habit(
        "classes",
        csv_file(
            ["id", "annotator", "label"],
            [[a, j, CLASSES[score(n, k, 0, 3)]] for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)],
        ),
        None,
        "order",
    ),
    Habit(
        "class codes",
        csv_file(
            ["id", "annotator", "class"],
            [[a, j, score(n, k, 0, 3)] for n, a in enumerate(ANSWERS) for k, j in enumerate(JUDGES)],
        ),
        None,
        "order",
    ),
    Habit(
        "chosen and rejected",
        json_file(
            [
                {
                    "prompt": f"p{n}",
                    "chosen": f"long text {n}",
                    "rejected": f"other text {n}",
                    "annotator": JUDGES[n % 3],
                }
                for n in range(30)
            ],
            "pairs.jsonl",
        ),
        None,
        "pairwise",
    ),
    Habit(
        "preference between two responses",
        csv_file(
            ["prompt_id", "response_1", "response_2", "judge", "preference"],
            [
                [f"p{n}", f"text {n}", f"tekst {n}", j, 1 + verdict(n, k)]
                for n in range(30)
                for k, j in enumerate(JUDGES)
            ],
        ),
        None,
        "pairwise",
    ),
    Habit("a folder of csv files, one per marker", folder_of_raters, PANEL, asks=True),
    Habit(
        "refused and errors",
        json_file(
            [
                {
                    "id": r[0],
                    "judge": r[1],
                    "verdict": "refused"
                    if k % 11 == 3
                    else "ERROR"
                    if k % 11 == 7
                    else ["fail", "pass"][r[2]],
                }
                for k, r in enumerate(judgement_rows())
            ],
            "v.jsonl",
        ),
        sorted((r[0], r[1], "all", r[2]) for k, r in enumerate(judgement_rows()) if k % 11 not in (3, 7)),
    ),
]
