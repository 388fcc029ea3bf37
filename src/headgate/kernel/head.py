"""The head: what a pointer points to. One commit's place in the log, its changes, and its
indexes."""

from typing import Any

import msgspec

from headgate.errors import InvalidInput
from headgate.kernel.objects import Digested, FieldDecoder, ObjectType
from headgate.kernel.pages import EMPTY_LEAF, Page

ADDED, UPDATED, REMOVED = 0, 1, 2
NOTHING = msgspec.Raw(msgspec.msgpack.encode([]))
NO_NOTE = msgspec.Raw(msgspec.msgpack.encode(None))


class Change(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one attempt did to one entry."""

    index: str
    key: bytes
    kind: int


class Group(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one attempt did: its own words, its operation id, its entries."""

    note: msgspec.Raw
    operation: bytes
    changes: list[Change]


class Link(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What binds a commit to what it follows and to what was too large for it."""

    seq: int
    """The commit's own. A program that does not know links copies that of the head before: such a
    link says nothing."""
    previous: bytes
    """The digest of the head before, as it is stored; empty if there is none."""
    changes: bytes
    """The digest of the spilled changes; empty if there are none."""


class Head(Digested, frozen=True):
    """One commit. Roots and changes stay encoded until somebody looks at them."""

    seq: int
    """1 for the first commit of a pointer, then one more each time."""
    tail: tuple[int, ...]
    """The ids of the commits before this one, newest first."""
    roots: dict[str, msgspec.Raw]
    """The root page of each index, by the index's name."""
    marks: dict[str, int] = {}
    """Small numbers that readers want without opening an index."""
    sealed: bool = False
    """True once the pointer takes no more commits."""
    groups: msgspec.Raw = NOTHING
    """What this commit changed, one group for each attempt, if it is not `spilled`."""
    replaced: msgspec.Raw = NOTHING
    """The ids of stored objects this commit no longer uses, if they are not `spilled`."""
    spilled: int = 0
    """The id of the object that holds the groups and the replaced ids, if they are many."""
    link: Link | None = None
    """None in heads of programs that did not make it yet; see `own_link`."""

    @property
    def own_link(self) -> Link | None:
        """The link that was made for this commit, None if there is none."""
        return self.link if self.link is not None and self.link.seq == self.seq else None


class Changes(Digested, frozen=True):
    """The groups and replaced ids of a commit that changed too much to keep them in its head."""

    groups: msgspec.Raw
    replaced: msgspec.Raw


HEAD_TYPES = (ObjectType("head", Head), ObjectType("changes", Changes))
NO_HEAD = Head(0, (), {})
"""What an EMPTY pointer stands for: no commit and no entry."""

_groups = msgspec.msgpack.Decoder(list[Group])
_ids = msgspec.msgpack.Decoder(list[int])
_page = FieldDecoder(Page)


def decode_root(head: Head, index: str) -> Page:
    """The root page of an index; an index nobody has written to is empty."""
    raw = head.roots.get(index)
    return EMPTY_LEAF if raw is None else _page.decode(bytes(raw))


def encode_root(page: Page) -> msgspec.Raw:
    """A root page as it stands in a head; all its children are stored."""
    assert Page not in set(map(type, page.children))
    return msgspec.Raw(msgspec.msgpack.encode(page))


def decode_groups(raw: msgspec.Raw) -> list[Group]:
    """The groups of a commit."""
    return _groups.decode(raw)


def decode_replaced(raw: msgspec.Raw) -> list[int]:
    """The replaced ids of a commit."""
    return _ids.decode(raw)


def encode_note(note: Any) -> msgspec.Raw:  # noqa: ANN401  whatever msgpack can hold
    """A caller's own words about its change; `InvalidInput` if the log could not show them."""
    if note is None:
        return NO_NOTE
    try:
        encoded = msgspec.msgpack.encode(note)
        msgspec.json.encode(msgspec.msgpack.decode(encoded))
    except (msgspec.MsgspecError, TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InvalidInput(
            "the note cannot be stored", why=str(error), fix="Use what JSON can hold"
        ) from error
    return msgspec.Raw(encoded)
