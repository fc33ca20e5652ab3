"""JSON exports of annotation, evaluation and observability tools, read without their packages."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import polars as pl

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.reading.formats.table import Table, rows_of, series_of
from raterlens.reading.read_plan import Finding

Record = Mapping[str, Any]


def flattened(record: Record, prefix: str = "", depth: int = 6) -> Iterator[tuple[str, Any]]:
    """The fields of a record, those of records within it called `outer.inner`; lists of single values by their text."""
    for name, value in record.items():
        full = f"{prefix}{name}"
        if isinstance(value, Mapping) and depth:
            yield from flattened(value, f"{full}.", depth - 1)
        else:
            yield full, value


def singles(record: Any, *but: str) -> dict[str, Any]:
    """The fields of a record that are single values, those within it as `flattened` calls them; `but` some."""
    held = (
        {name: value for name, value in record.items() if name not in but}
        if isinstance(record, Mapping)
        else {}
    )
    return {name: value for name, value in flattened(held) if not isinstance(value, list | Mapping)}


class Row(NamedTuple):
    """One rating."""

    student: str
    rater: str | None
    item: str
    score: Any
    more: Mapping[str, Any] = {}
    """Variables and metadata, by the names that they get as columns."""


@dataclass(frozen=True, slots=True)
class Export:
    """An export of a tool."""

    tool: str
    """In a sentence: "a Prodigy export"."""
    meaning: str
    """Who is who in it."""
    rows: Sequence[Row]
    passed_over: set[str] = field(default_factory=set)
    """Kinds of answers that are no scores."""
    known: str | None = None
    """The column of known answers, where the tool says which it is."""
    notes: tuple[str, ...] = ()
    question: Finding | None = None
    """A question about it for the user."""

    def _known(self, further: Sequence[str]) -> dict[str, str]:
        """The column of known answers, where some differ: otherwise errors cannot be seen."""
        if self.known is None or self.known not in further:
            return {}
        answers = {row.more.get(self.known) for row in self.rows} - {None}
        return {"known": self.known} if len(answers) > 1 else {}

    def table(self, name: str) -> Table:
        if not self.rows:
            why = f", only {listed(sorted(self.passed_over))}" if self.passed_over else ""
            raise InputError(
                f"{name!r} is {self.tool} without scores{why}", "export choices, ratings or verdicts"
            )
        columns = [
            series_of(role, [row[place] for row in self.rows]) for place, role in enumerate(Row._fields[:4])
        ]
        further = list(dict.fromkeys(str(key) for row in self.rows for key in row.more))
        further = [key for key in further if key not in Row._fields[:4]]
        columns += [series_of(key, [row.more.get(key) for row in self.rows]) for key in further]
        nobody = all(row.rater is None for row in self.rows)
        columns = [
            c for k, c in enumerate(columns) if (k != 1 or not nobody) and (k != 2 or c.n_unique() > 1)
        ]
        findings = [Finding(self.tool, self.meaning)]
        if self.passed_over:
            findings.append(
                Finding(f"answers of type {listed(sorted(self.passed_over))}", "left out: no scores")
            )
        if self.question is not None:
            findings.append(self.question)
        frame = pl.DataFrame(rows_of(columns).frame)
        return Table(
            name,
            tuple(frame.columns),
            lambda wanted: rows_of([frame[column] for column in wanted]),
            findings=tuple(findings),
            notes=self.notes,
            settled=not nobody,
            roles={
                **{role: role for role in Row._fields[:4] if role in frame.columns},
                **self._known(further),
            },
        )


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
        data = singles({"data": task["data"]})
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
    if not all({"id", "annotator", "annotation_id"} <= record.keys() for record in records[:20]):
        return None
    names = list(dict.fromkeys(name for record in records for name in record if name not in _BOOKKEEPING))
    data = list(records[0])[
        : list(records[0]).index("id")
    ]  # they come before the task's number, answers after
    answers = [
        name
        for name in names
        if name not in ("id", "annotator", *data) and _is_answer([r.get(name) for r in records])
    ]
    rows = [
        Row(str(record["id"]), _person(record["annotator"]), name, _plain(record[name]), more)
        for record in records
        for more in [singles({"data": {name: record.get(name) for name in data}})]
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
        more = singles(record.get("metadata"))
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
    rows = [
        Row(str(record.get("id", place)), None if person is None else str(record[person]), "all", value)
        for place, record in enumerate(records, 1)
        for value in record["label"][:1]
    ]
    users = "users raters" if person else "and it does not say who labelled"
    return Export("a doccano export", f"documents are students, {users}", rows)


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


_UNREAD = ("could not extract", "could not parse", "no output", "api error", "failed to parse", "no grading")


def promptfoo(document: Any) -> Export | None:
    """The file of `promptfoo eval --output`: the assertions of each test are the raters."""
    if not isinstance(document, Mapping) or not isinstance(document.get("results"), Mapping):
        return None
    results = document["results"].get("results")
    if not isinstance(results, list) or not results or "gradingResult" not in results[0]:
        return None
    several = len({_provider(result.get("provider")) for result in results}) > 1
    prompts = len({result.get("promptIdx") for result in results}) > 1
    components = [
        one for result in results for one in (result["gradingResult"] or {}).get("componentResults") or []
    ]
    graded = any(one.get("score") not in (None, 0, 1) for one in components)
    rows: list[Row] = []
    for place, result in enumerate(results):
        parts = [f"test {result.get('testIdx', place)}"]
        parts += [_provider(result.get("provider"))] if several else []
        parts += [f"prompt {result.get('promptIdx')}"] if prompts else []
        more = {"provider": _provider(result.get("provider")), **_variables(result)}
        rows += [
            Row(", ".join(parts), rater, "all", score, more)
            for rater, score in _asserted(result, graded=graded)
        ]
    return Export("a promptfoo output", "answers are students, assertions raters", rows)


def promptfoo_lines(records: Sequence[Record]) -> Export | None:
    """The same results, one per line."""
    return promptfoo({"results": {"results": records}}) if "gradingResult" in records[0] else None


def _variables(result: Record) -> dict[str, Any]:
    """The variables and the metadata of a test, by their names; those that both have are variables."""
    held = result.get("testCase")
    test: Record = held if isinstance(held, Mapping) else {}
    found: dict[str, Any] = {}
    for holder in (test.get("metadata"), result.get("metadata"), test.get("vars"), result.get("vars")):
        found |= singles(holder)
    return found


def _asserted(result: Record, *, graded: bool) -> Iterator[tuple[str, Any]]:
    seen: Counter[str] = Counter()
    for component in (result.get("gradingResult") or {}).get("componentResults") or []:
        assertion = component.get("assertion") or {}
        judge = _provider(assertion.get("provider"))
        name = str(
            assertion.get("metric")
            or (f"{assertion.get('type')} by {judge}" if judge else assertion.get("type"))
        )
        seen[name] += 1
        label = name if seen[name] == 1 else f"{name} ({seen[name]})"
        reason = str(component.get("reason") or "").casefold()
        unread = not component.get("pass") and any(reason.startswith(start) for start in _UNREAD)
        passed = component.get("pass")
        yield (
            label,
            None
            if unread or passed is None
            else component.get("score", passed)
            if graded
            else int(bool(passed)),
        )


def _provider(provider: Any) -> str:
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return "" if provider is None else str(provider)


def deepeval(document: Any) -> Export | None:
    """A test run of DeepEval, or the result of its `evaluate`: evaluation models are raters and metrics items; where
    every metric has one model, metrics are the raters."""
    cases = _test_cases(document)
    if not cases:
        return None
    models: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        for metric in _either(case, "metricsData") or []:
            models[str(metric["name"])].add(str(_either(metric, "evaluationModel")))
    several = any(len(each) > 1 for each in models.values())
    times = Counter(str(case.get("name")) for case in cases)
    rows: list[Row] = []
    for place, case in enumerate(cases):
        name = str(case.get("name", place))
        student = name if times[name] == 1 else f"{name} {case.get('order', place)}"
        about = {key: _either(case, key) for key in ("additionalMetadata", "tags", "comments")}
        more = singles({key: value for key, value in about.items() if value is not None})
        for metric in _either(case, "metricsData") or []:
            verdict = None if metric.get("error") else metric.get("success")
            score = None if verdict is None else int(bool(verdict))
            metric_name = str(metric["name"])
            rater, item = (
                (str(_either(metric, "evaluationModel")), metric_name) if several else (metric_name, "all")
            )
            graded = {} if verdict is None else {GRADED: metric.get("score")}
            rows.append(Row(student, rater, item, score, {**more, **graded}))
    meaning = "evaluation models are raters, metrics items" if several else "metrics are raters"
    question = None
    if len({row.more.get(GRADED) for row in rows} - {None}) > 2:
        seen = "each metric has a score, and passes from a threshold on"
        options = (Option("score", "score"),)
        question = Finding(seen, "passes read as the scores", options, Option("score", GRADED), certain=False)
    return Export("a DeepEval test run", f"test cases are students, {meaning}", rows, question=question)


GRADED = "metric_score"
"""Column of the scores of metrics, beside passes."""


_CASES = ("testCases", "conversationalTestCases", "test_results")


def _either(record: Record, name: str) -> Any:
    """A field of a saved test run, or of the same result as Python has it: evaluationModel, evaluation_model."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return record.get(name, record.get(snake))


