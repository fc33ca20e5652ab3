"""`python -m benchmarks.studies`: every study of the list is there, and an unknown one is refused."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.studies import STUDIES


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_of_the_list_is_in_the_module_of_its_name(name):
    assert import_module(f"benchmarks.studies.{name}").STUDY.name == name


def test_an_unknown_study_is_refused(tmp_path):
    command = [sys.executable, "-m", "benchmarks.studies", "prior", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=False)
    assert done.returncode == 2
    assert "unknown study 'prior'; did you mean 'priors'?" in done.stderr
    assert not (tmp_path / "out").exists()
