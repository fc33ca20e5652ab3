"""The graph that the architecture tests rest on sees what Python would import."""

import ast
from pathlib import Path

import pytest

from tests.support.import_graph import cycles, functions, import_graph, modules, room


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    sources = {
        "__init__": "",
        "low": "import os",
        "middle/__init__": "",
        "middle/first": "from p.low import thing\nfrom p.middle import second",
        "middle/second": "def f(self_less, b):\n    from p import high",
        "high": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import p.late\nimport p.middle.first",
        "late": "from importlib import import_module\nimport_module('p.high')",
    }
    for name, text in sources.items():
        path = tmp_path / "p" / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return modules(tmp_path, "p")


def test_imports_are_found_wherever_they_stand(files: dict[str, Path]) -> None:
    assert import_graph(files) == {
        "p": set(),
        "p.low": set(),
        "p.middle": set(),
        "p.middle.first": {"p.low", "p.middle.second"},
        "p.middle.second": {"p.high"},
        "p.high": {"p.middle.first"},
        "p.late": {"p.high"},
    }


def test_a_cycle_through_a_function_is_a_cycle(files: dict[str, Path]) -> None:
    assert cycles(import_graph(files)) == [["p.high", "p.middle.first", "p.middle.second"]]
    assert cycles({"a": {"b"}, "b": {"c"}, "c": set()}) == []


def test_functions_are_measured_without_docstring_and_self(tmp_path: Path) -> None:
    source = 'class A:\n    def f(self, a, *, b):\n        """One.\n\n        Two.\n        """\n        return a + b\n'
    ast.parse(source)
    path = tmp_path / "a.py"
    path.write_text(source)
    (found,) = functions({"p.a": path})
    assert (found.name, found.lines, found.parameters) == ("p.a:A.f", 2, 2)


def test_a_room_is_the_first_level() -> None:
    assert room("raterlens.reading.formats.parquet") == "reading"
    assert room("raterlens.fitting") == "fitting"