def _test_cases(document: Any) -> list[Record]:
    if not isinstance(document, Mapping):
        return []
    for holder in (document, *(value for value in document.values() if isinstance(value, Mapping))):
        cases = [case for key in _CASES for case in holder.get(key) or [] if isinstance(case, Mapping)]
        if any(_either(case, "metricsData") for case in cases):
            return cases
    return []


def lm_eval(records: Sequence[Record]) -> Export | None:
    """Samples logged by lm-evaluation-harness: metrics, under each filter, are raters."""
    if not all({"doc_id", "resps"} <= record.keys() for record in records[:20]):
        return None
    filters = {record.get("filter") for record in records}
    rows: list[Row] = []
    for record in records:
        for metric in record.get("metrics") or [
            name for name in record if isinstance(record[name], int | float)
        ]:
            value = record.get(metric)
            if metric == "doc_id" or not isinstance(value, int | float):
                continue
            rater = f"{metric}, {record.get('filter')}" if len(filters) > 1 else str(metric)
            more = singles(record.get("doc")) | singles({"target": record.get("target")})
            rows.append(Row(str(record["doc_id"]), rater, "all", value, more))
    question = None
    if len({row.rater for row in rows}) == 1:
        seen = f"the metric {rows[0].rater!r} alone, and no rater"
        question = Finding(seen, "read as the only rater", (Option("rater", "rater"),), certain=False)
    meaning = "documents are students, metrics raters"
    return Export("samples of lm-evaluation-harness", meaning, rows, question=question)


