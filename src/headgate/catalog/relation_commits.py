"""Commits that bring tables and views into new states: prepared on what is there, made if it still
is.

Everything that takes time happens before the commit: checks, new metadata, its file. The commit
itself only compares: if something is no longer as it was, all is prepared again on what it is now.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from headgate.catalog.calls import Call, Done
from headgate.catalog.claimants import Claimant
from headgate.catalog.entities import Entry, Kind, TableEntity
from headgate.catalog.holders import with_holder
from headgate.catalog.lake import Lake
from headgate.catalog.metadata_files import memo
from headgate.catalog.namespaces import id_of_namespace, require_namespace
from headgate.catalog.naming import RELATIONS, NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.own_places import check_locations, chooses_freely
from headgate.catalog.purging import job_at
from headgate.catalog.relations import ENTITIES, Relation, discard_files, entry_of, written
from headgate.catalog.reservations import move, never_retried
from headgate.catalog.schema_places import check_apart
from headgate.catalog.versions import Version
from headgate.errors import CommitTimedOut, HeadgateError, LocationTaken
from headgate.kernel.draft import Draft
from headgate.limits import (
    ORPHANS_AGE_MS_MIN,
    PURGE_POLL_SECONDS,
    PURGE_WAIT_SECONDS,
    RECORDED_RELATIONS_MAX,
    TABLE_COMMIT_TRIES_MAX,
)
from headgate.model.names import Identifier


class Change(NamedTuple):
    """A new state of a table or view, worked out on the state before."""

    identifier: Identifier
    kind: Kind
    before: Relation | None
    entity: TableEntity
    version: Version | None
    """None if nothing changes."""
    is_written: bool = True
    """Its metadata file is still to be written."""
    owner: int = 0
    """Who owns it if it is new."""
    parent: int = 0
    """The namespace that it comes into if it is new: its name may be another's by now."""
    warehouse: str = ""
    """Where the folders of namespaces are."""
    is_free: bool = False
    """Whether it may lie where tables of other schemas left files."""


Prepare = Callable[[Opened], Awaitable[Sequence[Change]]]


FILE_AGE_MS_MAX = ORPHANS_AGE_MS_MIN // 2
"""Of the files of a commit, in its attempt: files that nothing refers to are not kept for ever."""


class _MovedError(Exception):
    """Something is no longer in the state its change was worked out on."""


async def commit_relations(
    lake: Lake, opened: Opened, what: str, prepare: Prepare
) -> list[Relation]:
    """Make changes, all or none; what they made, also if an earlier delivery of the call did."""
    deadline = lake.kernel.clock.seconds() + PURGE_WAIT_SECONDS
    tries, waits_for = 0, 0
    while tries < TABLE_COMMIT_TRIES_MAX:
        done = await lake.done_before(opened, what)
        if done is not None:
            return await _recorded(opened, done)
        try:
            return await _commit(lake, opened, what, await prepare(opened))
        except _MovedError:
            tries += 1
            lake.commits_repeated += 1
        except LocationTaken as taken:
            found = await job_at(opened, taken.holder, waits_for)
            if found is None:
                raise await with_holder(opened, taken) from taken
            id, job = found
            can_come_back = lake.now_ms() < job.not_before_ms and not job.begun
            if can_come_back:
                raise _kept(taken, "it can still be brought back") from taken
            if lake.kernel.clock.seconds() >= deadline:
                raise _kept(taken, "its files are still being deleted") from taken
            if not waits_for:
                lake.purging.wake()  # the node that began with it may be gone
            waits_for = id
            await lake.kernel.clock.sleep(PURGE_POLL_SECONDS)
        opened = await lake.open(opened.call)
    raise CommitTimedOut(
        f"Not done: {what}", why="others were first, again and again", fix="Try again"
    )


async def new_state(
    lake: Lake, opened: Opened, identifier: Identifier, version: Version, before: Relation | None
) -> Change:
    """The change of a table or view to this version, in a file that has yet to be written."""
    entity = _entity(lake, opened, version, before)
    holding = before.holding if before else None
    await check_locations(lake, opened, identifier.namespace, entity.reserved, holding)
    change = Change(
        identifier,
        version.kind,
        before,
        entity,
        version,
        owner=opened.owner,
        warehouse=opened.catalog.warehouse,
        is_free=chooses_freely(opened),
    )
    if before is not None:
        return change
    return change._replace(parent=await id_of_namespace(opened, identifier.namespace))


async def known_state(
    lake: Lake, opened: Opened, identifier: Identifier, version: Version, before: Relation | None
) -> Change:
    """The change of a table or view to this version, in a file that is there."""
    change = await new_state(lake, opened, identifier, version, before)
    return change._replace(is_written=False)


def same_state(identifier: Identifier, before: Relation) -> Change:
    """No change, if nobody else makes one."""
    return Change(identifier, before.entry.kind, before, before.entity, None)


