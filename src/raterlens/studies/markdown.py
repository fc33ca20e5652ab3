"""Pages and tables in markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from raterlens.base.text import number


def with_error(value: float, error: float, digits: int = 3) -> str:
    """0.831 ± 0.002"""
    return f"{number(value, digits)} ± {number(error, digits)}"


def statistic(row: Mapping[str, Any], name: str, digits: int = 3) -> str:
    """A `bias` or `rmse` of `accuracy`, with its Monte-Carlo standard error."""
    return with_error(row[name], row[f"{name}_se"], digits)


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table: the first column aligned left, the others right."""
    align = ["---", *["---:"] * (len(heading) - 1)]
    lines = [heading, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*parts: str) -> str:
    """Paragraphs, headings and tables, separated by empty lines."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def opening(name: str, replications: int) -> str:
    """The command that writes a page."""
    return f"`raterlens study {name} --replications {replications} --out DIR` wrote this page."
