"""Tables in markdown, with numbers as a journal prints them."""

from collections.abc import Iterable, Sequence


def number(value: float, digits: int = 2) -> str:
    """0.83, -0.01; a rounded zero has no sign; a dash where there is no number."""
    if value != value:
        return "–"
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def with_error(value: float, error: float, digits: int = 3) -> str:
    """0.831 ± 0.002"""
    return f"{number(value, digits)} ± {number(error, digits)}"


def table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A markdown table: the first column to the left, the others to the right."""
    align = ["---", *["---:"] * (len(heading) - 1)]
    lines = [heading, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def page(*parts: str) -> str:
    """Paragraphs, headings and tables with an empty line between them."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"


def opening(name: str, replications: int) -> str:
    """The command that writes a page."""
    return f"`raterlens study {name} --replications {replications} --out DIR` wrote this page."
