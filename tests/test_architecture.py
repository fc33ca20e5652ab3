"""A layer imports only those above it; what a newcomer reads in CONTRIBUTING is enforced here."""

import ast
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "raterlens"

# Top to bottom: data goes down the list once.
LAYERS = [
    ("errors", "wording", "parallel", "cluster", "datasets", "spreadsheets"),
    ("compiled",),
    ("ratings",),
    ("stored",),
    ("reading",),
    ("packing",),
    ("design",),
    ("links",),
    ("moments",),
    ("curves",),
    ("population",),
    ("capability",),
    ("models",),
    ("engine",),
    ("estimation",),
    ("inference",),
    ("calibration", "covariates"),
    ("measuring",),
    ("tabulate", "cautions"),
    ("scoring", "anchoring"),
    ("results",),
    ("latent",),
    ("choices",),
    ("fitting",),
    ("comparing", "several", "uncertainty", "sklearn"),
    ("diagnostics",),
    ("gating", "facets_files", "workbook"),
    ("studies",),
    ("charts",),
    ("report",),
    ("writing",),
    ("app",),
]
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

# A fit writes its own report and has itself diagnosed: where a result reaches below, on demand.
ALLOWED = {("results", "report"), ("results", "diagnostics"), ("results", "workbook")}


def imports(path: Path) -> set[str]:
    """First-level raterlens modules that a file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("raterlens"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
    return found


def test_every_module_has_a_layer_and_imports_only_from_above():
    for path in SOURCE.rglob("*.py"):
        layer = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        assert layer in RANK, f"{path} has no layer in tests/test_architecture.py"
        for other in imports(path) - {layer}:
            assert other in RANK, f"{path} imports {other}, which has no layer"
            assert RANK[other] <= RANK[layer] or (layer, other) in ALLOWED, (
                f"{path} imports {other} from below"
            )


def test_importing_the_package_imports_nothing_heavy():
    code = "import raterlens, sys; print(*[m for m in ('numpy', 'scipy', 'polars') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_file_is_too_long_for_one_subject():
    long = {
        str(p.relative_to(SOURCE)): n
        for p in SOURCE.rglob("*.py")
        if (n := len(p.read_text().splitlines())) > 420
    }
    assert long == {}
