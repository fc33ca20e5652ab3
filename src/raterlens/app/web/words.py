"""Every word that the web app shows of its own, from words.toml."""

import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def _named(content: Any) -> Any:
    if not isinstance(content, dict):
        return content
    return SimpleNamespace(**{name.replace("-", "_"): _named(value) for name, value in content.items()})


TABLE: dict[str, Any] = tomllib.loads((Path(__file__).parent / "words.toml").read_text(encoding="utf-8"))
"""As in the file: for lists of choices."""

WORDS = _named(TABLE)
"""By attribute: for templates."""
