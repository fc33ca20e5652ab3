"""Options that a message mentions, in the words of the pages: fields and choices there, not arguments of Python."""

from raterlens.app.web.words import TABLE
from raterlens.base.text import Option
from raterlens.output.report.reproduce import as_flag

_CHOICES = {"method": "methods", "link": "links", "scale": "scales", "prior": "priors"}
_TYPED = ("cut", "wide", "bands", "map", "decide")
_SWITCHES = ("item_slopes", "interactions")
_ROLES = {
    "student": "student",
    "rater": "rater",
    "item": "item",
    "score": "score",
    "items": "score",
    "facets": "facet",
}
FIELDS = {
    "cut": "cut",
    "bands": "bands",
    "as_written": "as_written",
    "map": "map",
    "wide": "spread",
    "model": "models",
    "decide": "decide",
    "remark": "remark",
    **{name: name for name in (*_CHOICES, *_SWITCHES)},
}
FIELDS |= dict.fromkeys(_ROLES, "roles")
"""The id of the field on the page at which an option is chosen."""


def label(option: Option) -> str:
    """An option as the pages call it: `cut=3` is the pass mark 3.

    Examples
    --------
    >>> label(Option("cut", 3)), label(Option("rater")), label(Option("model", "tfm"))
    ('the pass mark 3', 'a column as Rater', 'the model “Severity only” (tfm)')
    >>> label(Option("encoding", "cp1252"))
    '--encoding cp1252 on the command line'
    """
    name, value = option.name, option.value
    words: dict[str, str] = TABLE["options"]
    if name in _ROLES:
        return words["role"].format(role=TABLE["roles"][_ROLES[name]])
    if name in _SWITCHES:
        return f"“{_short(TABLE['models'][name])}”"
    if name in words and (value is None or value is True):
        return words[name]
    if name in _TYPED and value is not None:
        return words[f"{name}_value"].format(value=value)
    if name == "model" and value in TABLE["models"]:
        return f"{words[name]} “{TABLE['models'][value]['name']}” ({value})"
    known = TABLE.get(_CHOICES.get(name, ""), {})
    if value in known:
        return f"{words[name]} “{_short(known[value])}”"
    return f"{as_flag(option)} on the command line"  # the pages do not ask for it


def _short(text: str) -> str:
    """Without what follows in brackets: it explains the choice."""
    return text.partition(" (")[0]
