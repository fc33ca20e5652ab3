"""What observability tools export: Langfuse, MLflow, Phoenix and OpenAI's evals, without their packages.

Field names as of Langfuse 3, MLflow 3, Phoenix 11 and evals 3.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raterlens.reading.formats.export_rows import Export, Record, Row
from raterlens.reading.formats.nested_records import flattened


def langfuse(records: Sequence[Record]) -> Export | None:
    """Scores, or traces with their scores: traces are students, names of scores, or whoever gave them, raters."""
    traces = [record for record in records[:20] if isinstance(record.get("scores"), list)]
    if traces and all(
        "name" in score and "value" in score for trace in traces for score in trace["scores"][:5]
    ):
        pairs = [(trace, score) for trace in records for score in trace.get("scores") or []]
    elif all({"traceId", "name", "value"} <= record.keys() for record in records[:20]):
        pairs = [({}, record) for record in records]
    else:
        return None
    names: dict[str, set[str]] = {}
    for _, score in pairs:
        names.setdefault(str(score.get("authorUserId")), set()).add(str(score["name"]))
    rows = [
        Row(
            str(score.get("traceId") or trace.get("id")),
            str(score.get("authorUserId") or score["name"]),
            str(score["name"])
            if score.get("authorUserId") and len(names[str(score["authorUserId"])]) > 1
            else "all",
            score.get("value") if score.get("value") is not None else score.get("stringValue"),
            _more(trace, "scores", "id") | {"source": score.get("source"), "time": score.get("timestamp")},
        )
        for trace, score in pairs
    ]
    return Export("scores of Langfuse", "traces are students, names of scores or their authors raters", rows)


def mlflow(records: Sequence[Record]) -> Export | None:
    """Traces with assessments: their sources are raters, their names items; expectations are known answers."""
    if not any(
        isinstance(record.get("assessments"), list) and record["assessments"] for record in records[:20]
    ):
        return None
    rows: list[Row] = []
    for place, trace in enumerate(records):
        held = trace.get("info")
        info: Record = held if isinstance(held, Mapping) else trace
        student = str(info.get("trace_id") or info.get("request_id") or trace.get("trace_id") or place)
        expected: dict[str, Any] = {}
        given = trace.get("assessments") or []
        for one in given:
            if one.get("expectation") is not None:
                expected[_name(one)] = _value(one["expectation"])
        for one in given:
            if one.get("feedback") is None:
                continue
            source = one.get("source") or {}
            rater = str(source.get("source_id") or source.get("source_type"))
            score = None if one.get("error") else _value(one["feedback"])
            more = _more(trace, "assessments", "trace_id") | {"source_type": source.get("source_type")}
            known = {"expected": expected.get(_name(one))} if expected else {}
            rows.append(Row(student, rater, _name(one), score, more | known))
    spoken = any("expected" in row.more for row in rows)
    return Export(
        "traces of MLflow",
        "traces are students, sources of assessments raters, their names items",
        rows,
        known="expected" if spoken else None,
    )


def phoenix(records: Sequence[Record]) -> Export | None:
    """Annotations of spans: annotators are raters, names of annotations items. The score counts, else the label."""
    flat = [dict(flattened(record)) for record in records]
    if not all(
        {"annotation_name", "annotator_kind"} <= record.keys() and _span(record) for record in flat[:20]
    ):
        return None
    rows = [
        Row(
            str(record[str(_span(record))]),
            str(record.get("identifier") or record.get("annotator") or record["annotator_kind"]),
            str(record["annotation_name"]),
            next((record[key] for key in _VERDICTS if record.get(key) is not None), None),
            {"annotator_kind": record["annotator_kind"]}
            | {
                key.removeprefix("metadata."): value
                for key, value in record.items()
                if key.startswith("metadata.")
            },
        )
        for record in flat
    ]
    return Export(
        "annotations of Phoenix", "spans are students, annotators raters, names of annotations items", rows
    )


def openai_evals(records: Sequence[Record]) -> Export | None:
    """The log of a run of OpenAI's evals: samples are students, judges or metrics raters."""
    events = [record for record in records if {"sample_id", "type", "data"} <= record.keys()]
    if not events or not all({"run_id", "event_id"} <= record.keys() for record in events[:20]):
        return None
    rows = [
        Row(str(event["sample_id"]), rater, "all", value, {"run_id": event["run_id"]})
        for event in events
        if isinstance(event["data"], Mapping)
        for rater, value in _measured(event)
    ]
    return Export("a log of OpenAI evals", "samples are students, judges or metrics raters", rows)


def _measured(event: Record) -> Iterator[tuple[str, Any]]:
    data = event["data"]
    judge = next((str(data[name]) for name in ("judge", "grader", "model_grader") if data.get(name)), None)
    value = next(
        (data[name] for name in ("score", "correct", "choice", "value") if data.get(name) is not None), None
    )
    if judge is not None and value is not None:
        yield judge, value
    elif event["type"] in ("match", "metrics"):
        yield from ((name, one) for name, one in data.items() if isinstance(one, bool | int | float))


_VERDICTS = ("result.score", "score", "result.label", "label")


def _span(record: Record) -> str | None:
    return next(
        (name for name in ("span_id", "context.span_id", "trace_id") if record.get(name) is not None), None
    )


def _name(assessment: Record) -> str:
    return str(assessment.get("assessment_name") or assessment.get("name"))


def _value(holder: Any) -> Any:
    return holder.get("value") if isinstance(holder, Mapping) else holder


def _more(record: Record, *but: str) -> dict[str, Any]:
    """Further fields of a record that are single values."""
    rest = {name: value for name, value in record.items() if name not in but}
    return {name: value for name, value in flattened(rest) if not isinstance(value, list | Mapping)}


OBSERVABILITY_TOOLS = (langfuse, mlflow, phoenix, openai_evals)
