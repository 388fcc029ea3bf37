"""Records of the change log: what a commit says was done, one record for each operation.

What is stored are notes, in the words of their time. Here they become records of one form.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from headgate.kernel.log import Commit
from headgate.kernel.realms import RealmState
from headgate.kernel.records import PointerKey

METALAKE = "metalake"
_WORDS = {"delete": "drop"}
"""Other words of older notes."""
_SETTING_UP = {RealmState.INITIALIZING.value, RealmState.LOADING.value}
_STATES = {
    RealmState.CREATED.value: "create",
    RealmState.ACTIVE.value: "enable",
    RealmState.INACTIVE.value: "disable",
    RealmState.PURGING.value: "purge",
}
"""What was done to a metalake that is in this state now; other states are steps of the same."""
_OWN = {"do", "kind", "name", "to", "by"}


class Change(msgspec.Struct, frozen=True, rename="kebab", omit_defaults=True):
    """One operation that somebody did."""

    position: str
    """Names this record and no other: realm, pointer, commit, place in the commit."""
    commit: str
    """The id of the commit, as text: it exceeds what many JSON readers can count to."""
    time_ms: int
    do: str
    """create, alter, rename, drop, undrop, grant, revoke, set-owner, enable, disable, purge..."""
    kind: str
    """Of what it was done to: metalake, catalog, namespace, table, view, user, role..."""
    name: tuple[str, ...]
    """Of what it was done to, level by level; inside of a catalog from there down."""
    metalake: str = ""
    catalog: str = ""
    """As it is called now, or was called last; of what is inside of one."""
    to: tuple[str, ...] = ()
    """The new name, of a rename."""
    by: str = ""
    """Who did it."""
    details: Mapping[str, Any] = {}
    """What else is noted of it."""


def records_of(commit: Commit) -> list[tuple[str, Change]]:
    """The records of a commit, each with the id of its realm; their names are not filled in."""
    parts = [part for group in commit.groups for part in _parts(commit, group.note)]
    return [
        (realm, _record(commit, place, note)) for place, (realm, note) in enumerate(parts, start=1)
    ]


def _parts(commit: Commit, note: object) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The operations that a note tells of, and the realm of each."""
    if not isinstance(note, dict):
        return
    match note:
        case {"do": "transaction", "changes": [*changes], **more}:
            for change in changes:
                yield from _parts(commit, {**change, "by": more.get("by", "")})
        case {"do": str(), "kind": "metalake", "id": str(id)}:
            yield id, note
        case {"do": str()}:
            yield commit.realm, note
        case {"realm": str(name), "id": str(id), "state": str(state), **more}:
            do = _STATES.get(state)
            if do and more.get("was") not in _SETTING_UP and "dropped" not in more:
                known = {"by": more["by"]} if "by" in more else {}
                yield id, {"do": do, "kind": METALAKE, "name": [name], **known}


def _record(commit: Commit, place: int, note: Mapping[str, Any]) -> Change:
    do, name = str(note["do"]), _levels(note.get("name"))
    return Change(
        position=f"{commit.realm}/{commit.pointer}/{commit.seq}.{place}",
        commit=str(commit.id),
        time_ms=commit.time_ms,
        do=_WORDS.get(do, do),
        kind=str(note.get("kind", "")),
        name=name,
        metalake=name[0] if name and note.get("kind") == METALAKE else "",
        to=_levels(note.get("to")),
        by=str(note.get("by", "")),
        details={key: value for key, value in note.items() if key not in _OWN},
    )


def _levels(name: object) -> tuple[str, ...]:
    """A path of names, or one with a name behind it, as one list."""
    if not isinstance(name, list):
        return () if name is None else (str(name),)
    return tuple(
        str(level) for part in name for level in (part if isinstance(part, list) else [part])
    )


def key_of(commit: Commit) -> PointerKey:
    """The pointer that a commit moved."""
    return PointerKey(commit.realm, commit.pointer)
