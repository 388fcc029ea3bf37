"""What users and groups look like in Gravitino's protocol."""

from headgate.catalog.entities import UserEntity
from headgate.catalog.principals import New, Principal
from headgate.errors import BadRequest
from headgate.http.gravitino.shapes import Answer, Audit, Payload, Shape, audit_of


class AddUser(Payload, frozen=True):
    """Somebody who is to use a metalake."""

    name: str
    external_id: str | None = None
    """What it is called by whoever vouches for it."""
    enabled: bool | None = None


class SwitchUser(Payload, frozen=True):
    """Whether a user of a metalake is let in."""

    enabled: bool


class AddGroup(Payload, frozen=True):
    """A group that is to have roles."""

    name: str
    external_id: str | None = None


class MetalakeUser(Shape, frozen=True):
    """A user of a metalake."""

    id: int
    name: str
    enabled: bool
    roles: list[str]
    audit: Audit
    external_id: str | None = None


class MetalakeGroup(Shape, frozen=True):
    """A group of a metalake."""

    id: int
    name: str
    roles: list[str]
    audit: Audit
    external_id: str | None = None


class MetalakeUserAnswer(Answer, frozen=True):
    """One user."""

    user: MetalakeUser


class MetalakeGroupAnswer(Answer, frozen=True):
    """One group."""

    group: MetalakeGroup


class Removed(Answer, frozen=True):
    """Whether somebody was there to be removed."""

    removed: bool


def new_of(body: AddUser | AddGroup) -> New:
    """What a client wants to be added."""
    if body.external_id is not None and not body.external_id.strip():
        raise BadRequest("Invalid externalId", why="it is blank", fix="Leave it out")
    enabled = body.enabled is not False if isinstance(body, AddUser) else True
    return New(body.name, body.external_id or "", enabled)


def user_of(user: Principal) -> MetalakeUser:
    """A user as clients see it."""
    return MetalakeUser(
        id=user.id,
        name=user.name,
        enabled=not isinstance(user.entity, UserEntity) or user.entity.enabled,
        roles=user.roles,
        audit=_audit(user),
        external_id=user.entity.external_id or None,
    )


def group_of(group: Principal) -> MetalakeGroup:
    """A group as clients see it."""
    return MetalakeGroup(
        id=group.id,
        name=group.name,
        roles=group.roles,
        audit=_audit(group),
        external_id=group.entity.external_id or None,
    )


def _audit(principal: Principal) -> Audit:
    return audit_of(principal.entity.created_by, principal.entity.created_ms)
