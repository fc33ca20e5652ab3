"""The wheel is whole, the extras are known, and the citation is of this version."""

import re
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import raterlens as rl

ROOT = Path(__file__).parents[1]
FOR_DEVELOPERS = {"dev", "docs", "bench", "writers"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.mark.nightly
def test_the_wheel_has_every_file(tmp_path: Path) -> None:
    from hatchling.builders.wheel import WheelBuilder

    (path,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(ZipFile(path).namelist())
    source = ROOT / "src"
    wanted = {
        str(file.relative_to(source))
        for file in (source / "raterlens").rglob("*")
        if file.is_file() and "__pycache__" not in file.parts
    }
    assert {"raterlens/py.typed", "raterlens/data/example.parquet"} <= wanted
    assert wanted - names == set()
    assert not [name for name in names - wanted if ".dist-info/" not in name]


def test_the_extra_all_has_every_other_one() -> None:
    extras = PROJECT["optional-dependencies"]
    (everything,) = re.findall(r"\[(.*)\]", extras["all"][0])
    assert set(everything.split(",")) == set(extras) - {"all"} - FOR_DEVELOPERS


def test_every_extra_that_a_message_names_exists() -> None:
    named = set()
    for file in (ROOT / "src").rglob("*.py"):
        text = file.read_text()
        named |= set(re.findall(r"raterlens\[(\w+)\]", text))
        named |= set(re.findall(r'require\("[\w.]+", "(\w+)"', text))
    assert named
    assert named <= set(PROJECT["optional-dependencies"])


def test_one_version_everywhere() -> None:
    citation = dict(re.findall(r"^(\w[\w-]*): (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE))
    assert citation["version"] == rl.__version__
    assert PROJECT["dynamic"] == ["version"]  # the build reads it from version.py
    assert citation["license"] == PROJECT["license"]
