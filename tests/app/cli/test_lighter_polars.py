"""What polars loads for Iceberg and catalogs is there when asked for, and only then."""

import subprocess
import sys

LIGHT = "import sys; from raterlens.app.cli.lighter_polars import lighten_polars; lighten_polars(); lighten_polars(); "


def run(probe: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LIGHT + probe], capture_output=True, timeout=60, check=False, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_iceberg_is_loaded_when_a_function_of_it_is_called_and_not_with_polars() -> None:
    """The package that such tables need is missing, or the table is."""
    assert (
        run(
            "import polars; print('polars.io.iceberg.functions' in sys.modules, end=' ')\n"
            "try:\n    polars.scan_iceberg('nowhere')\nexcept Exception as error:\n"
            "    print(type(error).__name__ != 'AttributeError', end=' ')\n"
            "from polars.io.iceberg import scan_iceberg\n"
            "print('polars.io.iceberg.functions' in sys.modules, scan_iceberg.__module__)"
        )
        == "False True True polars.io.iceberg.functions"
    )


def test_catalogs_are_loaded_when_one_is_opened() -> None:
    assert (
        run(
            "import polars; print('polars.catalog.unity.client' in sys.modules, end=' ')\n"
            "catalog = polars.Catalog('https://nowhere.invalid', bearer_token=None)\n"
            "print(type(catalog).__module__)"
        )
        == "False polars.catalog.unity.client"
    )


def test_polars_does_what_it_does() -> None:
    assert run("import polars; print(polars.DataFrame({'a': [1, 2]}).lazy().sum().collect().item())") == "3"


def test_polars_that_is_loaded_stays_as_it_is() -> None:
    assert run(
        "import polars; before = polars.scan_iceberg; lighten_polars(); print(polars.scan_iceberg is before)"
    ) == ("True")
