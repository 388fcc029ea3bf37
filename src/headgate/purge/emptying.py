"""The commits that empty a dropped catalog: its tables become purge jobs, all else just goes."""

from collections.abc import Callable, Sequence
from itertools import islice

from headgate.catalog.calls import Call
from headgate.catalog.entities import Entry, Kind, ViewEntity, decode_entry
from headgate.catalog.naming import NAMESPACES, NamesDraft, Readable, names_to, place_at
from headgate.catalog.purging import (
    PURGE,
    PurgeTerms,
    begin_job,
    job_key,
    live_jobs,
    record_purge,
)
from headgate.catalog.reservations import release
from headgate.catalog.stored_names import IDS, NAMES
from headgate.kernel.draft import Draft
from headgate.limits import DRAIN_NAMES_PER_COMMIT
from headgate.model.names import Identifier

Named = list[tuple[bytes, Entry]]


def names_behind(names: Readable, after: bytes) -> Named:
    """The next names of a catalog, as many as one commit takes away."""
    some = islice(names.scan(after, None), DRAIN_NAMES_PER_COMMIT)
    return [(key, decode_entry(value)) for key, value in some]


def is_namespace(key: bytes) -> bool:
    """Whether this is the name of a namespace. They go last: they tell what tables are called."""
    return place_at(key).group == NAMESPACES


def moving(call: Call, keys: Sequence[bytes], purger: str) -> Callable[[Draft], None]:
    """Takes these names away. Tables become jobs at once: nobody can have them back, since the
    catalog that they were in is no more."""
    terms = PurgeTerms(purger)

    def attempt(draft: Draft) -> None:
        names, index, ids = NamesDraft(draft), draft.index(NAMES), draft.index(IDS)
        index.need(keys)
        for key in keys:
            value = index.get(key)
            if value is None:
                continue  # another server was faster
            entry, place = decode_entry(value), place_at(key)
            if entry.kind is Kind.TABLE:
                levels = tuple(names_to(ids, place.parent) or ())
                record_purge(draft, call, Identifier(levels, place.name), entry, terms)
            else:
                if entry.kind is Kind.VIEW:
                    release(draft, draft.fetch(entry.object, ViewEntity).reserved)
                draft.discard(entry.object)
            names.remove(*place, entry)

    return attempt


def waiting_jobs(purges: Readable) -> list[int]:
    """The jobs whose tables could still come back if their catalog were there."""
    return [id for id, job in live_jobs(purges) if job.not_before_ms and not job.begun]


def beginning(ids: Sequence[int]) -> Callable[[Draft], None]:
    """Lets these jobs wait no longer."""

    def attempt(draft: Draft) -> None:
        draft.index(PURGE).need([job_key(id) for id in ids])
        for id in ids:
            begin_job(draft, id)

    return attempt
