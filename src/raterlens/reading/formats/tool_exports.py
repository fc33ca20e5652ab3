"""JSON exports of annotation, evaluation and observability tools, read without their packages.

A tool is one record in `TOOLS`: how its export is recognised, the lists to go through, and which fields are the
student, the rater, the item and the score. `nested.spread` makes the flat rows: `annotations.label` is a field of an
annotation.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from raterlens.base.errors import InputError
from raterlens.base.text import Message, Option, counted, listed, shortened
from raterlens.reading.formats.nested import Record, flattened, spread
from raterlens.reading.formats.table import Table, rows_of, series_of, table_of
from raterlens.reading.read_plan import Finding

Row = dict[str, Any]
ROLES = ("student", "rater", "item", "score")
PLACE = "#"
"""The field for the place of a record in its file."""
SAMPLE = 20
"""Records by which an export is recognised."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool, how its export is recognised, and who is who in it.

    Of fields between bars the first counts that holds something.
    """

    name: str
    """In a sentence: "a Prodigy export"."""
    meaning: str
    records: Callable[[Any], Sequence[Record] | None]
    """The records in a list of records, or in a document; None if that is not an export of this tool."""
    lists: tuple[str, ...] = ()
    """Lists to go through, one within the other."""
    prepared: Callable[[list[Row]], Iterable[Row]] = iter
    """Prepares the flat rows, one per rating, where fields alone do not say everything."""
    student: str = "student"
    rater: str = "rater"
    item: str = "item"
    score: str = "score"
    columns: tuple[str, ...] = ()
    """Variables and metadata, by the last part of their names; "data." is all of the data by their whole names, and
    "metadata.*" all metadata by their own."""
    known: str = ""
    """The column of known answers."""
    remarks: Callable[[list[Row]], Iterable[Finding | str]] = lambda rows: ()
    """Questions and notes."""

    def table(self, records: Sequence[Record], name: str) -> Table:
        """An export as a table: a column for each role, then variables and metadata."""
        placed = ({PLACE: place, **record} for place, record in enumerate(records, 1))
        rows = list(self.prepared(spread(placed, *self.lists)))
        kinds = sorted({str(row[UNREAD]) for row in rows if UNREAD in row})
        further = self._further(dict.fromkeys(field for row in rows for field in row))
        ratings = [self._rating(row, further) for row in rows if UNREAD not in row]
        if not ratings:
            why = f", only {listed(kinds)}" if kinds else ""
            what = f"{name!r} is {self.name} without scores{why}"
            raise InputError(what, "export choices, ratings or verdicts")
        columns = dict.fromkeys(column for rating in ratings for column in rating)
        frame = rows_of([series_of(name, [one.get(name) for one in ratings]) for name in columns]).frame
        nobody = frame["rater"].null_count() == frame.height
        frame = frame.drop(["rater"] * nobody + ["item"] * (frame["item"].n_unique() == 1))
        roles: dict[str, str | list[str]] = {role: role for role in ROLES if role in frame.columns}
        told = f"; {self.known!r} holds known answers" if self.known in columns else ""
        if told and frame[self.known].drop_nulls().n_unique() > 1:  # else nobody's errors can be seen
            roles["known"] = self.known
        findings = [Finding(self.name, self.meaning + told)]
        if kinds:
            findings.append(Finding(f"answers of type {listed(kinds)}", "left out: no scores"))
        remarks = list(self.remarks(rows))
        return replace(
            table_of(name, frame),
            roles=roles,
            findings=(*findings, *(remark for remark in remarks if isinstance(remark, Finding))),
            notes=tuple(remark for remark in remarks if isinstance(remark, str)),
            settled=not nobody,
        )

    def _rating(self, row: Row, further: Mapping[str, str]) -> Row:
        """The roles and the further columns of a flat row."""
        student, rater, item, score = (_first(row, getattr(self, role)) for role in ROLES)
        if student is None:
            raise KeyError(self.student)
        rating = {"student": str(student), "rater": None if rater is None else str(rater)}
        rating |= {"item": "all" if item is None else str(item), "score": _answer(score)}
        return rating | {
            name: row[field] for field, name in further.items() if not isinstance(row.get(field, []), list)
        }

    def _further(self, fields: Iterable[str]) -> dict[str, str]:
        """The fields of further columns and the names of these."""
        found = {}
        for wanted in self.columns:
            prefix = wanted.removesuffix("*")
            for field in fields:
                within = field.startswith(tuple(f"{path}." for path in self.lists))
                if wanted == "*" and not (within or field in (PLACE, *self.student.split("|"))):
                    found[field] = field
                elif wanted == field:
                    found[field] = field.rpartition(".")[2]
                elif prefix.endswith(".") and field.startswith(prefix):
                    found[field] = field.removeprefix("" if wanted == prefix else prefix)
        return {field: name for field, name in found.items() if name not in ROLES}


UNREAD = "#unread"
"""The field for the type of an answer that is not a score."""


def _first(row: Row, fields: str) -> Any:
    """The value of the first of these fields that holds something."""
    return next((row[field] for field in fields.split("|") if row.get(field) not in (None, "")), None)


def _answer(value: Any) -> Any:
    """An answer without the lists around it; several choices as one text."""
    while isinstance(value, list):
        if len(value) != 1:
            return " + ".join(map(str, value)) or None
        value = value[0]
    if isinstance(value, Mapping):
        return _answer(_first(dict(value), "choices|rating|number|value"))
    return value


def _where(fits: Callable[[Record], bool]) -> Callable[[Any], Sequence[Record] | None]:
    """Recognises a list of records by the first ones."""
    return lambda content: content if isinstance(content, list) and all(map(fits, content[:SAMPLE])) else None


def _having(*fields: str) -> Callable[[Any], Sequence[Record] | None]:
    return _where(lambda record: all(field in record for field in fields))


def _person(field: str) -> str:
    """Where people are records of their own, their address counts."""
    return f"{field}.email|{field}.username|{field}.id|{field}"


def _label_studio(rows: list[Row]) -> Iterator[Row]:
    """Ground truth beside the answers of others; answers of other kinds by their type."""
    own = "annotations.result."
    truth = {
        (row[PLACE], row.get(f"{own}from_name")): _answer(_first(row, LABEL_STUDIO))
        for row in rows
        if row.get("annotations.ground_truth")
    }
    for row in rows:
        if row.get("annotations.was_cancelled") or row.get("annotations.ground_truth"):
            continue
        if _answer(_first(row, LABEL_STUDIO)) is None:
            row[UNREAD] = row.get(f"{own}type")
        if truth:
            row["ground_truth"] = truth.get((row[PLACE], row.get(f"{own}from_name")))
        yield row


LABEL_STUDIO = "|".join(f"annotations.result.value.{kind}" for kind in ("choices", "rating", "number"))


_BOOKKEEPING = ("annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement", "history")


def _label_studio_min(rows: list[Row]) -> Iterator[Row]:
    """One row per answer: in a flat record the data come before the task's number, answers after it."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    data, after = names[names.index(PLACE) + 1 : names.index("id")], names[names.index("id") + 1 :]
    own = [name for name in after if name.partition(".")[0] not in (*_BOOKKEEPING, "was_cancelled")]
    given = {name: [row[name] for row in rows if row.get(name) is not None] for name in own}
    for row in rows:
        variables = {f"data.{name}": row.get(name) for name in data}
        for name in own:
            if _are_answers(given[name]) and row.get(name) is not None:
                yield row | variables | {"item": name, "score": row[name]}


