"""How much a thread has of the processor's cores when others want them too."""

import os

NICE_MAX = 19


def step_back() -> None:
    """Let this thread, and those that it starts, have only what others leave of the cores.

    Nobody waits for what it does. The other threads of its process stay as they are, so that they
    answer in time; elsewhere than on Linux the whole process steps back.
    """
    if hasattr(os, "SCHED_IDLE"):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    else:
        os.nice(NICE_MAX)
