"""The shape of the house, as CONTRIBUTING tells it: who may import whom, and how large a file or a function may be."""

import ast
import re
import subprocess
import sys
from collections import Counter
from functools import cache

from tests.support.import_graph import (
    PACKAGE,
    ROOT,
    SOURCE,
    Graph,
    cycles,
    functions,
    import_graph,
    modules,
    room,
)

# Top to bottom: a module imports only from its own room and from those above.
LAYERS = [
    ("base", "version"),
    ("config",),
    ("kernels",),
    ("ratings",),
    ("reading",),
    ("capability",),
    ("models",),
    ("likelihood",),
    ("estimation",),
    ("inference",),
    ("grading",),
    ("diagnostics",),
    ("judging",),
    ("simulation",),
    ("pictures", "charts"),
    ("planning",),
    ("output",),
    ("fitting",),
    ("sklearn",),
    ("studies",),
    ("app",),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

MOST_ROOMS, MOST_MODULES = 20, 240
LONGEST_FILE, LONGEST_FUNCTION, MOST_PARAMETERS = 700, 60, 8

# Signatures that people call, so that every option has a place in them: rl.<name>, constructors, commands.
PUBLIC = {
    "raterlens.fitting.api:fit",
    "raterlens.simulation.simulate:simulate",
    "raterlens.planning.plan:plan",
    "raterlens.reading.read:read",
    "raterlens.judging.judge:judge",
    "raterlens.judging.gate:gate",
}

FILES = modules()


@cache
def graph() -> Graph:
    """Made in the test that needs it first: every process collects all tests."""
    return import_graph(FILES)


def test_every_module_has_a_layer() -> None:
    assert {room(module) for module in FILES if module != PACKAGE} <= set(RANK)


def test_a_module_imports_only_from_its_own_room_and_those_above() -> None:
    downward = {
        f"{module} imports {other}"
        for module, others in graph().items()
        for other in others
        if module != PACKAGE and (other == PACKAGE or RANK[room(other)] > RANK[room(module)])
    }
    assert downward == set()


def test_no_modules_import_each_other_in_a_circle() -> None:
    assert cycles(graph()) == []


def test_rooms_and_modules_are_few() -> None:
    """A module of a few lines that only one other imports is a paragraph of that one."""
    rooms = {path.parent.name for path in (SOURCE / PACKAGE).glob("*/__init__.py")}
    assert len(rooms) <= MOST_ROOMS, sorted(rooms)
    assert len(FILES) <= MOST_MODULES


def test_no_module_name_is_used_twice() -> None:
    names = Counter(path.stem for path in FILES.values() if path.stem != "__init__")
    assert [name for name, count in names.items() if count > 1] == []


def test_functions_are_short_and_take_few_parameters() -> None:
    large = {
        function.name: (function.lines, function.parameters)
        for function in functions(FILES)
        if (function.lines > LONGEST_FUNCTION or function.parameters > MOST_PARAMETERS)
        and room(function.name.partition(":")[0]) != "kernels"
    }
    assert set(large) - PUBLIC == set(), large
    assert PUBLIC - set(large) == set(), "no longer large: take it off the list"


def test_no_test_imports_another_test_or_a_conftest() -> None:
    imported = re.compile(
        r"^\s*(?:from|import) (tests\.\S*(?:test_\w+|conftest))|^from tests\S* import (?:test_|conf)", re.M
    )
    found = {
        path: imported.findall(path.read_text(encoding="utf-8")) for path in (ROOT / "tests").rglob("*.py")
    }
    assert {path: names for path, names in found.items() if names} == {}


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    odd = re.compile(r'^ *"""(?:Of|What) .*$', re.MULTILINE)
    folders = ("src", "audit", "benchmarks", "site_build", "tests")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    found = {path: odd.findall(path.read_text(encoding="utf-8")) for path in files}
    assert {path: lines for path, lines in found.items() if lines} == {}


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = "import raterlens, sys; print(*[m for m in ('numpy', 'scipy', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_file_is_too_long_for_one_subject() -> None:
    long = {
        module: lines
        for module, path in FILES.items()
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > LONGEST_FILE
    }
    assert long == {}


def test_no_name_of_a_module_is_given_twice() -> None:
    """The second would silently replace the first; ruff notices it only of functions and classes."""
    twice = {}
    for module, path in FILES.items():
        targets = [
            target.id
            for node in ast.parse(path.read_text(encoding="utf-8")).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        ]
        if len(targets) > len(set(targets)):
            twice[module] = sorted(name for name, count in Counter(targets).items() if count > 1)
    assert twice == {}
