"""The rights that can be given, and on what."""

import difflib
from enum import IntFlag, auto

from headgate.access.objects import ObjectType as T
from headgate.errors import BadRequest


class Privilege(IntFlag):
    """A right. Flags, so that a set of rights is a number. Stored: what is new comes last."""

    CREATE_CATALOG = auto()
    USE_CATALOG = auto()
    CREATE_SCHEMA = auto()
    USE_SCHEMA = auto()
    CREATE_TABLE = auto()
    MODIFY_TABLE = auto()
    SELECT_TABLE = auto()
    CREATE_VIEW = auto()
    SELECT_VIEW = auto()
    CREATE_FILESET = auto()
    WRITE_FILESET = auto()
    READ_FILESET = auto()
    CREATE_TOPIC = auto()
    PRODUCE_TOPIC = auto()
    CONSUME_TOPIC = auto()
    REGISTER_MODEL = auto()
    LINK_MODEL_VERSION = auto()
    USE_MODEL = auto()
    REGISTER_FUNCTION = auto()
    EXECUTE_FUNCTION = auto()
    MODIFY_FUNCTION = auto()
    MANAGE_USERS = auto()
    MANAGE_GROUPS = auto()
    CREATE_ROLE = auto()
    MANAGE_GRANTS = auto()
    CREATE_TAG = auto()
    APPLY_TAG = auto()
    CREATE_POLICY = auto()
    APPLY_POLICY = auto()
    REGISTER_JOB_TEMPLATE = auto()
    USE_JOB_TEMPLATE = auto()
    RUN_JOB = auto()


ALIASES = {"CREATE_MODEL": "REGISTER_MODEL", "CREATE_MODEL_VERSION": "LINK_MODEL_VERSION"}
"""Former names, still understood."""

_P = Privilege
_LAKE = T.METALAKE
_CONTAINERS = T.METALAKE | T.CATALOG | T.SCHEMA

BINDS: dict[Privilege, T] = {
    **dict.fromkeys(
        (
            _P.CREATE_CATALOG,
            _P.MANAGE_USERS,
            _P.MANAGE_GROUPS,
            _P.CREATE_ROLE,
            _P.CREATE_TAG,
            _P.CREATE_POLICY,
            _P.REGISTER_JOB_TEMPLATE,
            _P.RUN_JOB,
        ),
        _LAKE,
    ),
    _P.USE_CATALOG: _LAKE | T.CATALOG,
    **dict.fromkeys(
        (
            _P.CREATE_SCHEMA,
            _P.USE_SCHEMA,
            _P.CREATE_TABLE,
            _P.CREATE_VIEW,
            _P.CREATE_FILESET,
            _P.CREATE_TOPIC,
            _P.REGISTER_MODEL,
            _P.REGISTER_FUNCTION,
        ),
        _CONTAINERS,
    ),
    **dict.fromkeys((_P.SELECT_TABLE, _P.MODIFY_TABLE), _CONTAINERS | T.TABLE),
    _P.SELECT_VIEW: _CONTAINERS | T.VIEW,
    **dict.fromkeys((_P.READ_FILESET, _P.WRITE_FILESET), _CONTAINERS | T.FILESET),
    **dict.fromkeys((_P.PRODUCE_TOPIC, _P.CONSUME_TOPIC), _CONTAINERS | T.TOPIC),
    **dict.fromkeys((_P.USE_MODEL, _P.LINK_MODEL_VERSION), _CONTAINERS | T.MODEL),
    **dict.fromkeys((_P.EXECUTE_FUNCTION, _P.MODIFY_FUNCTION), _CONTAINERS | T.FUNCTION),
    _P.APPLY_TAG: _LAKE | T.TAG,
    _P.APPLY_POLICY: _LAKE | T.POLICY,
    _P.USE_JOB_TEMPLATE: _LAKE | T.JOB_TEMPLATE,
    _P.MANAGE_GRANTS: _CONTAINERS | T.TABLE | T.VIEW | T.TOPIC | T.FILESET | T.MODEL | T.FUNCTION,
}
"""The kinds of objects that each right can be given on."""

CATALOG_TYPES: dict[str, Privilege] = {
    "relational": _P.CREATE_TABLE
    | _P.SELECT_TABLE
    | _P.MODIFY_TABLE
    | _P.CREATE_VIEW
    | _P.SELECT_VIEW,
    "fileset": _P.CREATE_FILESET | _P.READ_FILESET | _P.WRITE_FILESET,
    "messaging": _P.CREATE_TOPIC | _P.PRODUCE_TOPIC | _P.CONSUME_TOPIC,
    "model": _P.REGISTER_MODEL | _P.USE_MODEL | _P.LINK_MODEL_VERSION,
}
"""The rights that make sense only in catalogs of one type."""


def privilege_of(name: str) -> Privilege:
    """The right of this name, in any case, former names too."""
    word = name.upper()
    try:
        return Privilege[ALIASES.get(word, word)]
    except KeyError:
        nearest = difflib.get_close_matches(word[:80], Privilege.__members__, n=2)
        raise BadRequest(
            f"Invalid privilege: {name[:80]}",
            why="there is none of this name",
            fix=f"Did you mean {' or '.join(nearest)}?"
            if nearest
            else "docs/reference/rights.md lists them all",
        ) from None


def names_of(rights: int) -> list[str]:
    """The rights in a set, as the wire spells them."""
    return [str(right.name).lower() for right in Privilege if right & rights]
