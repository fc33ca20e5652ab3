"""The package as a graph: its modules, what each imports, how long its functions are. Read from the source alone."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
PACKAGE = "raterlens"

Graph = dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    """Module and qualified name: raterlens.fitting:fit, raterlens.sklearn:RaterCapability.__init__."""
    lines: int
    """Without its docstring."""
    parameters: int
    """Without self and cls."""


def modules(folder: Path = SOURCE, package: str = PACKAGE) -> dict[str, Path]:
    """The file of every module; a package is its __init__.py."""
    found = {}
    for path in sorted((folder / package).rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def import_graph(files: dict[str, Path]) -> Graph:
    """Imports of every module among `files`, inside functions too; `if TYPE_CHECKING:` apart."""
    known = set(files)
    return {module: set(_imported(_parsed(path), known)) for module, path in files.items()}


def room(module: str) -> str:
    """The first level below the package: raterlens.reading.columns -> reading."""
    return module.removeprefix(f"{PACKAGE}.").partition(".")[0]


def cycles(graph: Graph) -> list[list[str]]:
    """Strongly connected components of more than one module (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    path: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = lowest[module] = len(order)
        path.append(module)
        for other in graph[module]:
            if other not in order:
                visit(other)
                lowest[module] = min(lowest[module], lowest[other])
            elif other in path:
                lowest[module] = min(lowest[module], order[other])
        if lowest[module] == order[module]:
            component = path[path.index(module) :]
            del path[path.index(module) :]
            if len(component) > 1:
                found.append(sorted(component))

    for module in graph:
        if module not in order:
            visit(module)
    return found


def functions(files: dict[str, Path]) -> Iterator[Function]:
    """Every function and method of `files`, nested ones too."""
    for module, path in files.items():
        yield from _functions(_parsed(path), f"{module}:")


@cache
def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(tree: ast.AST, known: set[str]) -> Iterator[str]:
    left = [tree]
    while left:
        node = left.pop()
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                left += node.orelse
                continue
            case ast.Import(names=names):
                named = [alias.name for alias in names]
            case ast.ImportFrom(module=str(module), names=names, level=0):
                # `from package import name`: a module of that name, or something inside the package.
                named = [full if (full := f"{module}.{alias.name}") in known else module for alias in names]
            case ast.Call(
                func=ast.Name(id="import_module") | ast.Attribute(attr="import_module"),
                args=[ast.Constant(value=str(module)), *_],
            ):
                named = [module]
            case _:
                named = []
        yield from (name for name in named if name in known)
        left += ast.iter_child_nodes(node)


def _functions(tree: ast.AST, prefix: str) -> Iterator[Function]:
    left = [(tree, prefix)]
    while left:
        node, prefix = left.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
                yield Function(f"{prefix}{child.name}", _length(child), _parameters(child.args))
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                left.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, ast.stmt):
                left.append((child, prefix))


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None:
        length -= (first.end_lineno or first.lineno) - first.lineno + 1
    return length


def _parameters(arguments: ast.arguments) -> int:
    named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return len(named) - (named[0].arg in ("self", "cls") if named else 0)
