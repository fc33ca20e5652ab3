"""Limits of a server."""

from raterlens.app.web.settings import Settings, half_of_memory


def test_servers_on_one_host_do_not_share_a_cookie() -> None:
    assert Settings(port=1).cookie != Settings(port=2).cookie


def test_a_fit_may_take_half_of_the_memory() -> None:
    assert Settings().max_memory == half_of_memory() >= 0
