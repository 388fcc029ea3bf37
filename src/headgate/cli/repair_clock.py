"""`headgate maintenance repair-clock`: mends a store whose newest ids lie in the future."""

import click

from headgate.catalog.identities import IDENTITIES_KEY
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.kernel.clock_repair import AheadPointer, Findings
from headgate.kernel.kernel import Kernel

HEADINGS = ("REALM", "POINTER", "NEWEST COMMIT", "THE LATEST BEFORE")
SHOWN_MAX = 20


@click.command("repair-clock")
@click.option("--apply", "is_applied", is_flag=True, help="Do it; without this it is only shown.")
@shared
def repair_clock(run: Run, *, is_applied: bool) -> None:
    """Mend a store that no server opens because its newest commit lies in the future.

    A clock that was ahead stamped it. First make sure that the clock of this machine is right, and
    stop all nodes. Each pointer whose newest commit lies in the future gets an empty commit on top,
    with the present time; nothing is deleted. Without --apply it is only shown what would be done.
    """

    async def work(kernel: Kernel) -> Findings:
        found = await kernel.clock_repair.find([IDENTITIES_KEY])
        if is_applied:
            await kernel.clock_repair.apply(found)
        return found

    found = with_kernel(run, work, writable=is_applied, create=False, repair=True)
    shown = to_json(_viewed(found, is_applied=is_applied)) if run.json else ""
    click.echo(shown or _told(found, is_applied=is_applied))


def _viewed(found: Findings, *, is_applied: bool) -> dict[str, object]:
    return {
        "now": iso(found.now_ms),
        "repaired": is_applied,
        "pointers": [
            {
                "realm": one.key.realm,
                "pointer": one.key.name,
                "newest": iso(one.newest_ms),
                "before": iso(one.before_ms) if one.before_ms else None,
            }
            for one in found.pointers
        ],
        "nodes": [{"holder": one.holder, "ends": iso(one.ends_ms)} for one in found.leases],
    }


def _listed(one: AheadPointer) -> tuple[str, ...]:
    before = iso(one.before_ms) if one.before_ms else ""
    return printable(one.key.realm), printable(one.key.name), iso(one.newest_ms), before


def _told(found: Findings, *, is_applied: bool) -> str:
    lines = [f"The clock of this machine says {iso(found.now_ms)}."]
    if not found.has_work:
        return "\n".join([*lines, "No commit and no lease lies in the future: nothing to repair."])
    did = "got" if is_applied else "would get"
    if found.pointers:
        lines += [
            f"{len(found.pointers):,} pointers {did} an empty commit with this time on top:",
            table(HEADINGS, [_listed(one) for one in found.pointers[:SHOWN_MAX]]),
        ]
    if len(found.pointers) > SHOWN_MAX:
        lines.append(f"… and {len(found.pointers) - SHOWN_MAX:,} more; --json lists all")
    counts = "no longer counts" if is_applied else "would no longer count"
    lines += [
        f"{printable(one.holder)}, leased until {iso(one.ends_ms)}, {counts} as a node that runs."
        for one in found.leases
    ]
    if found.unmarked:
        noted = "is noted" if is_applied else "would be noted"
        lines.append(f"The newest id {noted}, so that users dropped from now on stay dropped.")
    if any(one.key == IDENTITIES_KEY for one in found.pointers):
        lines.append(
            "Revoked tokens may have been forgotten: `headgate token rotate-keys --drop-old` ends "
            "all tokens"
        )
    if not is_applied:
        lines.append("If this clock is right, and no node runs, repeat with --apply.")
    return "\n".join(lines)
