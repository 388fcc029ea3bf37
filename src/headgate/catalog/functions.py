"""Functions: listed and loaded."""

from headgate.access.rules import LOAD_FUNCTION, LOAD_SCHEMA, REGISTER_FUNCTION
from headgate.catalog.calls import Done
from headgate.catalog.entities import Entry, FunctionEntity, Kind
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace, id_of_namespace, require_namespace
from headgate.catalog.naming import FUNCTIONS, NamesDraft
from headgate.catalog.openings import Opened
from headgate.catalog.paging import Page, Paging, list_names
from headgate.catalog.relations import named
from headgate.errors import AlreadyExists, FunctionNotFound
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier, Levels, check_name


async def list_functions(opened: Opened, namespace: Levels, paging: Paging) -> Page[Identifier]:
    """The functions of a namespace that the caller may see."""
    await opened.require(LOAD_SCHEMA, namespace)
    parent = (await find_namespace(opened, namespace)).id
    is_seen = await opened.sieve(LOAD_FUNCTION, namespace)

    def pick(name: str, entry: Entry) -> Identifier | None:
        return Identifier(namespace, name) if is_seen is None or is_seen(entry) else None

    return await list_names(opened, parent, FUNCTIONS, paging, pick)


async def load_function(opened: Opened, identifier: Identifier) -> FunctionEntity:
    """A function."""
    await opened.require(LOAD_FUNCTION, *identifier, FUNCTIONS)
    parent = (await find_namespace(opened, identifier.namespace)).id
    entry = await opened.look(lambda names: names.find(parent, FUNCTIONS, identifier.name))
    if entry is None:
        raise FunctionNotFound(f"Function does not exist: {identifier}")
    return await opened.head.get(entry.object, FunctionEntity)


async def create_function(
    lake: Lake, opened: Opened, identifier: Identifier, function: FunctionEntity
) -> None:
    """Add a function. Iceberg's protocol cannot; it is for those that can."""
    await opened.require(REGISTER_FUNCTION, identifier.namespace)
    check_name(identifier.name)
    into = await id_of_namespace(opened, identifier.namespace)

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft)
        parent = require_namespace(names, identifier.namespace, into)
        if names.find(parent.id, FUNCTIONS, identifier.name) is not None:
            raise AlreadyExists(f"Function already exists: {identifier}")
        entry = Entry(Kind.FUNCTION, draft.new_id(), draft.stage(function), opened.owner)
        names.add(parent.id, FUNCTIONS, identifier.name, entry)
        draft.note(opened.call.note("create", "function", identifier))
        return Done([entry.id])

    await lake.commit(opened, f"create function {named(identifier)}", attempt)
