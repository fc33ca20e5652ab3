"""How a fit is carried out, checked before any work."""

import pytest

from raterlens.base.errors import OptionError
from raterlens.config import FitConfig
from raterlens.fitting.steps import Run


def test_a_plain_run_has_nothing_to_refuse():
    Run().check(FitConfig(), by_parts=False)


def test_a_text_is_no_cluster():
    with pytest.raises(OptionError, match="client is a str"):
        Run(client="tcp://127.0.0.1:8786").check(FitConfig(), by_parts=True)


def test_what_needs_parts_names_the_model_and_the_method(tmp_path):
    run = Run(checkpoint=tmp_path / "work")
    run.check(FitConfig(), by_parts=True)
    with pytest.raises(OptionError, match="not with model 'tfm' by 'hl'") as caught:
        run.check(FitConfig(model="tfm", method="hl"), by_parts=False)
    assert caught.value.option == "checkpoint"
