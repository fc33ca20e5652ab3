"""Exports of annotation tools that the corpus does not have: what is missing, cancelled, or of another kind.

`python -m tests.support.tool_exports FOLDER` writes the same with the tools' own packages.
"""

import json
from pathlib import Path

import pytest

from raterlens.base.errors import InputError
from raterlens.reading.formats.annotation_exports import (
    argilla,
    doccano,
    label_studio,
    label_studio_min,
    prodigy,
)
from raterlens.reading.reader import read
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
    with pytest.raises(InputError, match="does not say who labelled"):
        doccano(records)
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, records)))
    with pytest.raises(InputError, match="one file per user"):
        read(tmp_path / "x.jsonl")


def test_plain_records_are_no_export() -> None:
    plain = [{"student": 1, "rater": "a", "score": 1}]
    assert all(tool(plain) is None for tool in (label_studio, label_studio_min, argilla, prodigy, doccano))
