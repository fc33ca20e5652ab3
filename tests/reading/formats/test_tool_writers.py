"""Files as the tools themselves write them (`make test-writers`): annotations, evaluations, traces."""

import json
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import raterlens as rl

pytestmark = pytest.mark.nightly
ANSWERS, JUDGES = range(12), range(3)


def verdict(answer: int, judge: int) -> bool:
    return (answer + judge) % 3 > 0


EXPECTED = sorted((answer, judge, int(verdict(answer, judge))) for answer in ANSWERS for judge in JUDGES)


@pytest.fixture(autouse=True)
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is sent anywhere, and files stay here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.setenv("MLFLOW_ENABLE_ASYNC_TRACE_LOGGING", "false")


def found(path: Path, students: list[str], raters: list[str], **options: Any) -> list[tuple[int, int, int]]:
    """Ratings by the places of their answers and judges."""
    ratings = rl.read(path, **options)
    assert ratings.n_items == 1
    rows = ratings.table().select("student", "rater", "score").rows()
    return sorted(
        (students.index(str(student)), raters.index(str(rater)), score) for student, rater, score in rows
    )


@pytest.mark.parametrize("kind", ["JSON", "JSON_MIN", "CSV"])
def test_label_studio(kind: str) -> None:
    converter = pytest.importorskip("label_studio_sdk.converter")
    config = (
        '<View><Text name="text" value="$text"/><Choices name="verdict" toName="text">'
        '<Choice value="pass"/><Choice value="fail"/></Choices></View>'
    )
    tasks = [
        {
            "id": 100 + answer,
            "data": {"text": f"answer {answer}", "system": "ab"[answer % 2]},
            "annotations": [
                {
                    "id": 10 * answer + judge,
                    "completed_by": {"id": judge, "email": f"judge{judge}@example.org"},
                    "result": [
                        {
                            "from_name": "verdict",
                            "to_name": "text",
                            "type": "choices",
                            "value": {"choices": ["pass" if verdict(answer, judge) else "fail"]},
                        }
                    ],
                }
                for judge in JUDGES
            ],
        }
        for answer in ANSWERS
    ]
    Path("tasks.json").write_text(json.dumps(tasks))
    converter.Converter(config, ".", download_resources=False).convert(
        "tasks.json", "out", kind, is_dir=False
    )
    (path,) = Path("out").iterdir()
    people = [f"judge{judge}@example.org" for judge in JUDGES]
    assert found(path, [str(100 + answer) for answer in ANSWERS], people) == EXPECTED
    if kind != "CSV":
        assert [facet.name for facet in rl.read(path, facets="data.system").facets] == ["data.system"]


def test_argilla() -> None:
    rg = pytest.importorskip("argilla")
    users = [UUID(int=judge) for judge in JUDGES]
    records = [
        rg.Record(
            id=f"r{answer}",
            fields={"text": f"answer {answer}"},
            metadata={"system": "ab"[answer % 2]},
            responses=[
                rg.Response(
                    "verdict", "pass" if verdict(answer, judge) else "fail", users[judge], status="submitted"
                )
                for judge in JUDGES
            ],
        )
        for answer in ANSWERS
    ]
    Path("records.json").write_text(json.dumps([record.to_dict() for record in records]))
    names = [f"r{answer}" for answer in ANSWERS]
    assert found(Path("records.json"), names, list(map(str, users))) == EXPECTED


@pytest.mark.parametrize("written", ["saved", "dumped"])
def test_deepeval(written: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPEVAL_RESULTS_FOLDER", "runs")
    deepeval = pytest.importorskip("deepeval")
    metrics, test_case = (pytest.importorskip(f"deepeval.{part}") for part in ("metrics", "test_case"))

    class Judge(metrics.BaseMetric):  # type: ignore[misc, name-defined]
        def __init__(self, title: str = "", shift: int = 0) -> None:
            self.title, self.shift, self.threshold, self.async_mode = title, shift, 0.5, False

        def measure(self, case: Any, *_: object, **__: object) -> float:
            self.score = float(verdict(int(case.input.split()[-1]), self.shift))
            self.success = self.score >= self.threshold
            return self.score

        async def a_measure(self, case: Any, *_: object, **__: object) -> float:
            return self.measure(case)

        def is_successful(self) -> bool:
            return self.success

        @property
        def __name__(self) -> str:
            return self.title

    cases = [test_case.LLMTestCase(input=f"question {answer}", actual_output="x") for answer in ANSWERS]
    names = [f"judge {judge}" for judge in JUDGES]
    result = deepeval.evaluate(
        test_cases=cases, metrics=[Judge(name, judge) for judge, name in enumerate(names)]
    )
    path = Path("result.json")
    if written == "saved":
        (path,) = Path("runs").glob("*.json")
    else:
        path.write_text(result.model_dump_json())
    assert found(path, [f"test_case_{answer}" for answer in ANSWERS], names) == EXPECTED


@pytest.mark.parametrize("kind", ["eval", "json"])
def test_inspect(kind: str) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    scorer, solver = (pytest.importorskip(f"inspect_ai.{part}") for part in ("scorer", "solver"))

    def judge(shift: int) -> Any:
        @scorer.scorer(metrics=[scorer.accuracy()], name=f"judge {shift}")  # type: ignore[untyped-decorator]
        def made() -> Any:
            async def score(state: Any, target: Any) -> Any:
                return scorer.Score(value="C" if verdict(int(state.sample_id), shift) else "I")

            return score

        return made()

    @solver.solver  # type: ignore[untyped-decorator]
    def nothing() -> Any:
        async def solve(state: Any, generate: Any) -> Any:
            return state

        return solve

    samples = [
        inspect_ai.dataset.Sample(id=answer, input="?", target="", metadata={"system": "ab"[answer % 2]})
        for answer in ANSWERS
    ]
    task = inspect_ai.Task(dataset=samples, solver=nothing(), scorer=[judge(shift) for shift in JUDGES])
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir="logs", log_format=kind)
    assert log.status == "success", log.error
    (path,) = Path("logs").glob(f"*.{kind}")
    assert found(path, list(map(str, ANSWERS)), [f"judge {shift}" for shift in JUDGES]) == EXPECTED


@pytest.mark.parametrize("kind", ["traces", "table"])
def test_mlflow(kind: str) -> None:
    mlflow = pytest.importorskip("mlflow")
    entities = pytest.importorskip("mlflow.entities")
    mlflow.set_tracking_uri(f"sqlite:///{Path.cwd() / 'traces.db'}")  # it is cached by its name
    traces = []
    for answer in ANSWERS:
        with mlflow.start_span(name="answer") as span:
            span.set_outputs(f"answer {answer}")
        traces.append(span.trace_id)
        for judge in JUDGES:
            source = entities.AssessmentSource(source_type="LLM_JUDGE", source_id=f"judge {judge}")
            mlflow.log_feedback(
                trace_id=traces[-1], name="correct", value=verdict(answer, judge), source=source
            )
        if answer < 6:
            mlflow.log_expectation(trace_id=traces[-1], name="correct", value=bool(answer % 2))
    path = Path("traces.json")
    if kind == "traces":
        path.write_text(json.dumps([mlflow.get_trace(trace).to_dict() for trace in traces]))
    else:
        mlflow.search_traces(return_type="pandas").to_json(path, orient="records")
    assert found(path, traces, [f"judge {judge}" for judge in JUDGES]) == EXPECTED
    known = rl.read(path).known
    assert known is not None
    assert sorted(known.answer.tolist()) == [0, 0, 0, 1, 1, 1]