def refuse_aggregates(document: Any, name: str) -> None:
    """Raise where results are there only as averages over samples."""
    if isinstance(document, Mapping) and {"results", "configs", "versions"} <= document.keys():
        raise InputError(
            f"{name!r} has the results of lm-evaluation-harness as averages, without samples",
            "run it with --log_samples and give the file samples_*.jsonl",
        )


_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""As `value_to_float` of Inspect AI has them: correct, incorrect, partial and no answer."""
_NOT_GRADED = "Grade not found in model output"
"""How it explains the score of an answer from which no verdict could be read."""


def inspect_ai(log: Record) -> Export | None:
    """A log of Inspect AI: scorers are raters, samples are students, epochs repeat a rating."""
    if not ({"version", "eval"} <= log.keys() and isinstance(log["eval"], Mapping)):
        return None
    task, model = shortened(log["eval"]["task"]), log["eval"]["model"]
    samples, status = log.get("samples") or [], log.get("status", "started")
    rows: list[Row] = []
    for sample in samples:
        more = singles({"target": sample.get("target")}) | singles(sample.get("metadata"), "epoch", "model")
        more = {"epoch": int(sample["epoch"]), "model": model, **more}
        for scorer, score in (sample.get("scores") or {}).items():
            parts = _parts(score["value"])
            rows += [
                Row(str(sample["id"]), scorer, item, _graded(value, score), more) for item, value in parts
            ]
    epochs, unread = len({sample["epoch"] for sample in samples}), sum(row.score is None for row in rows)
    again = Message(
        f"{counted(epochs, 'epoch')}: repeated ratings of a sample. Where each epoch is an answer of its own, give ",
        Option("student", ["student", "epoch"]),
    )
    notes = {
        again: epochs > 1,
        f"{counted(unread, 'verdict')} could not be read from the judge's answer: missing, not a fail": unread
        > 0,
        f"the log's status is {shortened(status)}: only samples that were scored are read": status
        != "success",
    }
    return Export(
        f"Inspect log of task {task}, model {shortened(model)}",
        "scorers are raters, samples are students",
        rows,
        notes=tuple(note for note, said in notes.items() if said),
    )


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """A score of several parts has an item for each."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(place), part) for place, part in enumerate(value, 1))
    else:
        yield "all", value


