"""Exports of annotation, evaluation and observability tools."""

import json
from pathlib import Path

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.tool_exports import (
    Export,
    Row,
    argilla,
    deepeval,
    doccano,
    label_studio,
    label_studio_min,
    lm_eval,
    prodigy,
    promptfoo,
    refuse_aggregates,
)
from raterlens.reading.read import read
from raterlens.reading.read_plan import UncertainError
from tests.reading.corpus import exports


def test_cancelled_annotations_and_other_controls_are_left_out() -> None:
    found = label_studio(exports.label_studio())
    assert found is not None
    assert len(found.rows) == 36
    assert found.passed_over == {"textarea"}


def test_ids_of_people_in_place_of_addresses() -> None:
    tasks = exports.label_studio()
    for task in tasks:
        for annotation in task["annotations"]:
            annotation["completed_by"] = 7
    found = label_studio(tasks)
    assert found is not None
    assert {row.rater for row in found.rows} == {"7"}


def test_free_text_is_no_answer() -> None:
    found = label_studio_min(exports.label_studio_min())
    assert found is not None
    assert {row.item for row in found.rows} == {"verdict"}


def test_discarded_responses_are_left_out() -> None:
    found = argilla(exports.argilla_flat())
    assert found is not None
    assert {row.rater for row in found.rows} == {"Ann", "Bob", "Cleo"}


def test_choices_of_prodigy_and_ignored_ones() -> None:
    record = {"_input_hash": 1, "answer": "accept", "_annotator_id": "a", "accept": ["4"], "options": []}
    found = prodigy([record, record | {"answer": "ignore"}, record | {"accept": ["1", "2"]}])
    assert found is not None
    assert [row.score for row in found.rows] == ["4", None, None]


def test_a_doccano_file_of_one_user_is_refused_with_the_reason(tmp_path: Path) -> None:
    records = [{"id": n, "text": "x", "label": ["good"], "Comments": []} for n in range(3)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(InputError, match="no rater column"):
        read(tmp_path / "x.jsonl")


def test_plain_records_are_no_export() -> None:
    plain = [{"student": 1, "rater": "a", "score": 1}]
    assert all(tool(plain) is None for tool in (label_studio, label_studio_min, argilla, prodigy, doccano))


def test_a_verdict_that_could_not_be_read_is_missing_not_a_fail(tmp_path: Path) -> None:
    found = promptfoo(exports.promptfoo())
    assert found is not None
    assert {row.score for row in found.rows if row.rater == "third"} == {None}
    run = deepeval(exports.deepeval())
    assert run is not None
    assert {row.score for row in run.rows if row.rater == "llama"} == {None}
    exports.document(exports.inspect())(tmp_path / "log.json")
    notes = read(tmp_path / "log.json").notes
    assert any(
        "2 verdicts could not be read from the judge's answer: missing, not a fail" in note for note in notes
    )


def test_several_providers_and_prompts_are_as_many_answers() -> None:
    document = exports.promptfoo()
    results = document["results"]["results"]
    document["results"]["results"] = [
        *results,
        *(result | {"provider": {"id": "other"}, "promptIdx": 1} for result in results),
    ]
    found = promptfoo(document)
    assert found is not None
    assert len({row.student for row in found.rows}) == 24


def test_with_one_evaluation_model_its_metrics_are_the_raters() -> None:
    document = exports.deepeval()
    for case in document["testCases"]:
        case["metricsData"] = [
            metric for metric in case["metricsData"] if metric["evaluationModel"] == "gpt-4o"
        ]
    found = deepeval(document)
    assert found is not None
    assert {row.rater for row in found.rows} == {"Correctness [0]", "Correctness [1]"}


def test_scores_behind_passes_are_asked_about(tmp_path: Path) -> None:
    document = exports.deepeval()
    for n, case in enumerate(document["testCases"]):
        for metric in case["metricsData"]:
            metric["score"] = n % 4
    exports.document(document)(tmp_path / "run.json")
    with pytest.raises(UncertainError, match=r"accept it with score='score', or .* score='metric_score'"):
        read(tmp_path / "run.json")
    assert read(tmp_path / "run.json", score="score").n_categories == 2
    assert read(tmp_path / "run.json", score="metric_score").n_categories == 4


def test_one_metric_without_raters_is_asked_about(tmp_path: Path) -> None:
    exports.lines([line for line in exports.lm_eval() if line["filter"] == "strict-match"])(
        tmp_path / "samples.jsonl"
    )
    with pytest.raises(UncertainError, match="the metric 'exact_match' alone, and no rater"):
        read(tmp_path / "samples.jsonl")
    assert read(tmp_path / "samples.jsonl", rater="rater").n_raters == 1


def test_metrics_under_one_filter_go_by_their_names() -> None:
    found = lm_eval([record for record in exports.lm_eval() if record["filter"] == "strict-match"])
    assert found is not None
    assert {row.rater for row in found.rows} == {"exact_match"}


def test_averages_are_refused() -> None:
    with pytest.raises(InputError, match="run it with --log_samples"):
        refuse_aggregates({"results": {}, "configs": {}, "versions": {}}, "results.json")


def test_one_item_needs_no_column_and_what_is_passed_over_is_said() -> None:
    export = Export(
        "a tool's export", "so and so", [Row("a", "x", "all", 1), Row("b", None, "all", 0)], {"textarea"}
    )
    table = export.table("f.json")
    assert table.columns == ("student", "rater", "score")
    assert [finding.note for finding in table.findings] == [
        "a tool's export: so and so",
        "answers of type 'textarea': left out: no scores",
    ]


def test_an_export_without_scores() -> None:
    with pytest.raises(
        InputError, match=r"'f.json' is a tool's export without scores, only 'textarea'; export choices"
    ):
        Export("a tool's export", "so and so", [], {"textarea"}).table("f.json")
