"""The code in docs/uncertainty.md runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "uncertainty.md"


def test_the_code_runs(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
    known: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), known)
    assert "pairs of raters differ for sure" in capsys.readouterr().out