def _graded(value: Any, score: Record) -> Any:
    """Newer releases score an answer without a verdict as not a number, older ones as incorrect."""
    if value != value or str(score.get("explanation") or "").startswith(_NOT_GRADED):
        return None
    if isinstance(value, bool | int):
        return float(value)
    return _GRADES.get(value, _GRADES.get(value.lower(), value)) if isinstance(value, str) else value


DOCUMENTS = (promptfoo, deepeval, inspect_ai)
EVALUATION_TOOLS = (lm_eval, promptfoo_lines)


def langfuse(records: Sequence[Record]) -> Export | None:
    """Scores, or traces with their scores: traces are students, names of scores, or those who gave them, raters."""
    traces = [record for record in records[:20] if isinstance(record.get("scores"), list)]
    if traces and all(
        isinstance(score, Mapping) and {"name", "value"} <= score.keys()
        for trace in traces
        for score in trace["scores"][:5]
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
            singles(trace, "scores", "id") | {"source": score.get("source"), "time": score.get("timestamp")},
        )
        for trace, score in pairs
    ]
    return Export("scores of Langfuse", "traces are students, names of scores or their authors raters", rows)


def mlflow(records: Sequence[Record]) -> Export | None:
    """Traces with assessments: their sources are raters, their names items; expectations are known answers."""
    if not any(_assessments(record) for record in records[:20]):
        return None
    rows: list[Row] = []
    for place, trace in enumerate(records):
        held = trace.get("info")
        info: Record = held if isinstance(held, Mapping) else trace
        student = str(info.get("trace_id") or info.get("request_id") or trace.get("trace_id") or place)
        expected: dict[str, Any] = {}
        given = _assessments(trace)
        for one in given:
            if one.get("expectation") is not None:
                expected[_name(one)] = _value(one["expectation"])
        for one in given:
            if one.get("feedback") is None:
                continue
            source = one.get("source") or {}
            rater = str(source.get("source_id") or source.get("source_type"))
            score = None if one.get("error") else _value(one["feedback"])
            more = singles(trace, "assessments", "trace_id", "data") | {
                "source_type": source.get("source_type")
            }
            more |= singles({"expectation": expected})
            known = {"expected": expected[_name(one)]} if _name(one) in expected else {}
            rows.append(Row(student, rater, _name(one), score, more | known))
    spoken = any("expected" in row.more for row in rows)
    return Export(
        "traces of MLflow",
        "traces are students, sources of assessments raters, their names items",
        rows,
        known="expected" if spoken else None,
    )


def _assessments(trace: Record) -> list[Record]:
    """Those of a trace: beside its information, or in it."""
    held = trace.get("info")
    found = trace.get("assessments") or (held.get("assessments") if isinstance(held, Mapping) else None)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


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
            str(next(record[name] for name in _ANNOTATORS if record.get(name))),
            str(record["annotation_name"]),
            next((record[key] for key in _VERDICTS if record.get(key) is not None), None),
            {
                key.removeprefix("metadata."): value
                for key, value in record.items()
                if key == "annotator_kind" or key.startswith("metadata.")
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


_ANNOTATORS = ("identifier", "annotator", "user_id", "annotator_kind")
_VERDICTS = ("result.score", "score", "result.label", "label")


def _span(record: Record) -> str | None:
    return next(
        (name for name in ("span_id", "context.span_id", "trace_id") if record.get(name) is not None), None
    )


def _name(assessment: Record) -> str:
    return str(assessment.get("assessment_name") or assessment.get("name"))


def _value(holder: Any) -> Any:
    return holder.get("value") if isinstance(holder, Mapping) else holder


OBSERVABILITY_TOOLS = (langfuse, mlflow, phoenix, openai_evals)
FLAT = ({"traceId", "name", "value"}, {"annotation_name", "annotator_kind"})
"""Columns of exports that are tables as well: scores of Langfuse, annotations of Phoenix."""
