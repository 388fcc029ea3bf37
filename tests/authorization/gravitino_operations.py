"""The operations of Gravitino's protocol."""

import json
from collections.abc import Callable
from typing import Any

from headgate.access import rules
from headgate.access.objects import ObjectType as T
from headgate.catalog.principals import GROUP, USER
from headgate.testing.access_model import Path, Thing
from tests.authorization.clerk import Clerk
from tests.authorization.operations import SCHEMA, SPARES, TABLE, VIEW, Operation, spare
from tests.unit.catalog.lakes import CATALOG, METALAKE

LAKE_URL = f"/api/metalakes/{METALAKE}"
CATALOG_URL = f"{LAKE_URL}/catalogs/{CATALOG}"
SCHEMA_URL = f"{CATALOG_URL}/schemas/a:b"
TABLE_URL = f"{SCHEMA_URL}/tables/t"
VIEW_URL = f"{SCHEMA_URL}/views/v"
PERMISSIONS = f"{LAKE_URL}/permissions"
ROLE: Path = ("target",)
OBJECTS: dict[T, tuple[Path, str]] = {
    T.METALAKE: ((), METALAKE),
    T.CATALOG: ((CATALOG,), CATALOG),
    T.SCHEMA: (SCHEMA, f"{CATALOG}.a:b"),
    T.TABLE: (TABLE, f"{CATALOG}.a:b.t"),
    T.VIEW: (VIEW, f"{CATALOG}.a:b.v"),
}
"""An object of each kind, and its full name."""
_COLUMNS = [{"name": "id", "type": "long"}]
_SQL = [{"type": "sql", "dialect": "spark", "sql": "SELECT 1"}]
_ROLES = {"roleNames": ["target"]}
_RIGHT = {"privileges": [{"name": "manage_grants", "condition": "allow"}]}
_IN_USE = frozenset({409})


async def target(clerk: Clerk) -> None:
    """A user, a group and a role that operations are about."""
    if "target" not in clerk.model.users:
        await clerk.add(USER, "target")
        await clerk.add(GROUP, "target")
    if "target" not in clerk.model.roles:
        await clerk.create_role("target")
        clerk.model.metalake.below["target"] = Thing(T.ROLE, "target")


async def _fresh_role(clerk: Clerk) -> None:
    """The role is there, though somebody may have deleted it."""
    if (await clerk.node.ask("GET", f"{LAKE_URL}/roles/target")).status == 404:
        clerk.model.roles.pop("target", None)
    await target(clerk)


def _shows(name: str) -> Callable[[Any], bool]:
    return lambda answer: f'"{name}"' in json.dumps(answer)


def _on(kind: T) -> tuple[Path, str]:
    path, name = OBJECTS[kind]
    return path, f"{str(kind.name).lower()}/{name}"


def _owners() -> dict[str, Operation]:
    made = {}
    for kind in OBJECTS:
        path, name = _on(kind)
        word, url = str(kind.name).lower(), f"{LAKE_URL}/owners/{name}"
        setting = rules.ALTER_METALAKE if kind is T.METALAKE else rules.SET_OWNER
        made[f"getOwner {word}"] = Operation("GET", url, path, rule=rules.LOADING[kind])
        made[f"setOwner {word}"] = Operation(
            "PUT", url, path, lambda _: {"name": "target", "type": "USER"}, rule=setting
        )
        made[f"listRolesByObject {word}"] = Operation(
            "GET", f"{LAKE_URL}/objects/{name}/roles", path, rule=rules.LOADING[kind]
        )
        for do in ("grant", "revoke"):
            operation = "grantPrivilegesToRole" if do == "grant" else "revokePrivilegesFromRole"
            made[f"{operation} {word}"] = Operation(
                "PUT",
                f"{PERMISSIONS}/roles/target/{name}/{do}",
                path,
                lambda _: _RIGHT,
                rule=rules.granting(kind),
            )
    role = f"{LAKE_URL}/owners/role/target"
    made["getOwner role"] = Operation("GET", role, ROLE, rule=rules.LOAD_ROLE)
    made["setOwner role"] = Operation(
        "PUT", role, ROLE, lambda _: {"name": "target", "type": "GROUP"}, rule=rules.SET_OWNER
    )
    return made


def _assignments() -> dict[str, Operation]:
    made = {}
    for do, to in (("grant", "To"), ("revoke", "From")):
        for who in ("user", "group"):
            made[f"{do}Roles{to}{who.capitalize()}"] = Operation(
                "PUT", f"{PERMISSIONS}/{who}s/target/{do}", (), lambda _: _ROLES
            )
    return made


def _principals(who: str) -> dict[str, Operation]:
    url, word = f"{LAKE_URL}/{who}s", who.capitalize()
    return {
        f"list{word}s": Operation("GET", url, (), sees=_shows("target")),
        f"add{word}": Operation("POST", url, (), lambda n: {"name": f"new{n}"}),
        f"get{word}": Operation("GET", f"{url}/target", ()),
        f"remove{word}": Operation("DELETE", f"{url}/nobody", ()),
    }


def _drops(word: str, kind: T) -> Operation:
    path = SPARES[kind]
    where = f"{SCHEMA_URL}:{path[-1]}" if kind is T.SCHEMA else f"{SCHEMA_URL}/{word}/{path[-1]}"
    return Operation("DELETE", where, path, before=spare(kind))


