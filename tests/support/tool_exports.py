"""Exports written by the tools' own packages: python -m tests.support.tool_exports FOLDER.

Tried with label-studio-sdk 2.1.2, argilla 2.8.0 and deepeval 4.3.1, too large to be dependencies of the tests;
`raterlens check` then finds 36, 72, 72 and 24 ratings in the four files. `tests/support/inspect_logs.py` does the same
for inspect-ai.
"""

import json
import sys
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_DNS, uuid5

from tests.reading.corpus import exports
from tests.reading.corpus.truth import ITEMS, RATERS, STUDENTS, marks, verdicts

CONFIG = """<View><Text name="text" value="$text"/><Rating name="quality" toName="text"/>
<Choices name="verdict" toName="text"><Choice value="Good"/><Choice value="Bad"/></Choices></View>"""


def label_studio(folder: Path) -> Path:
    """JSON-MIN by the converter, from tasks as the server stores them."""
    from label_studio_sdk.converter import Converter

    tasks = exports.label_studio()
    for task in tasks:
        task["annotations"] = [one for one in task["annotations"] if not one["was_cancelled"]]
        for annotation in task["annotations"]:
            annotation["result"] = [
                result | {"id": f"{annotation['id']}-{result['from_name']}"}
                for result in annotation["result"]
                if result["type"] == "rating"
            ]
    source = folder / "tasks.json"
    source.write_text(json.dumps(tasks))
    Converter(config=CONFIG, project_dir=None).convert_to_json_min(
        str(source), str(folder / "min"), is_dir=False
    )
    return folder / "min" / "result.json"


def argilla(folder: Path, *, flatten: bool) -> Path:
    """Records as `dataset.records.to_list` and `to_json` write them."""
    import argilla as rg
    from argilla.records._io._generic import GenericIO

    users = {name: uuid5(NAMESPACE_DNS, name) for name in RATERS}
    records = [
        rg.Record(
            id=student,
            fields={"text": "An answer"},
            responses=[
                rg.Response(question_name=item, value=marks(s, r, i), user_id=users[name])
                for r, name in enumerate(RATERS)
                for i, item in enumerate(ITEMS)
            ],
        )
        for s, student in enumerate(STUDENTS)
    ]
    path = folder / f"argilla-{flatten}.json"
    path.write_text(json.dumps(GenericIO.to_list(records, flatten=flatten)))
    return path


def deepeval(folder: Path) -> Path:
    """A test run as DeepEval saves it."""
    from deepeval.test_run.api import LLMApiTestCase
    from deepeval.test_run.test_run import TestRun
    from deepeval.tracing.api import MetricData

    run: Any = TestRun(testFile="test_app.py", identifier="x")
    for s in range(12):
        data = [
            MetricData(name="Correctness", success=bool(verdicts(s, r, 0)), score=0.7, evaluationModel=judge)
            for r, judge in enumerate(("gpt-4o", "claude"))
        ]
        run.test_cases.append(
            LLMApiTestCase(
                name=f"test_case_{s}", input="?", actualOutput="!", success=True, metricsData=data, order=s
            )
        )
    path = folder / "run.json"
    with path.open("w") as file:
        run.save(file)
    return path


def main(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for write in (
        label_studio,
        lambda to: argilla(to, flatten=False),
        lambda to: argilla(to, flatten=True),
        deepeval,
    ):
        print(write(folder))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
