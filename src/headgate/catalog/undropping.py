"""Bringing a dropped table back, for as long as its grace period lasts and nothing is deleted.

Whoever begins to delete says so in a commit to the same catalog, before the first file goes. So of
an undrop and a purge exactly one happens.
"""

from headgate.access.rules import CREATE_TABLE
from headgate.catalog.entities import Entry, Kind
from headgate.catalog.naming import RELATIONS, NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.purging import PurgeJob, recall_job
from headgate.catalog.relations import check_free
from headgate.errors import AlreadyExists, Conflict, JobNotFound, NamespaceNotFound
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier, check_name, dotted


async def undrop(
    opened: Opened, id: int, dropped: Identifier, to: Identifier | None = None
) -> Identifier:
    """Restore the table of a purge job exactly as it was, under its own name or another; the name.

    That the caller may have it back was asked before; who wants it elsewhere has to be allowed to
    create tables there.
    """
    target = to or dropped
    check_name(target.name)
    if target.namespace != dropped.namespace:
        await opened.require(CREATE_TABLE, target.namespace)

    def attempt(draft: Draft) -> Identifier:
        job = recall_job(draft, id)
        if job is None:
            raise _gone(id)
        _check_can_come_back(job, id)
        _restore(draft, job, target, id)
        more = {} if target == job.table else {"to": target}
        draft.note(opened.call.note("undrop", "table", job.table, job=str(id), **more))
        return target

    return await opened.realm.commit(opened.pointer, attempt)


def _restore(draft: Draft, job: PurgeJob, target: Identifier, id: int) -> None:
    """Give the table a name again; all else of it is as it was."""
    names = NamesDraft(draft)
    parent = names.namespace(target.namespace)
    if parent is None:
        raise NamespaceNotFound(
            f"Table {job.table} cannot be undropped: "
            f"Namespace does not exist: {dotted(target.namespace)}",
            fix=f"Create it, or choose another: `headgate jobs undrop {id} --as NAMESPACE.NAME`",
        )
    try:
        check_free(names.find(parent.id, RELATIONS, target.name), target, Kind.TABLE)
    except AlreadyExists as taken:
        raise type(taken)(
            f"Table {job.table} cannot be undropped: {taken.what}",
            fix=f"Choose another name: `headgate jobs undrop {id} --as NAMESPACE.NAME`",
        ) from taken
    names.add(
        parent.id,
        RELATIONS,
        target.name,
        Entry(Kind.TABLE, job.table_id, job.object, job.owner),
    )


def _check_can_come_back(job: PurgeJob, id: int) -> None:
    if job.begun:
        why = "its files are being deleted"
    elif not job.not_before_ms or not job.object:
        why = "it was dropped without a grace period"
    else:
        return
    raise Conflict(
        f"Table {job.table} cannot be undropped",
        why=why,
        fix=f"What is left of its files can be kept: `headgate jobs cancel {id}`",
    )


def _gone(id: int) -> JobNotFound:
    return JobNotFound(
        f"Job does not exist: {id}",
        why="its table was undropped or purged meanwhile",
        fix="`headgate jobs list` shows those that are kept",
    )
