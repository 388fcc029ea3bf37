"""What each action asks of its caller, as a table.

A rule is a list of clauses, and one of them is enough. A clause asks that the caller own an object
of one of some kinds, that it have all of some rights, or that it be somebody in particular; what it
does not mention does not matter. The objects are those on the way from the metalake down to the one
that is asked for: whoever owns a schema owns all below it, and a right that is given on it holds
there too, unless it is denied anywhere on the way. What is denied takes rights, and never what
comes with owning something.
"""

from enum import IntFlag, auto
from typing import NamedTuple

from headgate.access.objects import IN_SCHEMA
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import Privilege as Right

NO_RIGHT = Right(0)


class Standing(IntFlag):
    """Who somebody is, apart from what it owns and may do."""

    SERVICE_ADMIN = auto()
    """Named in the settings."""
    MEMBER = auto()
    """A user of the metalake."""
    SELF = auto()
    """The very user that is asked about, or one who has the group or role that is."""


class Clause(NamedTuple):
    """All of this together is enough. Plain numbers: flags are slow."""

    owner: int = 0
    """The caller owns an object of one of these kinds; 0 means that it does not matter."""
    rights: int = 0
    """The caller has all of these."""
    standing: int = 0
    """The caller is all of these."""


class Rule(NamedTuple):
    """Who may do something."""

    action: str
    """Its name in answers, logs and documents."""
    on: T
    """What the way leads to: for what does not exist yet, to where it will be."""
    clauses: tuple[Clause, ...]

    @property
    def rights(self) -> int:
        """All rights that it mentions."""
        mentioned = 0
        for clause in self.clauses:
            mentioned |= clause.rights
        return mentioned


RULES: dict[str, Rule] = {}
"""All of them by their actions."""


def owns(kinds: T, rights: Right = NO_RIGHT) -> Clause:
    """The caller owns an object of one of these kinds and has all of these rights."""
    return Clause(owner=int(kinds), rights=int(rights))


def may(rights: Right) -> Clause:
    """The caller has all of these rights."""
    return Clause(rights=int(rights))


def named(standing: Standing) -> Clause:
    """The caller is this one."""
    return Clause(standing=int(standing))


def _rule(action: str, on: T, *clauses: Clause) -> Rule:
    RULES[action] = rule = Rule(action, on, clauses)
    return rule


_IN_SCHEMA = Right.USE_CATALOG | Right.USE_SCHEMA
_LAKE_OWNER = owns(T.METALAKE)
_TOP_OWNERS = owns(T.METALAKE | T.CATALOG)
_ABOVE = (_TOP_OWNERS, owns(T.SCHEMA, Right.USE_CATALOG))


def _inside(action: str, on: T, *clauses: Clause) -> Rule:
    """In a schema: the owners above may, and so may these who may use the schema."""
    used = (clause._replace(rights=clause.rights | int(_IN_SCHEMA)) for clause in clauses)
    return _rule(action, on, *_ABOVE, *used)


CREATE_METALAKE = _rule("createMetalake", T(0), named(Standing.SERVICE_ADMIN))
ALTER_IDENTITIES = _rule("alterIdentities", T(0), named(Standing.SERVICE_ADMIN))
"""Change users, groups and passwords that Headgate keeps for all metalakes."""
LOAD_METALAKE = _rule("loadMetalake", T.METALAKE, named(Standing.MEMBER))
ALTER_METALAKE = _rule("alterMetalake", T.METALAKE, _LAKE_OWNER)
DROP_METALAKE = _rule("dropMetalake", T.METALAKE, _LAKE_OWNER)
READ_CHANGES = _rule("readChanges", T.METALAKE, _LAKE_OWNER, named(Standing.SERVICE_ADMIN))
"""Read the change log, which names everything that is in the metalake."""

READ_SETTINGS = _rule("readSettings", T(0), named(Standing.SERVICE_ADMIN))
"""Read the settings of the server, secrets masked."""
EXPORT_METALAKE = _rule("exportMetalake", T(0), named(Standing.SERVICE_ADMIN))
"""Read all that is stored of a metalake, also what is hidden from its owner."""
IMPORT_METALAKE = _rule("importMetalake", T(0), named(Standing.SERVICE_ADMIN))
"""Fill a new metalake from an export, with whatever rights and places are in it."""
READ_MAINTENANCE = _rule("readMaintenance", T(0), named(Standing.SERVICE_ADMIN))
"""See what sweeps of the store did, and how far one is."""
MANAGE_MAINTENANCE = _rule("manageMaintenance", T(0), named(Standing.SERVICE_ADMIN))
"""Sweep the store, or delete the data of metalakes that are being purged."""

