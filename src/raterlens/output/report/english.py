"""The English words of the report, which words.toml has: `SECTIONS` here is its `sections`."""

import tomllib
from pathlib import Path
from typing import Any

from raterlens.models.registry import MODELS as _MODELS

TEXTS: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))

MODELS = {
    name: f"{spec.title[:1].upper()}{spec.title[1:]} ({name}): {spec.about}" for name, spec in _MODELS.items()
}

NORMAL_FREE = tuple(name for name, spec in _MODELS.items() if not spec.true_category)

_PARTS = {
    "_se": ("{of} (s.e.)", "± s.e."),
    "_low": ("{of} from", "From"),
    "_high": ("{of} to", "To"),
    "_z": ("{of} (z)", "z"),
    "_expected": ("{of} expected", "Expected"),
}
_BRIEF = {
    "verdict": "Verdict",
    "interval": "95 % interval",
    "rho": "Discri\u00admination",
    "correlation": "Corre\u00adlation",
    "agreement": "Agreed",
    "probability": "Probability, %",
}
"""Headings of the page that are not those of the workbook."""


def heading(column: str, *, brief: bool = False) -> str:
    """A column in words; brief where it stands beside the column that it belongs to.

    Examples
    --------
    >>> heading("eta"), heading("eta_se"), heading("kappa_low"), heading("new"), heading("p_pass")
    ('Severity', 'Severity (s.e.)', 'Capability from', 'new', 'Probability of pass')
    >>> heading("eta_se", brief=True), heading("infit_z", brief=True)
    ('± s.e.', 'z')
    """
    known: dict[str, str] = TEXTS["headings"] | (_BRIEF if brief else {})
    if column in known:
        return known[column]
    if column.startswith("p_"):
        return f"Probability of {column.removeprefix('p_')}"
    for end, (full, short) in _PARTS.items():
        if column.endswith(end) and (of := column.removesuffix(end)) in known:
            return short if brief else full.format(of=known[of])
    return column


def __getattr__(name: str) -> Any:
    if name.isupper() and name.lower() in TEXTS:
        return TEXTS[name.lower()]
    raise AttributeError(f"words.toml has no {name.lower()!r}")
