"""JSON records, and exports of annotation, evaluation and observability tools."""

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

# -- JSON records, nested and of several types --


def test_records_within_records(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text(
        '{"sample": {"id": 1}, "judge": {"name": "m", "version": 2}, "verdict": true}\n\n'
        '{"sample": {"id": 2}, "judge": {"name": "n"}, "verdict": false}\n'
    )
    ratings = read(tmp_path / "x.jsonl", student="sample.id", rater="judge.name", score="verdict")
    assert ratings.raters.to_list() == ["m", "n"]
    assert ratings.score.tolist() == [1, 0]


def test_json_values_of_several_types(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(
        '[{"student": 1, "rater": "a", "score": "1"}, {"student": "x", "rater": "b", "score": 0}]'
    )
    assert read(tmp_path / "x.json").students.to_list() == ["1", "x"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is an empty file"),
        (b"[]", "has no records"),
        (b"[1, 2]", "element 1 of the list is '1'"),
        (b'[{"student": 1}, {"stu', "is not JSON from line 1 on"),
        (b'{"student": 1}\n[2]\n', r"line 2, is '\[2\]'"),
        (b'{"student": 1}\n{"stu\n', "line 2, is not JSON"),
        ('{"student": 1, "rater": "Zo\x81\xeb"}\n{'.encode("latin1"), "is not utf-8: byte 0x81"),
    ],
)
def test_what_is_no_record_is_named(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read(tmp_path / "x.json")


def test_another_encoding(tmp_path: Path) -> None:
    rows = [{"student": n, "rater": "Zoë", "score": n} for n in (0, 1)]
    (tmp_path / "x.json").write_bytes(json.dumps(rows, ensure_ascii=False).encode("utf-16"))
    assert read(tmp_path / "x.json", encoding="utf-16").raters.to_list() == ["Zoë"]


@pytest.mark.parametrize(("name", "where"), [("x.json", ""), ("x.jsonl", ", line 2,")])
def test_nested_without_end(name: str, where: str, tmp_path: Path) -> None:
    deep = "[" * 200_000 + "]" * 200_000
    (tmp_path / name).write_text(deep if name == "x.json" else f'{{"student": 1}}\n{{"student": {deep}}}\n')
    with pytest.raises(InputError, match=f"{where} has lists or records nested too deeply"):
        read(tmp_path / name)


def test_lists_of_bare_scores_are_of_raters_by_their_place(tmp_path: Path) -> None:
    answers = [{"question": f"q{n}", "answer": f"a{n}", "human_scores": [3, n % 2, 5]} for n in range(6)]
    (tmp_path / "x.json").write_text(json.dumps(answers))
    ratings = read(tmp_path / "x.json")
    assert ratings.raters.to_list() == [1, 2, 3]
    assert ratings.score.tolist() == [score for answer in answers for score in answer["human_scores"]]
    assert any("lists of scores under 'human_scores'" in str(note) for note in ratings.notes)
    nested = [{"qid": n, "answers": [{"model": m, "human_scores": [n, 1]} for m in "AB"]} for n in range(5)]
    (tmp_path / "y.json").write_text(json.dumps(nested))
    ratings = read(tmp_path / "y.json", student=["qid", "model"])
    assert (ratings.n_students, ratings.n_raters, ratings.n_ratings) == (10, 2, 20)


@pytest.mark.parametrize("more", [{}, {"rater": "AM"}])
def test_lists_of_scores_that_nobody_can_be_told_to_have_given(more: dict[str, str], tmp_path: Path) -> None:
    rows = [{"id": n, **more, "scores": [3, 4, 5][: 3 - (n % 2 and not more)]} for n in range(6)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"lists of scores under 'scores' .*nothing says who"):
        read(tmp_path / "x.jsonl")


# -- Exports of annotation, evaluation and observability tools --


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