CREATE_CATALOG = _rule("createCatalog", T.METALAKE, _LAKE_OWNER, may(Right.CREATE_CATALOG))
LOAD_CATALOG = _rule("loadCatalog", T.CATALOG, _TOP_OWNERS, may(Right.USE_CATALOG))
ALTER_CATALOG = _rule("alterCatalog", T.CATALOG, _TOP_OWNERS)
DROP_CATALOG = _rule("dropCatalog", T.CATALOG, _TOP_OWNERS)
READ_REFERENCES = _rule("readReferences", T.CATALOG, _TOP_OWNERS)
"""Hear which files of a catalog tables of others need, whoever owns these."""

CREATE_SCHEMA = _rule(
    "createSchema",
    T.SCHEMA,
    owns(T.METALAKE | T.CATALOG | T.SCHEMA),
    may(Right.USE_CATALOG | Right.CREATE_SCHEMA),
)
LOAD_SCHEMA = _rule("loadSchema", T.SCHEMA, *_ABOVE, may(_IN_SCHEMA))
ALTER_SCHEMA = _rule("alterSchema", T.SCHEMA, *_ABOVE)
DROP_SCHEMA = _rule("dropSchema", T.SCHEMA, *_ABOVE)

CREATE_TABLE = _inside("createTable", T.SCHEMA, may(Right.CREATE_TABLE))
LOAD_TABLE = _inside(
    "loadTable", T.TABLE, owns(T.TABLE), may(Right.SELECT_TABLE), may(Right.MODIFY_TABLE)
)
ALTER_TABLE = _inside("alterTable", T.TABLE, owns(T.TABLE), may(Right.MODIFY_TABLE))
DROP_TABLE = _inside("dropTable", T.TABLE, owns(T.TABLE))

_OF_JOBS = (_TOP_OWNERS, owns(T.TABLE, _IN_SCHEMA), named(Standing.SERVICE_ADMIN))
READ_JOBS = _rule("readJobs", T.TABLE, *_OF_JOBS)
"""See the purge of a dropped table. Not who owns the schema: another one may have its name now."""
UNDROP_TABLE = _rule("undropTable", T.TABLE, *_OF_JOBS)
MANAGE_JOBS = _rule("manageJobs", T.CATALOG, _TOP_OWNERS, named(Standing.SERVICE_ADMIN))
"""Let a purge be tried again, or give it up: then its files stay for ever."""
WORK_ON_JOBS = _rule("workOnJobs", T(0), named(Standing.SERVICE_ADMIN))
"""Do purges in another program, which is handed the keys to all stores of the server."""

CREATE_VIEW = _inside("createView", T.SCHEMA, may(Right.CREATE_VIEW))
LOAD_VIEW = _inside("loadView", T.VIEW, owns(T.VIEW), may(Right.SELECT_VIEW))
ALTER_VIEW = _inside("alterView", T.VIEW, owns(T.VIEW))
DROP_VIEW = _inside("dropView", T.VIEW, owns(T.VIEW))

MISS_RELATION = _inside(
    "missTableOrView",
    T.SCHEMA,
    may(Right.CREATE_TABLE),
    may(Right.CREATE_VIEW),
    may(Right.SELECT_TABLE),
    may(Right.MODIFY_TABLE),
    may(Right.SELECT_VIEW),
)
"""Be told that there is no table or view of a name: clients ask before they create one."""

REGISTER_FUNCTION = _inside("registerFunction", T.SCHEMA, may(Right.REGISTER_FUNCTION))
LOAD_FUNCTION = _inside(
    "loadFunction",
    T.FUNCTION,
    owns(T.FUNCTION),
    may(Right.EXECUTE_FUNCTION),
    may(Right.MODIFY_FUNCTION),
)
ALTER_FUNCTION = _inside("alterFunction", T.FUNCTION, owns(T.FUNCTION), may(Right.MODIFY_FUNCTION))
DROP_FUNCTION = _inside("dropFunction", T.FUNCTION, owns(T.FUNCTION))

