"""The header by which a caller uses only some of its roles."""

from headgate.errors import BadRequest

ACTIVE_ROLES = "x-gravitino-active-roles"
ALL, NONE = "ALL", "NONE"


def active_roles(header: str) -> tuple[str, ...] | None:
    """The roles that it names, in order and each once; None means all that the caller has."""
    names = [name.strip() for name in header.split(",")]
    if names in ([""], [ALL]):
        return None
    if names == [NONE]:
        return ()
    if "" in names or ALL in names or NONE in names:
        raise BadRequest(
            f"Invalid X-Gravitino-Active-Roles: {header[:80]}",
            why="it is no list of role names",
            fix=f"Send names separated by commas, or {ALL}, or {NONE}",
        )
    return tuple(dict.fromkeys(names))
