"""Functions: listed and loaded."""

from headgate.catalog.calls import Call, Done
from headgate.catalog.entities import Entry, FunctionEntity, Kind
from headgate.catalog.lake import Lake
from headgate.catalog.namespaces import find_namespace, require_namespace
from headgate.catalog.naming import FUNCTIONS, NAMES, NamesDraft
from headgate.catalog.paging import Page, Paging, one_page
from headgate.errors import AlreadyExists, FunctionNotFound
from headgate.kernel.draft import Draft
from headgate.model.names import Identifier, Levels, check_name


async def list_functions(
    lake: Lake, call: Call, namespace: Levels, paging: Paging
) -> Page[Identifier]:
    """The functions of a namespace."""
    opened = await lake.open(call)
    parent = (await find_namespace(opened, namespace)).id
    return await opened.look(
        lambda names: one_page(
            (
                (name, Identifier(namespace, name))
                for name, _ in names.below(parent, FUNCTIONS, paging.after)
            ),
            paging,
        )
    )


async def load_function(lake: Lake, call: Call, identifier: Identifier) -> FunctionEntity:
    """A function."""
    opened = await lake.open(call)
    parent = (await find_namespace(opened, identifier.namespace)).id
    entry = await opened.look(lambda names: names.find(parent, FUNCTIONS, identifier.name))
    if entry is None:
        raise FunctionNotFound(f"Function does not exist: {identifier}")
    return await opened.head.get(entry.object, FunctionEntity)


async def create_function(
    lake: Lake, call: Call, identifier: Identifier, function: FunctionEntity
) -> None:
    """Add a function. Iceberg's protocol cannot; it is for those that can."""
    check_name(identifier.name)
    opened = await lake.open(call)

    def attempt(draft: Draft) -> Done:
        names = NamesDraft(draft.index(NAMES))
        parent = require_namespace(names, identifier.namespace)
        if names.find(parent.id, FUNCTIONS, identifier.name) is not None:
            raise AlreadyExists(f"Function already exists: {identifier}")
        entry = Entry(Kind.FUNCTION, draft.new_id(), draft.stage(function))
        names.put(parent.id, FUNCTIONS, identifier.name, entry)
        draft.note({"do": "create", "kind": "function", "name": identifier, "by": call.principal})
        return Done([entry.id])

    await lake.commit(opened, f"create function {identifier}", attempt)
