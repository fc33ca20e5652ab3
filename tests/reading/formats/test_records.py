"""JSON records, and exports of annotation, evaluation and observability tools."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.tool_exports import Tool, exported, is_export
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
        (b"7", "element 1 of the list is '7'"),
        (b'[{"student": 1}, {"stu', "is not JSON from line 1 on"),
        (b'{"student": 1}\n[2]\n', r"line 2 is '\[2\]'"),
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


def test_lists_of_scores_that_nobody_can_be_told_to_have_given(tmp_path: Path) -> None:
    rows = [{"id": n, "scores": [3, 4, 5][: 3 - n % 2]} for n in range(6)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"lists of scores under 'scores' .*nothing says who"):
        read(tmp_path / "x.jsonl")


def test_a_list_of_a_raters_scores_may_be_of_items(tmp_path: Path) -> None:
    rows = [
        {"id": n, "rater": r, "scores": [n % 3, 2, (n + k) % 4]} for n in range(6) for k, r in enumerate("AB")
    ]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UncertainError, match="lists of scores under 'scores'") as caught:
        read(tmp_path / "x.jsonl")
    assert caught.value.proposal is not None
    ratings = read(tmp_path / "x.jsonl", **caught.value.proposal.config.given())
    assert (ratings.n_students, ratings.n_raters, ratings.n_items) == (6, 2, 3)


def test_lists_in_a_record_of_raters_are_of_items(tmp_path: Path) -> None:
    rows = [{"id": f"s{n}", "ratings": {"Ann": [n % 3, 2], "Bob": [1, n % 4]}} for n in range(8)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(UncertainError, match=r"lists of scores under 'ratings\.Ann', 'ratings\.Bob'"):
        read(tmp_path / "x.jsonl")


def judged(n: int, k: int) -> int:
    return (n * n + 2 * k) % 5


@pytest.mark.parametrize(
    "record",
    [
        lambda n: {"id": f"a{n}", "ratings": [["Ann", judged(n, 0)], ["Bob", judged(n, 1)]]},
        lambda n: {"id": f"a{n}", "raters": ["Ann", "Bob"], "scores": [judged(n, 0), judged(n, 1)]},
        lambda n: {
            "id": f"a{n}",
            "rounds": [
                {"judgements": [{"judge": r, "score": judged(n, k)}]} for k, r in enumerate(("Ann", "Bob"))
            ],
        },
        lambda n: {
            "essay": f"a{n}",
            "reviews": [
                {"reviewer": {"name": r}, "marks": [{"criterion": "style", "points": judged(n, k)}]}
                for k, r in enumerate(("Ann", "Bob"))
            ],
        },
        lambda n: {
            "essay": f"a{n}",
            "judges": {r: {"score": judged(n, k), "reason": "x"} for k, r in enumerate(("Ann", "Bob"))},
            "human_score": judged(n, 3),
        },
    ],
    ids=[
        "pairs",
        "lists side by side",
        "lists within lists",
        "marks within reviews",
        "a record for each judge",
    ],
)
def test_judgements_in_lists(record: Any, tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("\n".join(json.dumps(record(n)) for n in range(8)))
    table = read(tmp_path / "x.jsonl").table()
    found = {(s, r): y for s, r, y in table.select("student", "rater", "score").rows()}
    assert found == {(f"a{n}", r): judged(n, k) for n in range(8) for k, r in enumerate(("Ann", "Bob"))}


@pytest.mark.parametrize("odd", ["x", 7, ["x"], {"x": 1}, [["Ann", "Bob"]], [7]])
def test_a_record_that_differs_from_the_first_two_hundred(odd: Any, tmp_path: Path) -> None:
    kinds: list[Any] = [[["Ann", 1]], [{"judge": "Ann", "score": 1}], {"gpt-4o": {"score": 1}}]
    for number, kind in enumerate(kinds):
        rows = [*({"id": n, "judges": kind} for n in range(250)), {"id": 250, "judges": odd}]
        (tmp_path / f"{number}.jsonl").write_text("\n".join(map(json.dumps, rows)))
        with suppress(InputError):
            assert read(tmp_path / f"{number}.jsonl", student="id").n_ratings == 250


def test_rows_under_a_list_of_names(tmp_path: Path) -> None:
    rows = [
        ["student", "rater", "score"],
        *([s, r, (s * s + k) % 3] for s in range(6) for k, r in enumerate("AB")),
    ]
    for name, text in (("x.json", json.dumps(rows)), ("x.jsonl", "\n".join(map(json.dumps, rows)))):
        (tmp_path / name).write_text(text)
        assert read(tmp_path / name).n_ratings == 12


@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx", "jsonl"])
def test_scores_within_json_text(suffix: str, tmp_path: Path) -> None:
    rows = [
        {
            "essay": f"e{n}",
            "judge": r,
            "output": json.dumps({"score": judged(n, k), "why": f"because of {n}"}),
        }
        for n in range(8)
        for k, r in enumerate(("gpt", "opus"))
    ]
    frame, path = pl.DataFrame(rows), tmp_path / f"x.{suffix}"
    getattr(
        frame,
        {"csv": "write_csv", "parquet": "write_parquet", "xlsx": "write_excel", "jsonl": "write_ndjson"}[
            suffix
        ],
    )(path)
    table = read(path).table()
    found = {(s, r): y for s, r, y in table.select("student", "rater", "score").rows()}
    assert found == {(f"e{n}", r): judged(n, k) for n in range(8) for k, r in enumerate(("gpt", "opus"))}


def test_json_text_of_a_judge_that_talked_is_missing(tmp_path: Path) -> None:
    outputs = [json.dumps({"score": n % 4}) if n % 7 else "I cannot rate this." for n in range(300)]
    rows = [
        {"essay": f"e{n // 2}", "judge": "AB"[n % 2], "output": output} for n, output in enumerate(outputs)
    ]
    pl.DataFrame(rows).write_csv(tmp_path / "x.csv")
    ratings = read(tmp_path / "x.csv")
    assert ratings.n_ratings == sum(n % 7 > 0 for n in range(300))
    assert "43 texts under 'output' not JSON as the others: missing" in ratings.notes


def test_json_text_beside_a_score_of_its_own_is_left_alone(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {"student": ["a", "b"], "rater": ["x", "y"], "score": [0, 1], "log": ['{"score": 9}'] * 2}
    )
    frame.write_csv(tmp_path / "x.csv")
    assert read(tmp_path / "x.csv").score.tolist() == [0, 1]


# -- Exports of annotation, evaluation and observability tools --


def opened(content: Any) -> pl.DataFrame:
    """The rows of an export."""
    table = exported(content, "f.json")
    assert table is not None
    return table.take(table.columns).frame


def test_cancelled_annotations_and_other_controls_are_left_out() -> None:
    table = exported(exports.label_studio(), "f.json")
    assert table is not None
    assert table.take(["score"]).frame.height == 36
    assert "answers of type 'textarea': left out: no scores" in [finding.note for finding in table.findings]


def test_ids_of_people_in_place_of_addresses() -> None:
    tasks = exports.label_studio()
    for task in tasks:
        for annotation in task["annotations"]:
            annotation["completed_by"] = 7
    assert set(opened(tasks)["rater"]) == {"7"}


def test_free_text_is_no_answer() -> None:
    assert set(opened(exports.label_studio_min())["score"]) == {"Good", "Bad"}


def test_discarded_responses_are_left_out() -> None:
    assert set(opened(exports.argilla_flat())["rater"]) == {"Ann", "Bob", "Cleo"}


def test_choices_of_prodigy_and_ignored_ones() -> None:
    record = {"_input_hash": 1, "answer": "accept", "_annotator_id": "a", "accept": ["4"], "options": []}
    found = opened([record, record | {"answer": "ignore"}, record | {"accept": ["1", "2"]}])
    assert found["score"].to_list() == ["4", None, None]


def test_a_doccano_file_of_one_user_is_refused_with_the_reason(tmp_path: Path) -> None:
    records = [{"id": n, "text": "x", "label": ["good"], "Comments": []} for n in range(3)]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(InputError, match="no rater column"):
        read(tmp_path / "x.jsonl")


def test_plain_records_are_no_export() -> None:
    assert not is_export([{"student": 1, "rater": "a", "score": 1}])


def test_a_verdict_that_could_not_be_read_is_missing_not_a_fail(tmp_path: Path) -> None:
    assert set(opened(exports.promptfoo()).filter(rater="third")["score"]) == {None}
    assert set(opened(exports.deepeval()).filter(rater="llama")["score"]) == {None}
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
    assert opened(document)["student"].n_unique() == 24


def test_with_one_evaluation_model_its_metrics_are_the_raters() -> None:
    document = exports.deepeval()
    for case in document["testCases"]:
        case["metricsData"] = [
            metric for metric in case["metricsData"] if metric["evaluationModel"] == "gpt-4o"
        ]
    assert set(opened(document)["rater"]) == {"Correctness [0]", "Correctness [1]"}


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
    found = opened([record for record in exports.lm_eval() if record["filter"] == "strict-match"])
    assert set(found["rater"]) == {"exact_match"}


def test_averages_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text(json.dumps({"results": {}, "configs": {}, "versions": {}}))
    with pytest.raises(InputError, match="run it with --log_samples"):
        read(tmp_path / "results.json")


TOOL = Tool(
    "a tool's export", "so and so", lambda content: content, ("given",), rater="given.who", score="given.mark"
)


def test_one_item_and_nobody_need_no_column() -> None:
    records = [{"student": "a", "given": [{"who": "x", "mark": 1}, {"mark": 0}]}]
    assert TOOL.table(records, "f.json").columns == ("student", "rater", "score")
    assert TOOL.table([{"student": "a", "given": [{"mark": 0}]}], "f.json").columns == ("student", "score")


def test_an_export_without_scores() -> None:
    with pytest.raises(InputError, match=r"'f.json' is a tool's export without scores; export choices"):
        TOOL.table([{"student": "a"}], "f.json")
    tasks = exports.label_studio()
    for task in tasks:
        for annotation in task["annotations"]:
            annotation["result"] = [one for one in annotation["result"] if one["type"] == "textarea"]
    with pytest.raises(InputError, match="a Label Studio export without scores, only 'textarea'"):
        exported(tasks, "f.json")
