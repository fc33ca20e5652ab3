"""The examples for Inspect AI and promptfoo, run offline."""

import json
import shutil
import subprocess
from importlib import util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from raterlens.app.cli.main import main

EXAMPLES = Path(__file__).parents[2] / "examples"


def loaded(path: Path) -> ModuleType:
    spec = util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("promptfoo")
    verdicts = EXAMPLES / "judge_in_ci" / "verdicts.jsonl"
    main(["judge", str(verdicts), "--known", "human_label", "--save", str(folder / "judges.json"), "--json"])
    return folder / "judges.json"


def test_the_promptfoo_assertion_follows_the_verdicts(measured: Path) -> None:
    check = loaded(EXAMPLES / "promptfoo" / "trusted_judge.py").get_assert
    for row in json.loads(measured.read_text())["judges"]:
        found = check("some output", {"config": {"judge": row["judge"], "file": str(measured)}})
        assert found["pass"] == (row["verdict"] != "not trusted")
        assert row["verdict"] in found["reason"]
        assert 0 <= found["score"] <= 1
    assert not check("", {"config": {"judge": "nobody", "file": str(measured)}})["pass"]


@pytest.mark.nightly
def test_promptfoo_itself_runs_the_assertion(measured: Path) -> None:
    if shutil.which("promptfoo") is None:
        pytest.skip("promptfoo is not installed")
    shutil.copy(EXAMPLES / "promptfoo" / "trusted_judge.py", measured.parent)
    config = {
        "prompts": ["hello"],
        "providers": ["echo"],
        "tests": [
            {
                "assert": [
                    {
                        "type": "python",
                        "value": "file://trusted_judge.py",
                        "config": {"judge": judge, "file": str(measured)},
                    }
                ]
            }
            for judge in ("large", "mini")
        ],
    }
    (measured.parent / "promptfooconfig.json").write_text(json.dumps(config))
    command = ["promptfoo", "eval", "-c", "promptfooconfig.json", "-o", "out.json", "--no-cache"]
    subprocess.run(command, cwd=measured.parent, check=False, capture_output=True, timeout=300)
    results = json.loads((measured.parent / "out.json").read_text())["results"]["results"]
    assert [each["success"] for each in results] == [True, False]


@pytest.mark.nightly
def test_the_metric_runs_in_inspect(tmp_path: Path) -> None:
    inspect_ai = pytest.importorskip("inspect_ai")
    scorer, solver = (pytest.importorskip(f"inspect_ai.{part}") for part in ("scorer", "solver"))
    judge_capability = loaded(EXAMPLES / "inspect_ai" / "judge_metric.py").judge_capability
    rng = np.random.default_rng(1)
    good = rng.random(80) < 0.5
    said = {
        name: np.where(rng.random(80) < share, good, ~good)
        for name, share in {"sharp": 0.95, "coin": 0.5, "fair": 0.8}.items()
    }

    @scorer.scorer(metrics=[judge_capability()])  # type: ignore[untyped-decorator]
    def panel():  # type: ignore[no-untyped-def]
        async def score(state, target):  # type: ignore[no-untyped-def]
            verdicts = {name: int(each[int(state.sample_id)]) for name, each in said.items()}
            return scorer.Score(
                value=float(np.mean(list(verdicts.values()))), metadata={"verdicts": verdicts}
            )

        return score

    @solver.solver  # type: ignore[untyped-decorator]
    def nothing():  # type: ignore[no-untyped-def]
        """No model is called: counting its tokens would need a download."""

        async def solve(state, generate):  # type: ignore[no-untyped-def]
            return state

        return solve

    samples = [
        inspect_ai.dataset.Sample(
            id=place, input="?", target="", metadata={"human_label": int(good[place]) if place < 40 else None}
        )
        for place in range(80)
    ]
    task = inspect_ai.Task(dataset=samples, solver=nothing(), scorer=panel())
    (log,) = inspect_ai.eval(task, model="mockllm/model", display="none", log_dir=str(tmp_path))
    assert log.status == "success", log.error
    metrics = {name: each.value for name, each in log.results.scores[0].metrics.items()}
    assert metrics["sharp"] > metrics["fair"] > metrics["coin"]
