"""Threads that step back. Needs nothing."""

import os
from threading import Thread

import pytest

from headgate.workers.priority import step_back

on_linux = pytest.mark.skipif(not hasattr(os, "SCHED_IDLE"), reason="elsewhere there is only nice")


@on_linux
def test_a_thread_steps_back_and_its_process_does_not() -> None:
    """Signs of life come from the thread beside the one that deletes."""
    policies: list[int] = []

    def work() -> None:
        step_back()
        policies.append(os.sched_getscheduler(0))

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert policies == [os.SCHED_IDLE]
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@on_linux
def test_what_a_thread_starts_steps_back_with_it() -> None:
    """Several threads delete where storage is slow."""
    policies: list[int] = []

    def work() -> None:
        step_back()
        inner = Thread(target=lambda: policies.append(os.sched_getscheduler(0)))
        inner.start()
        inner.join()

    thread = Thread(target=work)
    thread.start()
    thread.join()
    assert policies == [os.SCHED_IDLE]


def test_where_threads_have_no_policy_the_process_is_nice(monkeypatch: pytest.MonkeyPatch) -> None:
    """So it is on macOS."""
    asked: list[int] = []
    monkeypatch.delattr(os, "SCHED_IDLE", raising=False)
    monkeypatch.setattr(os, "nice", asked.append)
    step_back()
    assert asked == [19]