async def _commit(
    lake: Lake, opened: Opened, what: str, changes: Sequence[Change]
) -> list[Relation]:
    """Write the files and swap everything to them; `_MovedError` if something changed meanwhile."""
    entries: list[Entry] = []
    began_ms = lake.now_ms()

    def attempt(draft: Draft) -> Done:
        if draft.now_ms - began_ms > FILE_AGE_MS_MAX:
            raise _MovedError  # the new files may have been deleted as orphans
        entries[:] = [_apply(draft, change) for change in changes]
        real = [change for change in changes if change.version]
        if real:
            draft.note(_note(opened.call, real))
        return _outcome(entries)

    files = lake.files(opened)
    contents = {
        one.version.facts.file: one.version.raw for one in changes if one.version and one.is_written
    }
    try:
        async with written(files, contents):
            done = await lake.commit(opened, what, attempt)
    except (HeadgateError, _MovedError) as error:
        error.__traceback__ = None  # it holds the metadata, and itself: until a collection comes
        if isinstance(error, _MovedError):
            await discard_files(files, list(contents))
        raise
    if done.repeated:
        await discard_files(files, list(contents))
        return await _recorded(opened, done)
    for entry, change in zip(entries, changes, strict=True):
        if change.version:
            lake.metadata.keep(opened.realm.id, entry.object, change.version)
    await discard_files(
        files, [file for one in changes if one.version for file in one.version.facts.expired]
    )
    return [
        Relation(opened, entry, change.entity)
        for entry, change in zip(entries, changes, strict=True)
    ]


def _apply(draft: Draft, change: Change) -> Entry:
    """Bring one table or view into its new state, if it still is in the old one; its new entry."""
    names = NamesDraft(draft)
    old = entry_of(names, change.identifier)
    before = change.before
    if old != (before.entry if before else None):
        raise _MovedError
    if old is not None and change.version is None:
        return old
    parent = require_namespace(names, change.identifier.namespace)
    if before is None and parent.id != change.parent:
        raise _MovedError
    # Another table under the same name is another entity: no right of the old one reaches it.
    same = old is not None and before is not None and before.entity.uuid == change.entity.uuid
    id = old.id if old is not None and same else draft.new_id()
    owner = old.owner if old is not None and same else change.owner
    entry = Entry(change.kind, id, draft.stage(change.entity), owner)
    _place(draft, change, id, parent.id)
    if old is not None and same:
        names.put(parent.id, RELATIONS, change.identifier.name, entry)
    else:
        names.add(parent.id, RELATIONS, change.identifier.name, entry)
    if old is not None:
        draft.discard(old.object)
    return entry


def _place(draft: Draft, change: Change, id: int, schema: int) -> None:
    """Take the locations of a new state; those it had before are its own."""
    holding = change.before.holding if change.before else None
    wanted = change.entity.reserved
    added = [place for place in wanted if not holding or place not in holding.locations]
    by = change.entity.changed_by
    claimant = Claimant(id, schema, change.is_free, by, draft.now_ms)
    with never_retried(holding):
        check_apart(draft, change.warehouse, added, claimant)
    move(draft, wanted, claimant, holding)


def _outcome(entries: Sequence[Entry]) -> Done:
    """What a repetition needs to answer the same: the very states that were made.

    Of a large transaction it needs nothing: its answer is empty.
    """
    if len(entries) > RECORDED_RELATIONS_MAX:
        return Done([])
    return Done([number for one in entries for number in (one.kind, one.id, one.object)])


async def _recorded(opened: Opened, done: Done) -> list[Relation]:
    """What an earlier delivery of the call made, as it was then."""
    entries = [
        Entry(Kind(kind), id, object)
        for kind, id, object in zip(done.ids[::3], done.ids[1::3], done.ids[2::3], strict=True)
    ]
    return [
        Relation(opened, entry, await opened.head.get(entry.object, ENTITIES[entry.kind]))
        for entry in entries
    ]


def _note(call: Call, changes: Sequence[Change]) -> dict[str, object]:
    """What the change log says."""
    done = [
        {
            "do": "alter" if change.before else "create",
            "kind": change.kind.name.lower(),
            "name": change.identifier,
        }
        for change in changes
    ]
    if len(done) == 1:
        return {**done[0], "by": call.principal}
    return {"do": "transaction", "changes": done, "by": call.principal}


def _kept(taken: LocationTaken, why: str) -> LocationTaken:
    return LocationTaken(
        taken.what,
        why=f"a table was dropped there, and {why}",
        fix="Choose another location, or try again later",
    )


def _entity(lake: Lake, opened: Opened, version: Version, before: Relation | None) -> TableEntity:
    now_ms, facts = lake.now_ms(), version.facts
    return ENTITIES[version.kind](
        facts.uuid,
        facts.location,
        facts.file,
        memo(version.raw),
        facts.reserved,
        before.entity.created_ms if before else now_ms,
        before.entity.created_by if before else opened.call.principal,
        now_ms,
        opened.call.principal,
    )
