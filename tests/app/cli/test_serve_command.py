"""`raterlens serve`: limits are checked before anything listens."""

import pytest

from raterlens.app.cli.serve_command import Limits, serve
from raterlens.base.errors import OptionError
from raterlens.output.report.reproduce import as_flag


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Limits(port=70_000), "--port 70000 is out of range; give a number from 0 to 65535"),
        (Limits(max_rows=0), "--max-rows 0 is out of range; give a number above 0"),
        (Limits(max_memory=-1.0), "--max-memory=-1 is out of range; give a number above 0"),
        (Limits(fits=0), "--fits 0 is out of range; give a number above 0"),
    ],
)
def test_limits_out_of_range(limits: Limits, message: str) -> None:
    with pytest.raises(OptionError) as refused:
        serve(limits=limits)
    assert refused.value.worded(as_flag) == message


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raterlens.app.cli.serve_command.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'raterlens\[web\]'"):
        serve()