def _are_answers(given: Sequence[Any]) -> bool:
    """Whether a field holds answers: wrapped as ratings are, or a few words that recur."""
    if not given or not all(isinstance(value, str | int | float | list) for value in given):
        return False
    if any(isinstance(value, list) for value in given):
        return all(isinstance(value, list) and _answer(value) is not None for value in given)
    distinct = set(map(str, given))
    return len(distinct) <= min(max(2, len(given) // 2), 20) and max(map(len, distinct)) <= 30


def _argilla(content: Any) -> Sequence[Record] | None:
    """Records, or datasets of Hugging Face, which have lists of answers, users and states for each question."""
    suffix = ".responses.users"
    records = content if isinstance(content, list) else []
    if not any(name.endswith(suffix) for record in records[:SAMPLE] for name in record):
        return _having("responses", "fields")(content)
    return [{**record, "responses": dict(_responses(record, suffix))} for record in records]


def _responses(record: Record, suffix: str) -> Iterator[tuple[str, list[Record]]]:
    for question in [name.removesuffix(suffix) for name in record if name.endswith(suffix)]:
        parts = (record.get(f"{question}.responses{part}") or [] for part in (".users", "", ".status"))
        given = zip_longest(*parts)
        yield question, [{"user_id": user, "value": value, "status": status} for user, value, status in given]


def _prodigy(rows: list[Row]) -> Iterator[Row]:
    for row in rows:
        chosen, accepted = row.get("accept"), row["answer"] == "accept"
        verdict: Any = {"accept": 1, "reject": 0}.get(str(row["answer"]))
        if isinstance(chosen, list):
            verdict = chosen[0] if accepted and len(chosen) == 1 else None
        item = row.get("label")
        yield row | {"score": verdict, "item": item if isinstance(item, str) else None}


ANNOTATION_TOOLS = (
    Tool(
        "a Label Studio export",
        "tasks are students, annotators raters, controls items",
        _having("annotations", "data"),
        ("annotations", "annotations.result"),
        _label_studio,
        student="id",
        rater=_person("annotations.completed_by"),
        item="annotations.result.from_name",
        score=LABEL_STUDIO,
        columns=("data.", "annotations.lead_time", "annotations.created_at", "ground_truth"),
        known="ground_truth",
    ),
    Tool(
        "a Label Studio export (JSON-MIN)",
        "tasks are students, annotators raters, controls items",
        _having("id", "annotator", "annotation_id"),
        prepared=_label_studio_min,
        student="id",
        rater=_person("annotator"),
        columns=("data.",),
    ),
    Tool(
        "an Argilla export",
        "records are students, users raters, questions items",
        _argilla,
        ("responses", "responses.value"),
        lambda rows: (row for row in rows if row.get("responses.value.status") in ("submitted", None)),
        student=f"id|_server_id|{PLACE}",
        rater="responses.value.user_id",
        item="responses.#",
        score="responses.value.value",
        columns=("metadata.*",),
    ),
    Tool(
        "a Prodigy export",
        "inputs are students, annotators raters; 'ignore' is missing",
        _having("_input_hash", "answer"),
        prepared=_prodigy,
        student="_input_hash",
        rater="_annotator_id|_session_id",
    ),
    Tool(
        "a doccano export",
        "documents are students, users raters",
        _where(lambda record: "text" in record and isinstance(record.get("annotations"), list)),
        ("annotations",),
        student=f"id|{PLACE}",
        rater="annotations.user",
        score="annotations.label",
    ),
    Tool(
        "a doccano export",
        "documents are students, and users raters where it names them",
        _where(lambda record: "text" in record and isinstance(record.get("label"), list)),
        student=f"id|{PLACE}",
        rater="username|user|annotator",
        score="label",
    ),
)


_UNREADABLE = (
    "could not extract",
    "could not parse",
    "failed to parse",
    "no output",
    "no grading",
    "api error",
)
"""How promptfoo begins the reason of a verdict that it could not read."""


def _promptfoo(rows: list[Row]) -> Iterator[Row]:
    """The assertions of a test are its raters, by their metric, or their type and judge."""
    one = "gradingResult.componentResults."
    answers = {(_provider(row, "provider"), row.get("promptIdx")) for row in rows}
    providers, prompts = (len(set(values)) for values in zip(*answers, strict=True)) if answers else (0, 0)
    graded = any(row.get(f"{one}score") not in (None, 0, 1) for row in rows)
    seen: Counter[tuple[int, str]] = Counter()
    for row in rows:
        provider, judge = _provider(row, "provider"), _provider(row, f"{one}assertion.provider")
        kind = str(row.get(f"{one}assertion.type"))
        name = str(row.get(f"{one}assertion.metric") or (f"{kind} by {judge}" if judge else kind))
        seen[row[PLACE], name] += 1
        times, passed = seen[row[PLACE], name], row.get(f"{one}pass")
        reason = str(row.get(f"{one}reason") or "").casefold()
        parts = [f"test {row.get('testIdx', row[PLACE] - 1)}"]
        parts += [provider] * (providers > 1) + [f"prompt {row.get('promptIdx')}"] * (prompts > 1)
        missing = passed is None or (not passed and reason.startswith(_UNREADABLE))
        yield row | {
            "student": ", ".join(parts),
            "rater": name if times == 1 else f"{name} ({times})",
            "score": None if missing else row.get(f"{one}score", passed) if graded else int(bool(passed)),
            "provider": provider,
        }


def _provider(row: Row, field: str) -> str:
    return str(_first(row, f"{field}.label|{field}.id|{field}") or "")


def _promptfoo_results(content: Any) -> Sequence[Record] | None:
    """The results in the file of `promptfoo eval --output`, or one per line."""
    if isinstance(content, Mapping) and isinstance(content.get("results"), Mapping):
        content = content["results"].get("results")
    return content if isinstance(content, list) and content and "gradingResult" in content[0] else None


def _test_cases(content: Any) -> Sequence[Record] | None:
    """The test cases of a saved run of DeepEval, or of the result of `evaluate` as Python has it."""
    for holder in (content, *content.values()) if isinstance(content, Mapping) else ():
        held = [holder.get(key) or [] for key in _CASES] if isinstance(holder, Mapping) else []
        cases = [case for cases in held for case in cases if isinstance(case, Mapping)]
        if any(case.get("metricsData") or case.get("metrics_data") for case in cases):
            return [
                {**case, "metricsData": case.get("metricsData") or case.get("metrics_data")} for case in cases
            ]
    return None


_CASES = ("testCases", "conversationalTestCases", "test_results")


def _deepeval(rows: list[Row]) -> Iterator[Row]:
    """Evaluation models are the raters; where every metric has one, metrics are."""
    judged = Counter(metric for metric, _ in {(row["metricsData.name"], _first(row, _JUDGE)) for row in rows})
    several = max(judged.values(), default=0) > 1
    named = {(row.get("name", row[PLACE] - 1), row[PLACE]) for row in rows}
    times = Counter(name for name, _ in named)
    for row in rows:
        name, metric = row.get("name", row[PLACE] - 1), row["metricsData.name"]
        verdict = None if row.get("metricsData.error") else row.get("metricsData.success")
        yield row | {
            "student": name if times[name] == 1 else f"{name} {row.get('order', row[PLACE] - 1)}",
            "rater": _first(row, _JUDGE) if several else metric,
            "item": metric if several else None,
            "score": None if verdict is None else int(bool(verdict)),
            GRADED: None if verdict is None else row.get("metricsData.score"),
        }


_JUDGE = "metricsData.evaluationModel|metricsData.evaluation_model"
GRADED = "metric_score"
"""Column of the scores of metrics, beside passes."""


def _passes_or_scores(rows: list[Row]) -> Iterator[Finding]:
    if len({row.get(GRADED) for row in rows} - {None}) > 2:
        seen = "each metric has a score, and passes from a threshold on"
        passes, scores = Option("score", "score"), Option("score", GRADED)
        yield Finding(seen, "passes read as the scores", (passes,), scores, certain=False)


def _lm_eval(rows: list[Row]) -> Iterator[Row]:
    """Metrics are the raters, under each filter."""
    filters = {row.get("filter") for row in rows}
    for row in rows:
        own = [name for name in row if name not in (PLACE, "doc_id") and "." not in name]
        for metric in row.get("metrics") or own:
            if isinstance(row.get(metric), int | float):
                rater = f"{metric}, {row.get('filter')}" if len(filters) > 1 else metric
                yield row | {"rater": rater, "score": row[metric]}


def _only_metric(rows: list[Row]) -> Iterator[Finding]:
    if len({row["rater"] for row in rows}) == 1:
        seen = f"the metric {rows[0]['rater']!r} alone, and no rater"
        yield Finding(seen, "read as the only rater", (Option("rater", "rater"),), certain=False)


_GRADES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""As `value_to_float` of Inspect AI has them: correct, incorrect, partial and no answer."""
_NOT_GRADED = "Grade not found in model output"
"""How Inspect AI explains the score of an answer from which no verdict could be read."""


def _inspect_ai(rows: list[Row]) -> Iterator[Row]:
    """A score of several parts has an item for each."""
    own = "samples.scores.value"
    for row in rows:
        value = row.get(own)
        parts = [(name.removeprefix(f"{own}."), row[name]) for name in row if name.startswith(f"{own}.")]
        if isinstance(value, list):
            parts = [(str(place), part) for place, part in enumerate(value, 1)]
        unread = str(row.get("samples.scores.explanation") or "").startswith(_NOT_GRADED)
        row["epoch"] = int(row["samples.epoch"])
        for item, part in parts or [("all", value)]:
            yield row | {"item": item, "score": None if unread else _graded(part)}


def _graded(value: Any) -> Any:
    """Newer releases score an answer without a verdict as not a number, older ones as incorrect."""
    if isinstance(value, bool | int):
        return float(value)
    if isinstance(value, str):
        return _GRADES.get(value, _GRADES.get(value.lower(), value))
    return None if value != value else value


def _about_log(rows: list[Row]) -> Iterator[str]:
    yield f"task {shortened(rows[0]['eval.task'])}, model {shortened(rows[0]['eval.model'])}"
    if (epochs := len({row["epoch"] for row in rows})) > 1:
        yield Message(
            f"{counted(epochs, 'epoch')}: repeated ratings of a sample. "
            "Where each epoch is an answer of its own, give ",
            Option("student", ["student", "epoch"]),
        )
    if unread := sum(row["score"] is None for row in rows):
        yield f"{counted(unread, 'verdict')} could not be read from the judge's answer: missing, not a fail"
    if (status := rows[0].get("status", "started")) != "success":
        yield f"the log's status is {shortened(status)}: only samples that were scored are read"


EVALUATION_TOOLS = (
    Tool(
        "a promptfoo output",
        "answers are students, assertions raters",
        _promptfoo_results,
        ("gradingResult.componentResults",),
        _promptfoo,
        columns=("provider", "testCase.metadata.*", "metadata.*", "testCase.vars.*", "vars.*"),
    ),
    Tool(
        "a DeepEval test run",
        "test cases are students; evaluation models are raters and metrics items, or metrics raters",
        _test_cases,
        ("metricsData",),
        _deepeval,
        columns=("additionalMetadata.", "additional_metadata.", "comments", GRADED),
        remarks=_passes_or_scores,
    ),
    Tool(
        "samples of lm-evaluation-harness",
        "documents are students, metrics raters",
        _having("doc_id", "resps"),
        prepared=_lm_eval,
        student="doc_id",
        columns=("doc.*", "target"),
        remarks=_only_metric,
    ),
    Tool(
        "a log of Inspect AI",
        "scorers are raters, samples are students",
        lambda content: (
            [content] if isinstance(content, Mapping) and {*content} >= {"version", "eval"} else None
        ),
        ("samples", "samples.scores"),
        _inspect_ai,
        student="samples.id",
        rater="samples.scores.#",
        columns=("samples.metadata.*", "epoch", "eval.model", "samples.target"),
        remarks=_about_log,
    ),
)


def _langfuse_scores(content: Any) -> Sequence[Record] | None:
    """Traces with their scores; scores alone as traces of one score."""
    if (scores := _having("traceId", "name", "value")(content)) is not None:
        return [{"scores": [score]} for score in scores]
    held = [one.get("scores") for one in content[:SAMPLE]] if isinstance(content, list) else []
    given = [score for scores in held if isinstance(scores, list) for score in scores]
    fits = all(isinstance(score, Mapping) and {"name", "value"} <= score.keys() for score in given)
    return content if given and fits else None


def _langfuse(rows: list[Row]) -> Iterator[Row]:
    """Authors of several scores give items; else names of scores are raters."""
    given = {(row.get("scores.authorUserId"), row["scores.name"]) for row in rows}
    several = Counter(author for author, _ in given)
    for row in rows:
        author = row.get("scores.authorUserId")
        item = row["scores.name"] if author and several[author] > 1 else None
        yield row | {"item": item, "time": row.get("scores.timestamp")}


def _assessments(trace: Record) -> list[Record]:
    """Those of a trace of MLflow: beside its information, or in it."""
    held = trace.get("info")
    found = trace.get("assessments") or (held.get("assessments") if isinstance(held, Mapping) else None)
    return [one for one in found if isinstance(one, Mapping)] if isinstance(found, list) else []


def _traces(content: Any) -> Sequence[Record] | None:
    if not isinstance(content, list) or not any(_assessments(trace) for trace in content[:SAMPLE]):
        return None
    return [{**trace, "assessments": _assessments(trace)} for trace in content]


def _mlflow(rows: list[Row]) -> Iterator[Row]:
    """Expectations beside the feedback on the same trace."""
    expected: dict[int, Row] = defaultdict(dict)
    for row in rows:
        row["item"] = str(_first(row, "assessments.assessment_name|assessments.name"))
        if (value := _first(row, "assessments.expectation.value|assessments.expectation")) is not None:
            expected[row[PLACE]][row["item"]] = value
    for row in rows:
        if any(name.startswith("assessments.feedback") and row[name] is not None for name in row):
            known = expected[row[PLACE]]
            own = {"expected": known[row["item"]]} if row["item"] in known else {}
            failed = {"assessments.feedback.value": None} if row.get("assessments.error") else {}
            yield row | {f"expectation.{name}": value for name, value in known.items()} | own | failed


def _events(content: Any) -> Sequence[Record] | None:
    """The events about samples in the log of a run."""
    records = content if isinstance(content, list) else []
    events = [record for record in records if {"sample_id", "type", "data"} <= record.keys()]
    return _having("run_id", "event_id")(events) or None


def _openai_evals(rows: list[Row]) -> Iterator[Row]:
    """A judge's verdict, else every metric of the event."""
    for row in rows:
        judge = _first(row, "data.judge|data.grader|data.model_grader")
        value = _first(row, "data.score|data.correct|data.choice|data.value")
        if judge is not None and value is not None:
            yield row | {"rater": judge, "score": value}
        elif row["type"] in ("match", "metrics"):
            for name, one in row.items():
                if name.startswith("data.") and isinstance(one, bool | int | float):
                    yield row | {"rater": name.removeprefix("data."), "score": one}


SPANS = "span_id|context.span_id|trace_id"
OBSERVABILITY_TOOLS = (
    Tool(
        "scores of Langfuse",
        "traces are students, names of scores or their authors raters",
        _langfuse_scores,
        ("scores",),
        _langfuse,
        student="scores.traceId|id",
        rater="scores.authorUserId|scores.name",
        score="scores.value|scores.stringValue",
        columns=("*", "scores.source"),
    ),
    Tool(
        "traces of MLflow",
        "traces are students, sources of assessments raters, their names items",
        _traces,
        ("assessments",),
        _mlflow,
        student=f"info.trace_id|info.request_id|trace_id|request_id|{PLACE}",
        rater="assessments.source.source_id|assessments.source.source_type",
        score="assessments.feedback.value|assessments.feedback",
        columns=("*", "assessments.source.source_type"),
        known="expected",
    ),
    Tool(
        "annotations of Phoenix",
        "spans are students, annotators raters, names of annotations items",
        _where(
            lambda one: (
                {*one} >= {"annotation_name", "annotator_kind"} and bool(_first(flattened(one), SPANS))
            )
        ),
        student=SPANS,
        rater="identifier|annotator|user_id|annotator_kind",
        item="annotation_name",
        score="result.score|score|result.label|label",
        columns=("annotator_kind", "metadata.*"),
    ),
    Tool(
        "a log of OpenAI evals",
        "samples are students, judges or metrics raters",
        _events,
        prepared=_openai_evals,
        student="sample_id",
        columns=("run_id",),
    ),
)
TOOLS = (*ANNOTATION_TOOLS, *EVALUATION_TOOLS, *OBSERVABILITY_TOOLS)
FLAT = ({"traceId", "name", "value"}, {"annotation_name", "annotator_kind"})
"""Columns of exports that are tables as well: scores of Langfuse, annotations of Phoenix."""


def exported(content: Any, name: str) -> Table | None:
    """The table of an export, by the first tool that knows the records or the document; None where none does."""
    for tool in TOOLS if content else ():
        try:
            if (records := tool.records(content)) is not None:
                return tool.table(records, name)
        except (KeyError, TypeError, AttributeError) as error:
            what = f"{name!r} looks like {tool.name}, but not as this release knows it"
            raise InputError(f"{what} ({type(error).__name__}: {error})", "export it as csv") from error
    return None


def is_export(records: Sequence[Record]) -> bool:
    """Whether a tool knows these records."""
    return bool(records) and any(tool.records(records) is not None for tool in TOOLS)
