"""The page on charts: its code runs, and its pictures are of every chart."""

import re
from pathlib import Path

import raterlens as rl

PAGE = Path(__file__).parents[2] / "docs" / "charts.md"


def test_the_code_makes_the_pictures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.S)
    exec(compile(block, str(PAGE), "exec"), {})
    shown = re.findall(r"!\[[^\]]+\]\(charts/(\w+)\.svg\)", text)
    assert sorted(shown) == sorted(set(rl.charts.__all__) - {"save", "svg"})
    for name in shown:
        kept = (PAGE.parent / "charts" / f"{name}.svg").read_text(encoding="utf-8")
        made = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")
        title = re.compile("<title>(.*?)</title>")
        assert title.search(kept)[1] == title.search(made)[1]
        assert f"raterlens plot {name} " in text
