"""`headgate jobs`: the purges of dropped tables, looked at and steered in the store itself."""

import asyncio
import shutil
import signal
import sys
from collections.abc import AsyncIterator

import click

from headgate.catalog.calls import OPERATOR, Call, Caller, CatalogName
from headgate.catalog.openings import Openings
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.job_words import (
    HEADINGS,
    bar,
    described,
    listed,
    none_of,
    progress,
    table_of,
)
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import printable, table, to_json
from headgate.cli.suggestions import for_same_store
from headgate.errors import BadRequest
from headgate.kernel.kernel import Kernel
from headgate.limits import JOBS, JOBS_MAX
from headgate.model.names import Identifier
from headgate.purge.inspecting import Inspector, Wanted, check_state, job_id
from headgate.purge.job_states import State
from headgate.purge.job_views import JobSummary, JobView
from headgate.purge.steering import Steering

FOLLOW_SECONDS = 1.0  # between looks: workers do not tell more often
ERASE_LINE = "\r\x1b[K"
MORE_OF_ONE = "`headgate jobs show ID` tells all of one."


@click.group(invoke_without_command=True)
@click.pass_context
def jobs(context: click.Context) -> None:
    """List, show, retry and cancel purges of dropped tables; undo drops."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@jobs.command("list")
@click.option("--metalake", help="Only jobs of this metalake.")
@click.option("--catalog", help="Only jobs of catalogs of this name.")
@click.option("--state", help=f"Only jobs in this state: {', '.join(State)}.")
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    default=JOBS,
    help=f"How many at most; {JOBS} if not given.",
)
@shared
def list_(
    run: Run, *, metalake: str | None, catalog: str | None, state: str | None, limit: int
) -> None:
    """List purges, the newest first: those under way, and those that ended lately."""
    wanted = Wanted(metalake or "", catalog or "", check_state(state) if state else "")
    found, has_more = with_kernel(
        run, lambda kernel: _listed(Inspector(kernel), wanted, limit), writable=False
    )
    if run.json:
        click.echo(to_json(found))
    elif found:
        click.echo(table(HEADINGS, map(listed, found)))
        more = "There are more; --limit shows them. " if has_more else ""
        click.echo(f"\n{more}{for_same_store(MORE_OF_ONE, run.given)}")
    else:
        click.echo(for_same_store(printable(none_of(wanted)), run.given))


@jobs.command()
@click.argument("id")
@click.option(
    "--follow",
    is_flag=True,
    help="Show how far it is until it ends. Exit code 0 if all files are gone that no "
    "other table needs, else 1.",
)
@shared
def show(run: Run, *, id: str, follow: bool) -> None:
    """Show all of a purge, with the files that could not be deleted.

    With --follow a bar is drawn on a terminal, and elsewhere a line is printed at each change; with
    --json that line is an object.
    """
    job = job_id(id)
    if follow:
        try:
            state = with_kernel(run, lambda kernel: _followed(run, kernel, job), writable=False)
        except asyncio.CancelledError:  # by a signal
            raise click.Abort from None
        click.get_current_context().exit(0 if state == State.SUCCEEDED else 1)
    one, now_ms = with_kernel(run, lambda kernel: _shown(kernel, job), writable=False)
    if run.json:
        click.echo(to_json(one))
        return
    for line in described(one, now_ms):
        click.echo(for_same_store(line, run.given))


@jobs.command()
@click.argument("id")
@click.option(
    "--end-grace",
    is_flag=True,
    help="Also if its grace period is not over; then the table cannot come back.",
)
@shared
def retry(run: Run, *, id: str, end_grace: bool) -> None:
    """Let a purge be tried at once, as if for the first time.

    For one that failed too often (DEAD_LETTER), or that waits for its next attempt. A running
    server notices within seconds.
    """
    job = job_id(id)

    async def work(kernel: Kernel) -> JobView:
        steering = Steering(kernel, Inspector(kernel))
        tried = steering.end_grace(job, OPERATOR) if end_grace else steering.retry(job)
        return (await tried).view

    one = with_kernel(run, work, writable=True, create=False)
    if run.json:
        click.echo(to_json(one))
    else:
        lost = ", and cannot come back" if end_grace else ""
        click.echo(f"Job {one.id} is due: {printable(table_of(one))} will be purged{lost}.")


@jobs.command()
@click.argument("id")
@yes_option
@shared
def cancel(run: Run, *, id: str, yes: bool) -> None:
    """Give a purge up, for good: what is left of its files stays."""
    job = job_id(id)
    question = f"Give job {job} up for good, and leave what is left of its files?"
    confirm(question, f"jobs cancel {job}", yes=yes)

    async def work(kernel: Kernel) -> JobView:
        return (await Steering(kernel, Inspector(kernel)).cancel(job, OPERATOR)).view

    one = with_kernel(run, work, writable=True, create=False)
    if run.json:
        click.echo(to_json(one))
        return
    click.echo(f"Job {one.id} is cancelled; what is left of {printable(table_of(one))} stays.")
    if one.worker:
        click.echo(f"The worker {printable(one.worker)} stops in a moment.")


@jobs.command()
@click.argument("id")
@click.option(
    "--as", "name", metavar="NAMESPACE.NAME", help="Another name, if its own is taken: a.b.t."
)
@shared
def undrop(run: Run, *, id: str, name: str | None) -> None:
    """Bring a dropped table back, exactly as it was.

    That works while its grace period lasts (the setting purger.async.grace-period-ms).
    """
    job, to = job_id(id), _identifier(name)

    async def work(kernel: Kernel) -> tuple[JobSummary, Identifier]:
        inspector = Inspector(kernel)
        found = await inspector.find(job)
        where = CatalogName(found.live.metalake, found.live.catalog_name)
        opened = await Openings(kernel).open(Call(where, Caller(OPERATOR, is_server=True)))
        return found.view, await Steering(kernel, inspector).undrop(opened, found, to)

    one, restored = with_kernel(run, work, writable=True, create=False)
    names = (*restored.namespace, restored.name)
    if run.json:
        click.echo(to_json({"metalake": one.metalake, "catalog": one.catalog, "name": names}))
    else:
        whole = ".".join((one.metalake, one.catalog, *names))
        click.echo(f"Table {printable(whole)!r} is back.")


async def _listed(
    inspector: Inspector, wanted: Wanted, limit: int
) -> tuple[list[JobSummary], bool]:
    """So many jobs, and whether there are more."""
    found: list[JobSummary] = []
    after: int | None = None
    while True:
        page = await inspector.page(wanted, min(limit - len(found), JOBS_MAX), after)
        found += page.jobs
        if page.next is None or len(found) >= limit:
            return found, page.next is not None
        after = int(page.next)


async def _shown(kernel: Kernel, job: int) -> tuple[JobView, int]:
    return (await Inspector(kernel).find(job)).view, kernel.clock.wall_ms()


async def _followed(run: Run, kernel: Kernel, job: int) -> str:
    """Show a job until it ends; its state then."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    is_drawn = not run.json and sys.stdout.isatty()
    state = ""
    try:
        async for one in _changes(Inspector(kernel), job, always=is_drawn):
            state, now_ms = one.state, kernel.clock.wall_ms()
            if run.json:
                click.echo(to_json(one))
            elif is_drawn:
                width = shutil.get_terminal_size().columns
                click.echo(f"{ERASE_LINE}{bar(one, now_ms, width)}", nl=False)
            else:
                click.echo(progress(one, now_ms))
    finally:
        if is_drawn and state:
            click.echo()
    return state


async def _changes(inspector: Inspector, job: int, *, always: bool) -> AsyncIterator[JobView]:
    """A job each time it has changed, or at each look, until it has ended."""
    before: JobView | None = None
    while before is None or not before.has_ended:
        if before is not None:
            await asyncio.sleep(FOLLOW_SECONDS)
        one = (await inspector.find(job)).view
        if always or one != before:
            yield one
        before = one


def _identifier(name: str | None) -> Identifier | None:
    """The table of this name; None if there is no name."""
    if name is None:
        return None
    *levels, leaf = name.split(".")
    if not levels or not all((*levels, leaf)):
        raise BadRequest(
            f"Invalid name of a table: {printable(name[:80])!r}",
            why="it has no namespace, or an empty part",
            fix="Write NAMESPACE.NAME, as shop.orders",
        )
    return Identifier(tuple(levels), leaf)
