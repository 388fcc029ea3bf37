"""`headgate maintenance`: sweeps of the store, started and looked at in the store itself."""

import click

from headgate.background import maintenance_terms
from headgate.catalog.calls import OPERATOR
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.cli.repair_clock import repair_clock
from headgate.kernel.kernel import Kernel
from headgate.maintenance.extent import Wanted
from headgate.maintenance.running import Order, Running
from headgate.maintenance.views import RunView, State, Status, all_runs, view_of
from headgate.maintenance.views import status as status_of
from headgate.wiring import server_name

HEADINGS = ("ID", "STARTED", "SECONDS", "STATE", "BY", "SCANNED", "DELETED", "PURGED")
_MS = 1_000


@click.group(invoke_without_command=True)
@click.pass_context
def maintenance(context: click.Context) -> None:
    """Sweep the store: delete what nothing refers to any more. See what sweeps did. Mend ids that
    a wrong clock made."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


maintenance.add_command(repair_clock)


@maintenance.command()
@click.option(
    "--sweep", metavar="REALM", multiple=True, help="Only this realm, by name or id; repeatable."
)
@click.option(
    "--purge",
    metavar="REALM",
    multiple=True,
    help="Only delete the data of this realm, which is PURGING; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Only count what would be deleted.")
@shared
def run(run: Run, *, sweep: tuple[str, ...], purge: tuple[str, ...], dry_run: bool) -> None:
    """Sweep now, without waiting for a server to do it.

    Servers may run meanwhile. What lost its last reference less than maintenance.grace-seconds ago
    is kept. A sweep that is killed does no harm: run another one. Exit code 0 if all was swept, 1
    if something had to be left alone.
    """
    order = Order(
        by=OPERATOR,
        holder=server_name(),
        wanted=Wanted(frozenset(sweep), frozenset(purge)),
        grace_ms=maintenance_terms(run.settings).grace_ms,
        is_dry=dry_run,
    )

    async def work(kernel: Kernel) -> RunView:
        running = Running(kernel, order)
        await running.begin()
        return view_of(running.id, await running.complete())

    done = with_kernel(run, work, writable=True, create=False)
    click.echo(to_json(done) if run.json else "\n".join(described(done)))
    click.get_current_context().exit(0 if done.state is State.DONE else 1)


@maintenance.command()
@shared
def status(run: Run) -> None:
    """Show the sweep that is under way, and the last one before."""
    found = with_kernel(run, status_of, writable=False)
    click.echo(to_json(found) if run.json else _told(found))


@maintenance.command()
@shared
def log(run: Run) -> None:
    """List the sweeps that are remembered, the newest first."""
    found = with_kernel(run, all_runs, writable=False)
    if run.json:
        click.echo(to_json(found))
    elif found:
        click.echo(table(HEADINGS, map(_listed, found)))
    else:
        click.echo("The store was never swept.")


def described(run: RunView) -> list[str]:
    """A run in lines for people."""
    counts = run.counts
    title = "to delete" if run.dry_run else "deleted"
    return [
        f"run         {run.id}{', dry run' if run.dry_run else ''}",
        f"state       {run.state}{f', {run.phase}' if run.phase else ''}",
        f"started     {iso(run.started_ms)} by {printable(run.by)}, with {run.engine}",
        *([f"ended       {iso(run.ended_ms)}"] if run.ended_ms else []),
        f"realms      {counts.realms} swept, {counts.realms_purged} purged",
        f"objects     {counts.marked:,} are referred to",
        f"rows        {counts.scanned:,} scanned: {counts.young:,} too young to be judged,",
        f"            {counts.live:,} older ones in use, {counts.left:,} of other realms or types",
        f"{title:<11} {counts.rows_deleted:,} rows, {counts.pointers_deleted:,} pointers",
        *(f"left alone  {printable(one)}" for one in run.failures),
    ]


def _told(found: Status) -> str:
    lines = []
    if found.running is not None:
        lines += [f"A sweep is under way, by {printable(found.holder)}:", *described(found.running)]
    else:
        lines.append("No sweep is under way.")
    if found.last is not None:
        lines += ["", "The last one:", *described(found.last)]
    return "\n".join(lines)


def _listed(run: RunView) -> tuple[str, ...]:
    counts = run.counts
    return (
        run.id,
        iso(run.started_ms),
        f"{(run.ended_ms - run.started_ms) / _MS:.1f}" if run.ended_ms else "",
        run.state,
        printable(run.by),
        f"{counts.scanned:,}",
        f"{counts.rows_deleted:,}" + (" (dry)" if run.dry_run else ""),
        str(counts.realms_purged),
    )
