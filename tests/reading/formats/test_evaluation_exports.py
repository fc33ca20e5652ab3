"""Results of evaluation tools that the corpus does not have."""

from pathlib import Path

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.evaluation_exports import deepeval, lm_eval, promptfoo, refuse_aggregates
from raterlens.reading.reader import read
from tests.reading.corpus import exports


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


def test_metrics_under_one_filter_go_by_their_names() -> None:
    found = lm_eval([record for record in exports.lm_eval() if record["filter"] == "strict-match"])
    assert found is not None
    assert {row.rater for row in found.rows} == {"exact_match"}


def test_averages_are_refused() -> None:
    with pytest.raises(InputError, match="run it with --log_samples"):
        refuse_aggregates({"results": {}, "configs": {}, "versions": {}}, "results.json")
