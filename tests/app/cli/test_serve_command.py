"""`raterlens serve`: limits are checked before anything listens."""

import pytest

from raterlens.app.cli.serve_command import serve, server_settings
from raterlens.app.web.settings import Settings
from raterlens.base.errors import OptionError
from raterlens.output.report.reproduce import as_flag


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (Settings(port=70_000), "--port 70000 is out of range; give a number from 0 to 65,535"),
        (Settings(max_rows=0), "--max-rows 0 is out of range; give a number of at least 1"),
        (Settings(max_memory=-1.0), "--max-memory=-1 is out of range; give a number of at least 0.1"),
        (Settings(max_minutes=0.0), "--max-minutes 0 is out of range; give a number of at least 0.01"),
        (Settings(fits=0), "--fits 0 is out of range; give a number of at least 1"),
    ],
)
def test_limits_out_of_range(limits: Settings, message: str) -> None:
    with pytest.raises(OptionError) as refused:
        server_settings(limits)
    assert refused.value.worded(as_flag) == message


def test_the_extra_is_named_where_it_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raterlens.app.cli.serve_command.find_spec", lambda name: None)
    with pytest.raises(OptionError, match=r"pip install 'raterlens\[web\]'"):
        serve()
