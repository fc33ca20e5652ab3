"""What evaluation tools write as JSON: promptfoo, DeepEval and lm-evaluation-harness, without their packages.

An answer is a student, whatever judges it a rater. A judge that gave no verdict is missing, not a fail.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raterlens.base.errors import InputError
from raterlens.reading.formats.export_rows import Export, Record, Row
from raterlens.reading.formats.nested_records import flattened

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
    rows: list[Row] = []
    for place, result in enumerate(results):
        parts = [f"test {result.get('testIdx', place)}"]
        parts += [_provider(result.get("provider"))] if several else []
        parts += [f"prompt {result.get('promptIdx')}"] if prompts else []
        more = {"provider": _provider(result.get("provider")), **_variables(result)}
        rows += [Row(", ".join(parts), rater, "all", score, more) for rater, score in _asserted(result)]
    return Export("a promptfoo output", "answers are students, assertions raters", rows)


def _variables(result: Record) -> dict[str, Any]:
    """The variables and the metadata of a test, by their names; those that both have are variables."""
    held = result.get("testCase")
    test: Record = held if isinstance(held, Mapping) else {}
    found: dict[str, Any] = {}
    for holder in (test.get("metadata"), result.get("metadata"), test.get("vars"), result.get("vars")):
        if isinstance(holder, Mapping):
            found |= {str(name): value for name, value in flattened(holder) if not isinstance(value, list)}
    return found


def _asserted(result: Record) -> Iterator[tuple[str, int | None]]:
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
        yield label, None if unread or component.get("pass") is None else int(bool(component["pass"]))


def _provider(provider: Any) -> str:
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    return "" if provider is None else str(provider)


def deepeval(document: Any) -> Export | None:
    """A test run of DeepEval: the evaluation models are raters and the metrics items; with one model, its metrics are
    the raters."""
    cases = _test_cases(document)
    if not cases:
        return None
    metrics = [metric for case in cases for metric in case.get("metricsData") or []]
    models = {metric.get("evaluationModel") for metric in metrics}
    times = Counter(str(case.get("name")) for case in cases)
    rows: list[Row] = []
    for place, case in enumerate(cases):
        name = str(case.get("name", place))
        student = name if times[name] == 1 else f"{name} {case.get('order', place)}"
        more = {
            name: value
            for name, value in flattened(
                {key: case.get(key) for key in ("additionalMetadata", "tags", "comments")}
            )
            if value is not None and not isinstance(value, list)
        }
        for metric in case.get("metricsData") or []:
            verdict = None if metric.get("error") else metric.get("success")
            score = None if verdict is None else int(bool(verdict))
            if len(models) > 1:
                rows.append(
                    Row(student, str(metric.get("evaluationModel")), str(metric["name"]), score, more)
                )
            else:
                rows.append(Row(student, str(metric["name"]), "all", score, more))
    meaning = "evaluation models are raters, metrics items" if len(models) > 1 else "metrics are raters"
    return Export("a DeepEval test run", f"test cases are students, {meaning}", rows)


def _test_cases(document: Any) -> list[Record]:
    if not isinstance(document, Mapping):
        return []
    for holder in (document, *(value for value in document.values() if isinstance(value, Mapping))):
        cases = [*(holder.get("testCases") or []), *(holder.get("conversationalTestCases") or [])]
        if cases and any("metricsData" in case for case in cases if isinstance(case, Mapping)):
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
            more = {
                name: one
                for name, one in flattened(record.get("doc") or {})
                if isinstance(one, str | int | float)
            }
            target = (
                {"target": record["target"]} if isinstance(record.get("target"), str | int | float) else {}
            )
            rows.append(Row(str(record["doc_id"]), rater, "all", value, more | target))
    return Export("samples of lm-evaluation-harness", "documents are students, metrics raters", rows)


def refuse_aggregates(document: Any, name: str) -> None:
    """Raise where results are there only as averages over samples."""
    if isinstance(document, Mapping) and {"results", "configs", "versions"} <= document.keys():
        raise InputError(
            f"{name!r} has the results of lm-evaluation-harness as averages, without samples",
            "run it with --log_samples and give the file samples_*.jsonl",
        )


DOCUMENTS = (promptfoo, deepeval)
EVALUATION_TOOLS = (lm_eval,)
