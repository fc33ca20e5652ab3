"""Templates that escape every label."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from raterlens.charts.text import interval, number, sentence
from raterlens.wording import counted


@cache
def templates(folder: Path) -> Environment:
    """The templates of a folder. What a label holds is shown as text, never read as markup."""
    environment = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, counted=counted, sentence=sentence)
    environment.globals["interval"] = interval
    return environment
