"""`headgate log`: what was committed, oldest first, and what is being committed right now."""

import asyncio
import contextlib
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import click
from click.core import ParameterSource

from headgate.amounts import whole_number
from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import find_catalog, stored_catalogs
from headgate.catalog.change_words import check_kind
from headgate.catalog.openings import head_pointer
from headgate.cli.commit_words import CATALOG_POINTERS, described, is_about, sentence
from headgate.cli.commits import newest, since, unseen
from headgate.cli.log_changes import ChangeViewer, WantedChanges
from headgate.cli.log_checkpoint import checkpoint
from headgate.cli.log_verify import verify
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import printable, to_json
from headgate.errors import NotFound, PointerNotFound
from headgate.ids import ID_MAX
from headgate.kernel.kernel import Kernel
from headgate.kernel.log import Commit
from headgate.kernel.realms import Realm
from headgate.kernel.records import PointerKey
from headgate.kernel.system import SYSTEM_REALM
from headgate.settings.catalogs import BOOTSTRAP_METALAKE

LAST_COMMITS = 50
POLL_SECONDS = 1.0


class Wanted(NamedTuple):
    """Which commits to show."""

    realm: str | None
    pointer: str | None
    since: int | None
    limit: int | None
    catalog: CatalogName | None = None
    name: str | None = None

    def has(self, commit: Commit) -> bool:
        """Whether to show a commit of a pointer that is shown."""
        return self.name is None or is_about(commit, self.name)


@click.group(invoke_without_command=True)
@click.option("--realm", metavar="NAME", help="Only this realm; a name or an id.")
@click.option(
    "--catalog", metavar="NAME", help="Only what happened in this catalog: NAME or METALAKE.NAME."
)
@click.option(
    "--name",
    metavar="NAME",
    help="Only what is about this table, view or namespace, or in it: a, a.b or a.b.t.",
)
@click.option("--pointer", metavar="NAME", help="Only pointers of this name.")
@click.option(
    "--since",
    metavar="ID",
    help="Only what came after the commit of this id; with --changes, behind a cursor, "
    "`oldest` or `now`.",
)
@click.option(
    "--limit",
    metavar="N",
    type=click.IntRange(min=1),
    help=f"At most so many commits: the last, or the first with --since and without --follow. "
    f"Default: {LAST_COMMITS}, or all with --since.",
)
@click.option("--follow", is_flag=True, help="Go on with new commits until interrupted.")
@click.option(
    "--changes",
    is_flag=True,
    help="Show the change log: one line for each operation. With --follow and without --since or "
    "--limit, only what comes.",
)
@click.option("--kind", metavar="KIND", help="With --changes, only what is of this kind: table.")
@shared
def log(  # noqa: PLR0913  as many as its options
    run: Run,
    *,
    realm: str | None,
    catalog: str | None,
    name: str | None,
    pointer: str | None,
    since: str | None,
    limit: int | None,
    follow: bool,
    changes: bool,
    kind: str | None,
) -> None:
    """Print the commits of all realms, oldest first.

    With --json each commit is an object on a line of its own; ids are text. Keys of names say what
    they name and the id of the namespace it is in. The parts of other keys are separated by NUL,
    shown as / without --json. Bytes that are no UTF-8 are shown as escapes.

    With --changes --json each operation is an object on a line of its own. The last of those that
    were found together has a member `next`: the cursor for --since to go on behind it. Without
    --follow the last line always has it; it has nothing else if nothing was found, so that
    `--since now` gives a cursor to begin with.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        _refuse_before(context)
        return
    default = run.settings[BOOTSTRAP_METALAKE]
    within = None if catalog is None else _catalog_name(catalog, default)
    viewer: Viewer | ChangeViewer
    if changes:
        _refuse(pointer, "--pointer", "without --changes")
        if kind is not None:
            check_kind(kind)
        wanted = WantedChanges(realm, since, limit, within, name, kind)
        viewer = ChangeViewer(wanted, json=run.json)
    else:
        _refuse(kind, "--kind", "with --changes")
        chosen = Wanted(realm, pointer, _commit_id(since), limit, within, name)
        viewer = Viewer(chosen, json=run.json)
    work = partial(_until_told, viewer.follow) if follow else viewer.show
    stopped = (KeyboardInterrupt, asyncio.CancelledError) if follow else ()
    with contextlib.suppress(*stopped):
        with_kernel(run, work, writable=False)


log.add_command(checkpoint)
log.add_command(verify)


def _refuse_before(context: click.Context) -> None:
    """An option before the name of a command below would be lost."""
    for name in context.params:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"options of {context.invoked_subcommand} are written behind its name"
            )


async def _until_told(work: Callable[[Kernel], Awaitable[None]], kernel: Kernel) -> None:
    """SIGTERM ends it as an interruption does."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None
    loop.add_signal_handler(signal.SIGTERM, task.cancel)
    await work(kernel)