CREATE_FILESET = _inside("createFileset", T.SCHEMA, may(Right.CREATE_FILESET))
LOAD_FILESET = _inside(
    "loadFileset", T.FILESET, owns(T.FILESET), may(Right.READ_FILESET), may(Right.WRITE_FILESET)
)
ALTER_FILESET = _inside("alterFileset", T.FILESET, owns(T.FILESET), may(Right.WRITE_FILESET))
DROP_FILESET = _inside("dropFileset", T.FILESET, owns(T.FILESET))

CREATE_TOPIC = _inside("createTopic", T.SCHEMA, may(Right.CREATE_TOPIC))
LOAD_TOPIC = _inside(
    "loadTopic", T.TOPIC, owns(T.TOPIC), may(Right.CONSUME_TOPIC), may(Right.PRODUCE_TOPIC)
)
ALTER_TOPIC = _inside("alterTopic", T.TOPIC, owns(T.TOPIC), may(Right.PRODUCE_TOPIC))
DROP_TOPIC = _inside("dropTopic", T.TOPIC, owns(T.TOPIC))

REGISTER_MODEL = _inside("registerModel", T.SCHEMA, may(Right.REGISTER_MODEL))
LOAD_MODEL = _inside("loadModel", T.MODEL, owns(T.MODEL), may(Right.USE_MODEL))
ALTER_MODEL = _inside("alterModel", T.MODEL, owns(T.MODEL))
DROP_MODEL = _inside("dropModel", T.MODEL, owns(T.MODEL))
LINK_MODEL_VERSION = _inside(
    "linkModelVersion", T.MODEL, owns(T.MODEL), may(Right.USE_MODEL | Right.LINK_MODEL_VERSION)
)

CHANGE_USERS = _rule("changeUsers", T.METALAKE, _LAKE_OWNER, may(Right.MANAGE_USERS))
LOAD_USER = _rule(
    "loadUser", T.METALAKE, _LAKE_OWNER, may(Right.MANAGE_USERS), named(Standing.SELF)
)
CHANGE_GROUPS = _rule("changeGroups", T.METALAKE, _LAKE_OWNER, may(Right.MANAGE_GROUPS))
LOAD_GROUP = _rule(
    "loadGroup", T.METALAKE, _LAKE_OWNER, may(Right.MANAGE_GROUPS), named(Standing.SELF)
)
CREATE_ROLE = _rule("createRole", T.METALAKE, _LAKE_OWNER, may(Right.CREATE_ROLE))
LOAD_ROLE = _rule(
    "loadRole",
    T.ROLE,
    owns(T.METALAKE | T.ROLE),
    may(Right.MANAGE_GRANTS),
    named(Standing.SELF),
)
DROP_ROLE = _rule("dropRole", T.ROLE, owns(T.METALAKE | T.ROLE))
ASSIGN_ROLES = _rule("assignRoles", T.METALAKE, _LAKE_OWNER, may(Right.MANAGE_GRANTS))

SET_OWNER = _rule(
    "setOwner",
    T.CATALOG | T.SCHEMA | IN_SCHEMA | T.ROLE,
    *_ABOVE,
    owns(T.ROLE),
    owns(IN_SCHEMA, _IN_SCHEMA),
)
GRANT_ON_CATALOG = _rule(
    "grantOnCatalog", T.METALAKE | T.CATALOG, _TOP_OWNERS, may(Right.MANAGE_GRANTS)
)
GRANT_ON_SCHEMA = _rule(
    "grantOnSchema", T.SCHEMA, *_ABOVE, may(Right.MANAGE_GRANTS | Right.USE_CATALOG)
)
GRANT_IN_SCHEMA = _inside("grantInSchema", IN_SCHEMA, owns(IN_SCHEMA), may(Right.MANAGE_GRANTS))

LOADING: dict[T, Rule] = {
    T.METALAKE: LOAD_METALAKE,
    T.CATALOG: LOAD_CATALOG,
    T.SCHEMA: LOAD_SCHEMA,
    T.TABLE: LOAD_TABLE,
    T.VIEW: LOAD_VIEW,
    T.FILESET: LOAD_FILESET,
    T.TOPIC: LOAD_TOPIC,
    T.MODEL: LOAD_MODEL,
    T.FUNCTION: LOAD_FUNCTION,
    T.ROLE: LOAD_ROLE,
}
"""What it takes to see an object, and so also whose it is."""


def granting(kind: T) -> Rule:
    """What it takes to give rights on an object of this kind."""
    if kind & (T.METALAKE | T.CATALOG):
        return GRANT_ON_CATALOG
    return GRANT_ON_SCHEMA if kind is T.SCHEMA else GRANT_IN_SCHEMA
