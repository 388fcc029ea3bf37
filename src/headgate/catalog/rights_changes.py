"""Whose rights differ between two states of a metalake."""

from typing import NamedTuple

from headgate.catalog.calls import Caller
from headgate.catalog.compiling import DISABLED, Compiled, Rights
from headgate.catalog.naming import id_bytes
from headgate.catalog.rights import ASSIGNED, GRANTED
from headgate.catalog.stored_names import IDS, NAMES
from headgate.kernel.index import HeadView

_ID_BYTES = len(id_bytes(0))
_NAME_AT = _ID_BYTES + 1  # behind the parent and the letter of the kind


class Changed(NamedTuple):
    """What differs."""

    everything: bool = False
    names: frozenset[str] = frozenset()
    """Of users and groups."""
    principals: frozenset[int] = frozenset()
    roles: frozenset[int] = frozenset()

    def concerns(self, caller: Caller, compiled: Compiled) -> bool:
        """Whether what was compiled for a caller may be different now."""
        return bool(
            self.everything
            or caller.name in self.names
            or not self.names.isdisjoint(caller.groups)
            or not self.principals.isdisjoint(compiled.access.principals)
            or not self.roles.isdisjoint(compiled.assigned)
            or (caller.roles is not None and self.roles)
        )


async def changed_rights(old: Rights, new: Rights) -> Changed:
    """What differs between two states; it costs what differs."""
    names = await _keys(old.principals, new.principals, NAMES)
    disabled = await _keys(old.principals, new.principals, DISABLED)
    ids = await _keys(old.principals, new.principals, IDS)
    roles = await _keys(old.roles, new.roles, IDS)
    assigned = await _keys(old.grants, new.grants, ASSIGNED)
    granted = await _keys(old.grants, new.grants, GRANTED)
    owner_is_gone = new.owner != 0 and id_bytes(new.owner) in ids
    return Changed(
        everything=old.root.id != new.root.id or owner_is_gone,
        names=frozenset(key[_NAME_AT:].decode() for key in names),
        principals=frozenset(map(_first, (*disabled, *assigned))),
        roles=frozenset(map(_first, (*roles, *granted))),
    )


async def _keys(old: HeadView, new: HeadView, index: str) -> list[bytes]:
    if old.id == new.id:
        return []
    return [one.key for one in await old.index(index).difference(new.index(index))]


def _first(key: bytes) -> int:
    return int.from_bytes(key[:_ID_BYTES], "big")
