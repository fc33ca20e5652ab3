"""Work beside the work is finished when the block is, whatever happens to either."""

from threading import Event, current_thread
from threading import enumerate as threads

import pytest

from raterlens.base.meanwhile import meanwhile
from raterlens.base.threads import available_cores


def test_it_is_done_on_another_thread_that_keeps_to_itself():
    with meanwhile(lambda: (current_thread(), available_cores())) as answer:
        other, cores = answer()
    assert other is not current_thread()
    assert cores == 1


def test_both_go_on_at_once():
    here, there = Event(), Event()

    def work():
        there.set()
        return here.wait(30)

    with meanwhile(work) as answer:
        assert there.wait(30)
        here.set()
        assert answer()


def test_its_error_is_raised_where_the_answer_is_asked_for():
    def work():
        raise OSError("no room")

    with pytest.raises(OSError, match="no room"), meanwhile(work) as answer:
        answer()


def test_an_error_of_the_block_waits_for_the_work():
    begun, finished = Event(), []

    def work():
        begun.wait(30)
        finished.append(True)

    def block():
        with meanwhile(work):
            begun.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    assert finished == [True]
    assert not [thread for thread in threads() if thread.name == "raterlens-meanwhile"]
