"""The rows of jobs, as workers would write them."""

import msgspec

from headgate.kernel.records import Outcome
from headgate.purge.inspecting import Found, Inspector
from headgate.purge.jobs import JobRow
from tests.unit.catalog.lakes import Node


async def write_row(node: Node, job: int, row: JobRow) -> Found:
    """Let the row of a job be this one; the job as it is then."""
    found = await Inspector(node.kernel).find(job)
    store, live, version = node.kernel.store, found.live, node.kernel.ids.next()
    if found.row is None:
        outcome = await store.insert(live.realm, live.id, row, version)
    else:
        outcome = await store.update(
            live.realm, live.id, row, expected=found.version, version=version
        )
    assert outcome is Outcome.APPLIED
    return found._replace(row=row, version=version)


async def change_row(node: Node, job: int, **fields: object) -> Found:
    """Change fields of the row of a job."""
    found = await Inspector(node.kernel).find(job)
    assert found.row is not None
    return await write_row(node, job, msgspec.structs.replace(found.row, **fields))
