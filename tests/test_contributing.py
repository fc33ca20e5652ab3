"""The code in CONTRIBUTING and README runs as it stands."""

import re
from pathlib import Path

import pytest

from raterlens.models import FACETS_MODELS

ROOT = Path(__file__).parents[1]


def blocks(name: str) -> str:
    return "\n".join(re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL))


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "README.md"])
def test_the_code_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    try:
        exec(compile(blocks(name), name, "exec"), {})
    finally:
        FACETS_MODELS.pop("two kinds", None)
