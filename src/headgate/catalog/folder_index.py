"""Completes the index of folders that namespaces chose, in catalogs older than the index.

The commits that change a namespace keep its entry. Namespaces that have not changed since the index
exists are added once per catalog, by the first request that depends on the index and in small
commits. A mark of the head says how far that is. It counts in ids, so a request that is broken off
loses no work, and the next one continues.

Programs that do not know the index carry it and the mark along unchanged. It is assumed that none
of them changes the location of a namespace once its catalog is being completed: the entry would be
missing, or left over, until the properties of that namespace change again.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from headgate.catalog.entities import Entry, NamespaceEntity, decode_entry
from headgate.catalog.lake import Lake
from headgate.catalog.naming import NAMESPACES, ROOT, Names, id_bytes, place_at
from headgate.catalog.openings import Opened
from headgate.catalog.schema_places import COMPLETE, LOCATION, is_complete, keep_folder
from headgate.catalog.stored_names import FOLDERS_UNTIL, IDS, NAMES
from headgate.catalog.walks import unhurried
from headgate.kernel.draft import Draft
from headgate.kernel.index import HeadView
from headgate.limits import FOLDERS_ADDED_PER_COMMIT


class _Chosen(NamedTuple):
    """A namespace as it was read before the commit."""

    entry: Entry
    namespace: NamespaceEntity


class _Part(NamedTuple):
    """Namespaces with consecutive ids, and where the next part begins."""

    begin: int
    end: int
    chosen: dict[bytes, _Chosen]
    """Those that chose a folder, by their keys in the name index."""


def begin_complete(draft: Draft) -> None:
    """Mark the index of a catalog without namespaces as complete, in the commit that adds one."""
    if is_complete(draft.marks):
        return
    if next(Names(draft.index(NAMES)).below(ROOT, NAMESPACES), None) is None:
        draft.mark(FOLDERS_UNTIL, COMPLETE)


async def with_folders(lake: Lake, opened: Opened) -> HeadView:
    """A head of the catalog whose index of folders is complete; the opened one if it already is."""
    if is_complete(opened.head.head.marks):
        return opened.head
    key = opened.realm.id, opened.pointer
    return await lake.completing.run(key, lambda: _complete(opened))


async def _complete(opened: Opened) -> HeadView:
    while True:
        [head] = await opened.realm.heads(opened.pointer)
        if is_complete(head.head.marks):
            return head
        part = await _next_part(head)
        await opened.realm.commit(opened.pointer, partial(_add, part=part))


async def _next_part(head: HeadView) -> _Part:
    """The next namespaces that are not known to be in the index."""
    begin, end = head.head.marks.get(FOLDERS_UNTIL, 0), COMPLETE
    keys: list[bytes] = []
    async for id, key in unhurried(head.index(IDS).scan(id_bytes(begin))):
        if len(keys) == FOLDERS_ADDED_PER_COMMIT:
            end = int.from_bytes(id, "big")
            break
        if place_at(key).group == NAMESPACES:
            keys.append(key)
    return _Part(begin, end, await _chosen(head, keys))


async def _chosen(head: HeadView, keys: Sequence[bytes]) -> dict[bytes, _Chosen]:
    """Those of these namespaces that chose a folder."""
    names = head.index(NAMES)
    values = [await names.get(key) for key in keys]
    entries = [decode_entry(value) for value in values if value is not None]
    assert len(entries) == len(keys), "each id leads to a name"
    namespaces = await head.get_all([entry.object for entry in entries], NamespaceEntity)
    return {
        key: _Chosen(entry, namespace)
        for key, entry, namespace in zip(keys, entries, namespaces, strict=True)
        if namespace.properties.get(LOCATION)
    }


def _add(draft: Draft, part: _Part) -> None:
    """Add the folders of a part as they are in this commit, unless another node did so."""
    if draft.marks.get(FOLDERS_UNTIL, 0) != part.begin:
        return
    names = draft.index(NAMES)
    names.need(part.chosen)
    for key, (before, known) in part.chosen.items():
        value = names.get(key)
        entry = None if value is None else decode_entry(value)
        if entry is None or entry.id != before.id:
            continue  # it was dropped meanwhile, and has no folder any more
        is_same = entry.object == before.object
        namespace = known if is_same else draft.fetch(entry.object, NamespaceEntity)
        keep_folder(draft, entry.id, namespace.properties)
    draft.mark(FOLDERS_UNTIL, part.end)
