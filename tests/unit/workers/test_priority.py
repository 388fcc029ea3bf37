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