def _refuse(given: str | None, option: str, use: str) -> None:
    if given is not None:
        raise click.UsageError(f"{option} can only be used {use}")


def _commit_id(text: str | None) -> int | None:
    if text is None:
        return None
    if (id := whole_number(text, ID_MAX)) is not None:
        return id
    raise click.BadParameter(
        f"{text[:80]!r} is no id of a commit; `headgate log` shows them, as 123456789",
        param_hint="'--since'",
    )


def _catalog_name(text: str, default: str) -> CatalogName:
    metalake, _, catalog = text.rpartition(".")  # no catalog's name has a dot
    return CatalogName(metalake or default, catalog)


class Viewer:
    """Shows commits, and remembers what it has shown and how realms are called."""

    def __init__(self, wanted: Wanted, *, json: bool) -> None:
        self._wanted = wanted
        self._json = json
        self._realms: Mapping[str, str] = {}
        self._catalogs: dict[str, str] = {}
        self._seen: dict[PointerKey, int] = {}

    async def show(self, kernel: Kernel) -> None:
        """Print what is there now."""
        keys = await self._pointers(kernel)
        found = await self._present(kernel, keys)
        self._print(found[: self._wanted.limit])
        if not found and self._wanted.name is not None:
            name = printable(self._wanted.name)
            click.echo(f"no commit is about {name!r}; names look like a.b.t", err=True)

    async def follow(self, kernel: Kernel) -> None:
        """Print what is there now, `limit` commits at most, then what comes, until stopped."""
        keys = await self._pointers(kernel)
        for key in keys:
            for commit in await newest(kernel.log, [key], 1):
                self._seen[key] = commit.id
        self._print((await self._present(kernel, keys))[-(self._wanted.limit or 0) :])
        while True:
            await asyncio.sleep(POLL_SECONDS)
            self._print(await unseen(kernel.log, await self._pointers(kernel), self._seen))

    async def _present(self, kernel: Kernel, keys: list[PointerKey]) -> list[Commit]:
        if self._wanted.since is None:
            limit = self._wanted.limit or LAST_COMMITS
            return await newest(kernel.log, keys, limit, self._wanted.has)
        found = await since(kernel.log, keys, self._wanted.since)
        return [commit for commit in found if self._wanted.has(commit)]

    async def _pointers(self, kernel: Kernel) -> list[PointerKey]:
        """The pointers to show; realms and pointers may come and go meanwhile."""
        realms = await kernel.realms.list()
        self._realms = {one.id: one.name for one in realms}
        keys = await kernel.log.pointers(await self._realm_id(kernel))
        if any(key.name not in self._catalogs for key in keys):
            await self._name_catalogs(kernel, realms)
        if self._wanted.catalog is not None:
            found = await find_catalog(kernel, self._wanted.catalog)
            keys = [key for key in keys if key.name.startswith(f"{CATALOG_POINTERS}{found.id}/")]
        name = self._wanted.pointer
        chosen = [key for key in keys if name in {None, key.name}]
        if name is not None and not chosen:
            known = ", ".join(sorted({key.name for key in keys})) or "none"
            raise PointerNotFound(
                f"there is no pointer {name!r}", why=f"there are: {known}", fix="Name one of them"
            )
        return chosen

    async def _name_catalogs(self, kernel: Kernel, realms: Sequence[Realm]) -> None:
        """Learn how the catalogs are called that pointers belong to."""
        for realm in realms:
            with contextlib.suppress(NotFound):  # it is purged at this moment
                for one in await stored_catalogs(kernel, realm):
                    self._catalogs[head_pointer(one.id)] = f"{realm.name}.{one.name}"

    async def _realm_id(self, kernel: Kernel) -> str | None:
        wanted = self._wanted.realm
        if wanted is None or wanted == SYSTEM_REALM:
            return wanted
        return (await kernel.realms.get(wanted)).id

    def _print(self, commits: list[Commit]) -> None:
        for commit in commits:
            self._seen[PointerKey(commit.realm, commit.pointer)] = commit.id
            if not self._wanted.has(commit):
                continue
            if self._json:
                click.echo(to_json(described(commit)))
            else:
                catalog = self._catalogs.get(commit.pointer, "")
                click.echo(sentence(commit, self._realms.get(commit.realm, commit.realm), catalog))
