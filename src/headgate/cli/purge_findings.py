"""What `headgate doctor` finds of purges: who does them, and which wait for an operator."""

from collections.abc import Iterator
from contextlib import suppress

from headgate.background import purges_elsewhere
from headgate.cli.finding import Finding
from headgate.cli.job_words import table_of
from headgate.cli.output import iso
from headgate.errors import HeadgateError
from headgate.extension_settings import purger_selection
from headgate.kernel.kernel import Kernel
from headgate.purge.inspecting import Inspector
from headgate.purge.job_states import State
from headgate.purge.selection import SPARK
from headgate.settings.purge_jobs import PURGE_WORKER_THREADS
from headgate.settings.setting import Settings


def found_of_purger(settings: Settings) -> Iterator[Finding]:
    """The purger that was chosen, if it can be loaded."""
    with suppress(HeadgateError):  # the settings are found wrong already
        text = f"the purger {purger_selection(settings).name!r} can be loaded; "
        if purges_elsewhere(settings):
            text += f"servers leave all tables to {others(settings)}"
        else:
            text += f"a process purges {settings[PURGE_WORKER_THREADS]} tables at a time"
        yield Finding("purges", ok=True, text=text)


def others(settings: Settings) -> str:
    """Who purges if servers do not."""
    by_spark = purger_selection(settings).name == SPARK
    return "processes of `headgate work`" + (" or `headgate pipeline purge`" if by_spark else "")


async def found_of_jobs(kernel: Kernel) -> Finding:
    """The purges that nobody goes on with, unless an operator says so."""
    jobs = await Inspector(kernel).all_live()
    dead = [one for one in jobs if one.state == State.DEAD_LETTER]
    if not dead:
        return Finding("purges", ok=True, text=f"{len(jobs):,} are not done, none failed for good")
    oldest = min(dead, key=lambda one: one.live.job.created_ms).view
    text = (
        f"{len(dead):,} failed for good and wait for an operator, the oldest that of "
        f"{table_of(oldest)}, dropped {iso(oldest.created_ms)}; "
        "`headgate jobs list --state DEAD_LETTER` shows them"
    )
    return Finding("purges", ok=True, text=text, warns=True)
