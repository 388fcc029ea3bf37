"""Which tables are of one schema, by the objects of their entries."""

from headgate.catalog.entities import Kind, decode_entry
from headgate.catalog.naming import RELATIONS, Names, key_of
from headgate.catalog.purging import PURGE, can_come_back, decode_job, is_job
from headgate.catalog.stored_names import NAMES
from headgate.catalog.walks import unhurried
from headgate.kernel.index import HeadView, look
from headgate.model.names import Levels


async def tables_of(head: HeadView, schema: Levels) -> set[int]:
    """All tables of a schema, those included that are dropped and can come back."""
    found: set[int] = set()
    namespace = await look(head.index(NAMES), lambda tree: Names(tree).namespace(schema))
    if namespace is not None:
        prefix = key_of(namespace.id, RELATIONS, "")
        async for _, value in unhurried(head.index(NAMES).prefix(prefix)):
            entry = decode_entry(value)
            if entry.kind is Kind.TABLE:
                found.add(entry.object)
    async for key, value in unhurried(head.index(PURGE).scan()):
        if is_job(key):
            _, job = decode_job(key, value)
            if job.table.namespace == schema and can_come_back(job):
                found.add(job.object)
    return found