GRAVITINO = {
    "listMetalakes": Operation("GET", "/api/metalakes", (), sees=_shows(METALAKE)),
    "createMetalake": Operation("POST", "/api/metalakes", (), lambda n: {"name": f"lake{n}"}),
    "loadMetalake": Operation("GET", LAKE_URL, ()),
    "alterMetalake": Operation(
        "PUT",
        LAKE_URL,
        (),
        lambda n: {"updates": [{"@type": "updateComment", "newComment": str(n)}]},
    ),
    "switchMetalake": Operation("PATCH", LAKE_URL, (), lambda _: {"inUse": True}),
    "dropMetalake": Operation("DELETE", LAKE_URL, (), done=_IN_USE),
    "listCatalogs": Operation("GET", f"{LAKE_URL}/catalogs", (CATALOG,), sees=_shows(CATALOG)),
    "createCatalog": Operation(
        "POST",
        f"{LAKE_URL}/catalogs",
        (),
        lambda n: {"name": f"c{n}", "type": "relational", "provider": "lakehouse-iceberg"},
    ),
    "testNewConnection": Operation(
        "POST",
        f"{LAKE_URL}/catalogs/testConnection",
        (),
        lambda n: {"name": f"c{n}", "type": "relational", "provider": "lakehouse-iceberg"},
    ),
    "testConnection": Operation("POST", f"{CATALOG_URL}/testConnection", (CATALOG,)),
    "loadCatalog": Operation("GET", CATALOG_URL, (CATALOG,)),
    "alterCatalog": Operation(
        "PUT",
        CATALOG_URL,
        (CATALOG,),
        lambda n: {"updates": [{"@type": "updateComment", "newComment": str(n)}]},
    ),
    "switchCatalog": Operation("PATCH", CATALOG_URL, (CATALOG,), lambda _: {"inUse": True}),
    "dropCatalog": Operation("DELETE", CATALOG_URL, (CATALOG,), done=_IN_USE),
    "listSchemas": Operation("GET", f"{CATALOG_URL}/schemas", (CATALOG,)),
    "createSchema": Operation(
        "POST", f"{CATALOG_URL}/schemas", SCHEMA, lambda n: {"name": f"a:b:n{n}"}
    ),
    "loadSchema": Operation("GET", SCHEMA_URL, SCHEMA),
    "alterSchema": Operation(
        "PUT",
        SCHEMA_URL,
        SCHEMA,
        lambda n: {"updates": [{"@type": "setProperty", "property": "n", "value": str(n)}]},
    ),
    "dropSchema": _drops("", T.SCHEMA),
    "listTables": Operation("GET", f"{SCHEMA_URL}/tables", SCHEMA),
    "createTable": Operation(
        "POST", f"{SCHEMA_URL}/tables", SCHEMA, lambda n: {"name": f"new{n}", "columns": _COLUMNS}
    ),
    "loadTable": Operation("GET", TABLE_URL, TABLE),
    "alterTable": Operation(
        "PUT",
        TABLE_URL,
        TABLE,
        lambda n: {"updates": [{"@type": "setProperty", "property": "n", "value": str(n)}]},
    ),
    "dropTable": _drops("tables", T.TABLE),
    "listViews": Operation("GET", f"{SCHEMA_URL}/views", SCHEMA),
    "createView": Operation(
        "POST",
        f"{SCHEMA_URL}/views",
        SCHEMA,
        lambda n: {"name": f"new{n}", "columns": _COLUMNS, "representations": _SQL},
    ),
    "loadView": Operation("GET", VIEW_URL, VIEW),
    "alterView": Operation(
        "PUT",
        VIEW_URL,
        VIEW,
        lambda n: {"updates": [{"@type": "setProperty", "property": "n", "value": str(n)}]},
    ),
    "dropView": _drops("views", T.VIEW),
    **_principals("user"),
    **_principals("group"),
    "switchUser": Operation("PATCH", f"{LAKE_URL}/users/target", (), lambda _: {"enabled": True}),
    "bulkAddUsers": Operation(
        "POST",
        f"/api/bulk/metalakes/{METALAKE}/users/add",
        (),
        lambda n: {"users": [{"name": f"new{n}"}]},
    ),
    "bulkRemoveUsers": Operation(
        "POST",
        f"/api/bulk/metalakes/{METALAKE}/users/remove",
        (),
        lambda n: {"names": [f"new{n}"]},
    ),
    "listRoles": Operation("GET", f"{LAKE_URL}/roles", ROLE, sees=_shows("target")),
    "createRole": Operation(
        "POST", f"{LAKE_URL}/roles", (), lambda n: {"name": f"new{n}", "securableObjects": []}
    ),
    "getRole": Operation("GET", f"{LAKE_URL}/roles/target", ROLE),
    "deleteRole": Operation("DELETE", f"{LAKE_URL}/roles/target", ROLE, before=_fresh_role),
    "overrideRolePrivileges": Operation(
        "PUT", f"{PERMISSIONS}/roles/target", (), lambda _: {"overrides": []}
    ),
    **_assignments(),
    **_owners(),
}
