"""`headgate log --changes`: what was done, a line for each operation, of all pointers together."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from typing import NamedTuple

import click
import msgspec

from headgate.catalog.calls import CatalogName
from headgate.catalog.catalogs import find_catalog
from headgate.catalog.change_cursors import Cursor, Extent, encode_cursor
from headgate.catalog.change_records import Change
from headgate.catalog.changes import BEGINNING, PRESENT, ChangeLog, ChangePage
from headgate.catalog.openings import head_pointer
from headgate.cli.commit_words import is_in
from headgate.cli.commit_words import sentence_of_change as sentence
from headgate.cli.output import to_json
from headgate.kernel.kernel import Kernel
from headgate.limits import CHANGES_MAX

LAST_CHANGES = 50
POLL_SECONDS = 1.0


class WantedChanges(NamedTuple):
    """Which changes to show."""

    realm: str | None = None
    since: str | None = None
    limit: int | None = None
    catalog: CatalogName | None = None
    name: str | None = None
    kind: str | None = None

    def has(self, change: Change) -> bool:
        """Whether to show a change of the pointers that are shown."""
        names = (".".join(change.name), ".".join(change.to))
        return self.kind in {None, change.kind} and (
            self.name is None or any(is_in(self.name, name) for name in names)
        )


class ChangeViewer:
    """Shows changes and goes on behind them."""

    def __init__(self, wanted: WantedChanges, *, json: bool) -> None:
        self._wanted = wanted
        self._json = json
        self._within = ""
        """How the positions begin that are shown."""

    async def show(self, kernel: Kernel) -> None:
        """Print what is there now: the last ones, or the first behind a cursor.

        The last line of JSON has the cursor to go on with, also if there is nothing else to say.
        """
        log, wanted = ChangeLog(kernel), self._wanted
        cursor = await self._begin(kernel, log, wanted.since or BEGINNING)
        if wanted.since is None:
            page = await self._show_last(log, cursor)
        else:
            async for page in self._pages(log, cursor, wanted.limit):
                self._print(page)
        if self._json and not page.changes:
            click.echo(to_json({"next": encode_cursor(page.next)}))

    async def follow(self, kernel: Kernel) -> None:
        """Print what comes, and before it what came behind a cursor, until stopped."""
        log, wanted = ChangeLog(kernel), self._wanted
        if wanted.since is None and wanted.limit is not None:
            cursor = (await self._show_last(log, await self._begin(kernel, log, BEGINNING))).next
        else:
            cursor = await self._begin(kernel, log, wanted.since or PRESENT)
        while True:
            async for page in self._pages(log, cursor):
                self._print(page)
                cursor = page.next
            await asyncio.sleep(POLL_SECONDS)

    async def _show_last(self, log: ChangeLog, cursor: Cursor) -> ChangePage:
        """Print the last ones, as if they were one page."""
        last: deque[Change] = deque(maxlen=self._wanted.limit or LAST_CHANGES)
        async for page in self._pages(log, cursor):
            last += page.changes
            cursor = page.next
        shown = ChangePage(list(last), cursor, more=False)
        self._print(shown)
        return shown

    async def _pages(
        self, log: ChangeLog, cursor: Cursor, limit: int | None = None
    ) -> AsyncIterator[ChangePage]:
        """What is there now behind a cursor, at least one page; `limit` is that of all together."""
        more = True
        while more and limit != 0:
            page = await log.page(cursor, limit or CHANGES_MAX, self._is_wanted)
            yield page
            limit = None if limit is None else limit - len(page.changes)
            cursor, more = page.next, page.more

    def _is_wanted(self, change: Change) -> bool:
        return change.position.startswith(self._within) and self._wanted.has(change)

    async def _begin(self, kernel: Kernel, log: ChangeLog, since: str) -> Cursor:
        return await log.cursor(since, Extent(await self._realm(kernel)))

    async def _realm(self, kernel: Kernel) -> str:
        """The id of the realm whose changes are read; empty for all."""
        catalog = self._wanted.catalog
        if catalog is not None:
            realm = (await kernel.realms.get(catalog.metalake)).id
            pointer = head_pointer((await find_catalog(kernel, catalog)).id)
            self._within = f"{realm}/{pointer}/"
            return realm
        name = self._wanted.realm
        return "" if name is None else (await kernel.realms.get(name)).id

    def _print(self, page: ChangePage) -> None:
        for at, change in enumerate(page.changes, start=1):
            if not self._json:
                click.echo(sentence(change))
                continue
            line = msgspec.to_builtins(change)
            if at == len(page.changes):
                line["next"] = encode_cursor(page.next)
            click.echo(to_json(line))
