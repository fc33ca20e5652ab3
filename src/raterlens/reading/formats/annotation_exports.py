"""What annotation tools export as JSON: Label Studio, Argilla, Prodigy and doccano, without their packages.

Each export is a list of records about one task; its annotators are raters, its questions are items.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raterlens.base.errors import InputError
from raterlens.reading.formats.export_rows import Export, Record, Row
from raterlens.reading.formats.nested_records import flattened

_BOOKKEEPING = (
    "annotation_id",
    "created_at",
    "updated_at",
    "lead_time",
    "agreement",
    "history",
    "was_cancelled",
)
_VALUES = ("choices", "rating", "number")


def label_studio(records: Sequence[Record]) -> Export | None:
    """Tasks with annotations by several people, as the export "JSON" has them."""
    if not all("annotations" in record and "data" in record for record in records[:20]):
        return None
    rows: list[Row] = []
    passed_over: set[str] = set()
    known = any(annotation.get("ground_truth") for task in records for annotation in task["annotations"])
    for task in records:
        data = {
            f"data.{name}": value for name, value in flattened(task["data"]) if not isinstance(value, list)
        }
        answers = list(_label_studio_answers(task, passed_over))
        truth = {item: value for annotation, item, value in answers if annotation.get("ground_truth")}
        rows += [
            Row(
                str(task["id"]),
                _person(annotation.get("completed_by")),
                item,
                value,
                data
                | {"lead_time": annotation.get("lead_time"), "created_at": annotation.get("created_at")}
                | ({"ground_truth": truth.get(item)} if known else {}),
            )
            for annotation, item, value in answers
            if not annotation.get("ground_truth")
        ]
    return Export(
        "a Label Studio export",
        "tasks are students, annotators raters, controls items"
        + "; ground truth is the known answer" * known,
        rows,
        passed_over,
        "ground_truth" if known else None,
    )


def _label_studio_answers(task: Record, passed_over: set[str]) -> Iterator[tuple[Record, str, Any]]:
    """Each annotation with its control and answer; other kinds of results are noted."""
    for annotation in task["annotations"]:
        for result in [] if annotation.get("was_cancelled") else annotation.get("result") or []:
            value = _single(result.get("value") or {})
            if value is None:
                passed_over.add(str(result.get("type")))
            else:
                yield annotation, str(result.get("from_name")), value


def label_studio_min(records: Sequence[Record]) -> Export | None:
    """One flat record per annotation, as the export "JSON-MIN" has them: the data are fields beside the answers."""
    if not all({"annotator", "annotation_id"} <= record.keys() for record in records[:20]):
        return None
    names = list(dict.fromkeys(name for record in records for name in record if name not in _BOOKKEEPING))
    answers = [
        name
        for name in names
        if name not in ("id", "annotator") and _is_answer([r.get(name) for r in records])
    ]
    rows = [
        Row(str(record["id"]), _person(record["annotator"]), name, _plain(record[name]))
        for record in records
        for name in answers
        if record.get(name) is not None
    ]
    return Export(
        "a Label Studio export (JSON-MIN)", "tasks are students, annotators raters, controls items", rows
    )


def argilla(records: Sequence[Record]) -> Export | None:
    """Records with the responses of several users, nested, or flat as datasets of Hugging Face have them."""
    first = records[0]
    nested = isinstance(first.get("responses"), Mapping) and "fields" in first
    flat = [name for record in records[:20] for name in record if name.endswith(".responses.users")]
    if not nested and not flat:
        return None
    rows: list[Row] = []
    for place, record in enumerate(records, 1):
        student = str(record.get("id") or record.get("_server_id") or place)
        answers = _argilla_nested(record) if nested else _argilla_flat(record)
        held = record.get("metadata")
        fields = flattened(held if isinstance(held, Mapping) else {})
        more = {name: value for name, value in fields if not isinstance(value, list)}
        rows += [Row(student, user, question, value, more) for question, user, value in answers]
    return Export("an Argilla export", "records are students, users raters, questions items", rows)


def _argilla_nested(record: Record) -> Iterator[tuple[str, str, Any]]:
    for question, responses in (record.get("responses") or {}).items():
        for response in responses:
            if response.get("status", "submitted") in ("submitted", None):
                yield question, str(response.get("user_id")), _plain(response.get("value"))


def _argilla_flat(record: Record) -> Iterator[tuple[str, str, Any]]:
    for name, users in record.items():
        if not name.endswith(".responses.users") or not users:
            continue
        base = name.removesuffix(".users")
        status = record.get(f"{base}.status") or ["submitted"] * len(users)
        for user, value, state in zip(users, record.get(base) or [], status, strict=False):
            if state in ("submitted", None):
                yield base.removesuffix(".responses"), str(user), _plain(value)


def prodigy(records: Sequence[Record]) -> Export | None:
    """One record per decision; "ignore" is a missing one."""
    if not all({"_input_hash", "answer"} <= record.keys() for record in records[:20]):
        return None
    rows: list[Row] = []
    for record in records:
        chosen = record.get("accept")
        value: Any = {"accept": 1, "reject": 0}.get(str(record["answer"]))
        if isinstance(chosen, list):
            value = chosen[0] if record["answer"] == "accept" and len(chosen) == 1 else None
        rater = record.get("_annotator_id") or record.get("_session_id")
        rows.append(
            Row(str(record["_input_hash"]), None if rater is None else str(rater), _label(record), value)
        )
    return Export("a Prodigy export", "inputs are students, annotators raters; 'ignore' is missing", rows)


def doccano(records: Sequence[Record]) -> Export | None:
    """Documents with their annotations by user; files of single users do not say who."""
    if not all(
        "text" in record and ("annotations" in record or "label" in record) for record in records[:20]
    ):
        return None
    if all(isinstance(record.get("annotations"), list) for record in records[:20]):
        rows = [
            Row(str(record.get("id", place)), str(annotation.get("user")), "all", annotation.get("label"))
            for place, record in enumerate(records, 1)
            for annotation in record["annotations"]
        ]
        return Export("a doccano export", "documents are students, users raters", rows)
    listed = all(isinstance(record.get("label"), list) for record in records[:20])
    person = next((name for name in ("username", "user", "annotator") if name in records[0]), None)
    if not listed:
        return None
    if person is None:
        raise InputError(
            "a doccano export of one user: it does not say who labelled",
            'export with one file per user, add the user to each record ("user": "ann"), and put the files together',
        )
    rows = [
        Row(str(record.get("id", place)), str(record[person]), "all", value)
        for place, record in enumerate(records, 1)
        for value in record["label"][:1]
    ]
    return Export("a doccano export", "documents are students, users raters", rows)


ANNOTATION_TOOLS = (label_studio, label_studio_min, argilla, prodigy, doccano)


def _single(value: Mapping[str, Any]) -> Any:
    """The one answer that a control holds."""
    for name in _VALUES:
        if name in value:
            return _plain(value[name])
    return None


def _plain(value: Any) -> Any:
    """An answer without what is wrapped around it."""
    while isinstance(value, list | Mapping):
        if isinstance(value, list):
            if len(value) != 1:
                return None if not value else " + ".join(map(str, value))
            value = value[0]
        else:
            inner = next((value[name] for name in (*_VALUES, "value") if name in value), None)
            if inner is None:
                return None
            value = inner
    return value


def _is_answer(values: Sequence[Any]) -> bool:
    """Whether a field holds answers: wrapped as ratings are, or a few words that recur."""
    given = [value for value in values if value is not None]
    if not given:
        return False
    if all(isinstance(value, list) for value in given):
        return all(_plain(value) is not None for value in given)
    if not all(isinstance(value, str | int | float) for value in given):
        return False
    distinct = set(map(str, given))
    return len(distinct) <= max(2, len(given) // 2) and max(map(len, distinct)) <= 30 and len(distinct) <= 20


def _person(who: Any) -> str | None:
    if isinstance(who, Mapping):
        who = who.get("email") or who.get("username") or who.get("id")
    return None if who is None else str(who)


def _label(record: Record) -> str:
    return str(record["label"]) if isinstance(record.get("label"), str) else "all"
