"""What a catalog has, by what its server says: tables, views and purges, and the places of all."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import quote

from headgate.errors import BadSetting, Forbidden
from headgate.limits import JOBS_MAX
from headgate.model.locations import ancestors, is_within
from headgate.pipelines.names import TableName
from headgate.pipelines.orphans_places import Owner
from headgate.pipelines.orphans_subjects import PURGE, States, Subject
from headgate.pipelines.server import CatalogInfo, Server
from headgate.pipelines.storage import normalized

JOBS = "/management/v1/jobs"
OVER = frozenset({"SUCCEEDED", "CANCELLED"})
"""States of purges that nobody works on, now or later. What a cancelled one left are orphans."""


def check_rights(server: Server, catalog: str) -> None:
    """Refuse who does not own the catalog: from others tables and purges may be hidden, and their
    files would look like orphans. What is asked here needs the same right, and changes nothing."""
    names = quote(server.metalake, safe=""), quote(catalog, safe="")
    try:
        server.post("/api/metalakes/{}/catalogs/{}/testConnection".format(*names))
    except Forbidden as error:
        raise Forbidden(
            f"orphans of catalog {catalog} are not looked for",
            why="only who owns it sees all its tables and purges, and files of the others would "
            "look like orphans",
            fix="Run the pipeline as an owner of the catalog or of its metalake",
        ) from error


def subjects_of(server: Server, catalog: str) -> list[Subject]:
    """All tables and views, and all purges that are not over.

    Purges are read before the tables and after them: a table that is dropped meanwhile becomes a
    purge, and a purge can become a table again.
    """
    purges = {one.identity: one for one in _purges(server, catalog)}
    found = [Subject("table", name) for name in server.tables(catalog)]
    found += [Subject("view", name) for name in server.views(catalog)]
    purges |= {one.identity: one for one in _purges(server, catalog)}
    return [*found, *purges.values()]


def owners_of(subjects: Iterable[Subject], states: States) -> Iterator[Owner]:
    """Who has which places."""
    for one in subjects:
        state = states.get(one.identity)
        if state is not None:
            yield from (Owner(place, str(one.name), state.kept) for place in state.places)


def doubt_of(subjects: Iterable[Subject], states: States) -> str:
    """Why what lies in nobody's place may be a table's all the same; empty if it cannot. A purge
    takes away itself what leads to its files, and hurries for nobody."""
    for one in subjects:
        state = states.get(one.identity)
        if state is not None and state.is_in_doubt and one.kind != PURGE:
            return f"it may belong to {one.name}: {state.kept}"
    return ""


def other_catalogs(server: Server, catalog: str) -> list[Owner]:
    """Places of other catalogs, in which nothing is touched. The server lets none lie in another,
    but for this it is asked once more."""
    return [
        Owner(one.location, f"catalog {one.name}", kept="it belongs to another catalog")
        for one in server.catalogs()
        if one.name != catalog and one.location
    ]


def places_to_list(
    catalog: CatalogInfo, below: Sequence[str], subjects: Iterable[Subject], states: States
) -> list[str]:
    """Those that were asked for, if they are the catalog's own; else all that it has: its
    warehouse, and where tables and views lie outside of it."""
    live = [one for one in subjects if one.kind != PURGE]
    own = [catalog.location, *(owner.place for owner in owners_of(live, states))]
    for place in below:
        if not any(is_within(place, one) for one in own):
            raise BadSetting(
                f"--below {place!r} cannot be used",
                why=f"nothing of catalog {catalog.name} lies there",
                fix=f"Name a place below {catalog.location}, or the location of a table",
            )
    return _outermost(below or own)


def _outermost(places: Iterable[str]) -> list[str]:
    """Without those that lie in others."""
    named = {normalized(place): place for place in places}
    return [
        place for place in named.values() if not any(above in named for above in ancestors(place))
    ]


def _purges(server: Server, catalog: str) -> Iterator[Subject]:
    token = ""
    while True:
        query = {"metalake": server.metalake, "catalog": catalog, "limit": str(JOBS_MAX)}
        page = server.get(JOBS, **query, **({"page-token": token} if token else {}))
        for job in page["jobs"]:
            if job["state"] not in OVER:
                *levels, name = job["table"]
                table = TableName(catalog, tuple(levels), name)
                places = tuple(job.get("places", ()))
                yield Subject("purge", table, job["metadata-location"], places)
        token = page["next-page-token"] or ""
        if not token:
            return
