"""The corpus: what tools export.

As written by label-studio-sdk 2.1.2, argilla 2.8.0, deepeval 4.3.1, lm-eval 0.4.13 and inspect-ai 0.3.285
(`tests/support/tool_exports.py` calls their writers); Prodigy 1.15, doccano 1.8 and promptfoo 0.118 as documented.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.reading.corpus.truth import ALL, ITEMS, RATERS, STUDENTS, Rows, marks, truth, verdicts

PEOPLE = ["ann@x.org", "bob@x.org", "cleo@x.org"]
BOTH = truth(raters=PEOPLE, items=ITEMS)
TASKS = [str(n) for n in range(1, 13)]


def document(content: Any) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text(json.dumps(content, indent=2), encoding="utf-8")

    return write


def lines(records: list[dict[str, Any]]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        path.write_text("\n".join(map(json.dumps, records)) + "\n", encoding="utf-8")

    return write


def label_studio() -> list[dict[str, Any]]:
    def result(name: str, s: int, r: int, i: int) -> dict[str, Any]:
        if i == 0:
            return {
                "from_name": name,
                "to_name": "text",
                "type": "rating",
                "value": {"rating": marks(s, r, i)},
            }
        choice = ["Poor", "Fair", "Good", "Very good", "Excellent"][marks(s, r, i)]
        return {"from_name": name, "to_name": "text", "type": "choices", "value": {"choices": [choice]}}

    return [
        {
            "id": s + 1,
            "data": {"text": f"An answer of some length, number {s}"},
            "annotations": [
                {
                    "id": 100 * s + r,
                    "completed_by": {"id": r, "email": person},
                    "was_cancelled": False,
                    "lead_time": 3.2,
                    "result": [
                        {
                            "from_name": "quality",
                            "to_name": "text",
                            "type": "rating",
                            "value": {"rating": marks(s, r, 0)},
                        },
                        {
                            "from_name": "note",
                            "to_name": "text",
                            "type": "textarea",
                            "value": {"text": ["hm"]},
                        },
                    ],
                }
                for r, person in enumerate(PEOPLE)
            ]
            + [{"id": 7, "completed_by": 9, "was_cancelled": True, "result": [result("quality", s, 0, 0)]}],
            "predictions": [],
        }
        for s in range(12)
    ]


def label_studio_min() -> list[dict[str, Any]]:
    return [
        {
            "text": f"An answer of some length, number {s}",
            "id": s + 1,
            "verdict": "Good" if verdicts(s, r, 0) else "Bad",
            "annotator": r + 1,
            "annotation_id": 100 * s + r,
            "created_at": "2026-06-01T10:00:00Z",
            "updated_at": "2026-06-01T10:00:00Z",
            "lead_time": 3.2 + r,
        }
        for s in range(12)
        for r in range(3)
    ]


def label_studio_min_ratings() -> list[dict[str, Any]]:
    plain = label_studio_min()
    for record in plain:
        s, r = record["id"] - 1, record["annotator"] - 1
        del record["verdict"]
        record["quality"] = [{"rating": marks(s, r, 0)}]
    return plain


def argilla_nested() -> list[dict[str, Any]]:
    return [
        {
            "id": student,
            "fields": {"text": "An answer"},
            "metadata": {},
            "suggestions": {},
            "responses": {
                item: [{"value": marks(s, r, i), "user_id": user} for r, user in enumerate(RATERS)]
                for i, item in enumerate(ITEMS)
            },
            "vectors": {},
            "status": "completed",
            "_server_id": f"uuid-{s}",
        }
        for s, student in enumerate(STUDENTS)
    ]


def argilla_flat() -> list[dict[str, Any]]:
    found = []
    for s, student in enumerate(STUDENTS):
        record: dict[str, Any] = {
            "id": student,
            "status": "completed",
            "_server_id": f"uuid-{s}",
            "text": "An answer",
        }
        for i, item in enumerate(ITEMS):
            record[f"{item}.responses"] = [*(marks(s, r, i) for r in range(3)), 0]
            record[f"{item}.responses.users"] = [*RATERS, "Dora"]
            record[f"{item}.responses.status"] = ["submitted"] * 3 + ["discarded"]
        found.append(record)
    return found


def prodigy() -> list[dict[str, Any]]:
    rows = [
        {
            "text": f"An answer of some length, number {s}",
            "label": "HELPFUL",
            "answer": "accept" if verdicts(s, r, 0) else "reject",
            "_input_hash": 1000 + s,
            "_task_hash": 5000 + s,
            "_annotator_id": f"team-{person}",
            "_session_id": f"team-{person}",
            "_timestamp": 1780000000 + s,
        }
        for s in range(12)
        for r, person in enumerate(RATERS)
    ]
    return [*rows, rows[0] | {"answer": "ignore", "_annotator_id": "team-Dora"}]


def doccano() -> list[dict[str, Any]]:
    return [
        {
            "id": s + 1,
            "text": f"An answer, number {s}",
            "meta": {},
            "annotations": [{"label": verdicts(s, r, 0), "user": r + 1} for r in range(3)],
        }
        for s in range(12)
    ]


def doccano_users() -> list[dict[str, Any]]:
    return [
        {
            "id": s + 1,
            "text": f"An answer, number {s}",
            "label": ["good" if verdicts(s, r, 0) else "bad"],
            "Comments": [],
            "user": name,
        }
        for s in range(12)
        for r, name in enumerate(RATERS)
    ]


def promptfoo() -> dict[str, Any]:
    judges = ["openai:gpt-4o", "anthropic:claude"]
    return {
        "evalId": "eval-1",
        "results": {
            "version": 3,
            "prompts": [{"raw": "Answer: {{q}}"}],
            "results": [
                {
                    "promptIdx": 0,
                    "testIdx": s,
                    "provider": {"id": "openai:gpt-4o-mini", "label": ""},
                    "success": True,
                    "score": 1,
                    "gradingResult": {
                        "pass": True,
                        "score": 1,
                        "componentResults": [
                            {
                                "pass": bool(verdicts(s, r, 0)),
                                "score": verdicts(s, r, 0),
                                "reason": "because",
                                "assertion": {"type": "llm-rubric", "value": "is helpful", "provider": judge},
                            }
                            for r, judge in enumerate(judges)
                        ]
                        + [
                            {
                                "pass": False,
                                "score": 0,
                                "reason": "Could not extract JSON from llm-rubric response",
                                "assertion": {"type": "llm-rubric", "value": "x", "metric": "third"},
                            }
                        ],
                    },
                }
                for s in range(12)
            ],
        },
        "config": {},
    }


def deepeval() -> dict[str, Any]:
    return {
        "testFile": "test_app.py",
        "testCases": [
            {
                "name": f"test_case_{s}",
                "input": "?",
                "actualOutput": "!",
                "success": True,
                "metricsData": [
                    {
                        "name": f"Correctness [{k}]",
                        "threshold": 0.5,
                        "success": bool(verdicts(s, r, k)),
                        "score": 0.7,
                        "evaluationModel": judge,
                        "strictMode": False,
                    }
                    for k in range(2)
                    for r, judge in enumerate(("gpt-4o", "claude"))
                ]
                + [
                    {
                        "name": "Correctness [0]",
                        "threshold": 0.5,
                        "success": False,
                        "score": None,
                        "evaluationModel": "llama",
                        "error": "invalid JSON",
                    }
                ],
                "order": s,
            }
            for s in range(12)
        ],
        "conversationalTestCases": [],
    }


def lm_eval() -> list[dict[str, Any]]:
    return [
        {
            "doc_id": s,
            "doc": {"question": "?", "answer": "!"},
            "target": "!",
            "arguments": [["?"]],
            "resps": [["!"]],
            "filtered_resps": ["!"],
            "filter": name,
            "metrics": ["exact_match"],
            "doc_hash": "a",
            "prompt_hash": "b",
            "target_hash": "c",
            "exact_match": float(verdicts(s, r, 0)),
        }
        for r, name in enumerate(("strict-match", "flexible-extract"))
        for s in range(12)
    ]


def inspect() -> dict[str, Any]:
    def score(s: int, r: int) -> dict[str, Any]:
        if s == 11 and r == 2:
            return {"value": "I", "explanation": "Grade not found in model output: I would rather not say"}
        if s == 10 and r == 2:
            return {"value": float("nan"), "reason": "grader_failed"}
        return {"value": "C" if verdicts(s, r, 0) else "I", "explanation": "because"}

    samples = [
        {"id": student, "epoch": 1, "scores": {f"judge_{r}": score(s, r) for r in range(3)}}
        for s, student in enumerate(STUDENTS)
    ]
    return {"version": 2, "status": "success", "eval": {"task": "demo", "model": "mock"}, "samples": samples}


def nested() -> dict[str, Any]:
    return {
        "exam": "June",
        "ratings": [{"student": s, "rater": r, "item": i, "score": y} for s, r, i, y in truth(items=ITEMS)],
    }


def _judged(raters: list[str], students: list[str], items: list[str]) -> Rows:
    return truth(verdicts, raters=raters, students=students, items=items)


_INSPECT = [
    row
    for row in _judged(["judge_0", "judge_1", "judge_2"], STUDENTS, [ALL])
    if not (row[1] == "judge_2" and row[0] in ("S11", "S12"))
]

EXPORTS = [
    ("Label Studio, JSON", document(label_studio()), truth(raters=PEOPLE, students=TASKS), "export.json"),
    (
        "Label Studio, JSON-MIN, choices",
        document(label_studio_min()),
        _judged(["1", "2", "3"], TASKS, [ALL]),
        "export.json",
    ),
    (
        "Label Studio, JSON-MIN, ratings",
        document(label_studio_min_ratings()),
        truth(raters=["1", "2", "3"], students=TASKS),
        "export.json",
    ),
    ("Argilla, nested", document(argilla_nested()), truth(items=ITEMS), "records.json"),
    ("Argilla, as Hugging Face datasets have it", lines(argilla_flat()), truth(items=ITEMS), "train.jsonl"),
    (
        "Prodigy",
        lines(prodigy()),
        _judged([f"team-{r}" for r in RATERS], [str(1000 + n) for n in range(12)], [ALL]),
        "annotations.jsonl",
    ),
    ("doccano, annotations by user", lines(doccano()), _judged(["1", "2", "3"], TASKS, [ALL]), "all.jsonl"),
    (
        "doccano, files of users put together",
        lines(doccano_users()),
        _judged(RATERS, TASKS, [ALL]),
        "all.jsonl",
    ),
    (
        "promptfoo",
        document(promptfoo()),
        _judged(
            ["llm-rubric by openai:gpt-4o", "llm-rubric by anthropic:claude"],
            [f"test {n}" for n in range(12)],
            [ALL],
        ),
        "output.json",
    ),
    (
        "DeepEval",
        document(deepeval()),
        _judged(
            ["gpt-4o", "claude"],
            [f"test_case_{n}" for n in range(12)],
            ["Correctness [0]", "Correctness [1]"],
        ),
        ".latest_test_run.json",
    ),
    (
        "lm-evaluation-harness",
        lines(lm_eval()),
        _judged(
            ["exact_match, strict-match", "exact_match, flexible-extract"], [str(n) for n in range(12)], [ALL]
        ),
        "samples.jsonl",
    ),
    ("Inspect AI, two verdicts unread", document(inspect()), _INSPECT, "log.json"),
    ("a list within a document", document(nested()), truth(items=ITEMS), "data.json"),
]
