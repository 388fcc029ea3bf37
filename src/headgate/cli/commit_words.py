"""Commits in words: objects for scripts, sentences for people."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from headgate.catalog.change_records import Change
from headgate.catalog.naming import CATALOGS, FUNCTIONS, NAMESPACES, RELATIONS, ROOT
from headgate.catalog.purging import PURGE
from headgate.catalog.reports import REPORTS
from headgate.catalog.stored_names import CATALOG_POINTER, NAMES
from headgate.cli.output import iso, printable, to_json
from headgate.kernel.log import Commit, Entry

CATALOG_POINTERS = "cat/"  # how the names of all pointers of a catalog begin
ID_BYTES = 8
UUID_BYTES = 16
GROUPS = {
    CATALOGS: "catalog",
    NAMESPACES: "namespace",
    RELATIONS: "table or view",
    FUNCTIONS: "function",
}
DONE = {
    "alter": "altered",
    "cancel-purge": "left with its files",
    "create": "created",
    "delete": "deleted",
    "disable": "switched off",
    "drop": "dropped",
    "enable": "switched on",
    "end-grace": "given to its purge before its grace period was over",
    "grant": "given rights",
    "purge": "purged",
    "rename": "renamed",
    "revoke": "stripped of rights",
    "set-owner": "given an owner",
    "undrop": "undropped",
}


def described(commit: Commit) -> dict[str, object]:
    """A commit as a plain object. Ids are text: they exceed what many JSON readers can count to."""
    return {
        "id": str(commit.id),
        "seq": commit.seq,
        "realm": commit.realm,
        "pointer": commit.pointer,
        "time": iso(commit.time_ms),
        "node": commit.node,
        "groups": [
            {
                "note": group.note,
                "operation": _operation(commit, group.operation),
                "entries": [
                    {"index": entry.index, "kind": entry.kind, **_key(commit, entry)}
                    for entry in group.entries
                ],
            }
            for group in commit.groups
        ],
    }


def sentence(commit: Commit, realm: str, catalog: str = "") -> str:
    """A commit for people: one line, and one below it for each note and each entry. One that
    changes nothing is a fence, which a sweep puts on a pointer.

    One in a catalog names that; pointers have ids, which say nothing to people.
    """
    where = printable(catalog or f"{realm} {commit.pointer}")
    lines = [f"{iso(commit.time_ms)}  {commit.id}  {where} #{commit.seq}  node {commit.node}"]
    if not commit.groups:
        lines.append("    fence")
    for group in commit.groups:
        if group.note is not None:
            lines.append(f"    {printable(in_words(group.note))}")
        for entry in group.entries:
            key = printable(_shown(_key(commit, entry)))
            lines.append(f"    {entry.kind:7}  {printable(entry.index)}  {key}")
    return "\n".join(lines)


def sentence_of_change(change: Change) -> str:
    """A record of the change log for people: when, where, what, and what else is noted."""
    where = ".".join(filter(None, (change.metalake, change.catalog)))
    note = {"do": change.do, "kind": change.kind, "name": list(change.name), "by": change.by}
    said = in_words(note | {"to": list(change.to)} if change.to else note)
    more = f": {to_json(change.details)}" if change.details else ""
    return printable(f"{iso(change.time_ms)}  {where or 'system'}  {said}{more}")


def is_about(commit: Commit, name: str) -> bool:
    """Whether a note names this table, view or namespace, or anything in it."""
    return any(is_in(name, one) for group in commit.groups for one in _names(group.note))


def is_in(name: str, one: str) -> bool:
    """Whether a name with dots between its levels is this one, or inside of it."""
    return one == name or one.startswith(f"{name}.")


def _names(note: object) -> Iterator[str]:
    """What a note is about, with dots between the levels."""
    match note:
        case {"do": "transaction", "changes": [*changes]}:
            for change in changes:
                yield from _names(change)
        case {"do": str(), "name": [*name], **more}:
            yield _dotted(name)
            to = more.get("to")
            if isinstance(to, list):
                yield _dotted(to)


def in_words(note: object) -> str:
    """What somebody noted of a commit: a sentence if it is one of ours, else JSON."""
    match note:
        case {"do": "transaction", "changes": [*changes], **more}:
            return f"in one transaction{_by(more)}: {'; '.join(map(in_words, changes))}"
        case {"do": str(do), "kind": str(kind), "name": [*name], **more}:
            to = more.get("to")
            target = f" to {_dotted(to)}" if isinstance(to, list) else ""
            return f"{kind} {_dotted(name)} was {DONE.get(do, do)}{target}{_by(more)}"
        case {"realm": str(realm), "state": str(state)}:
            return f"realm {realm} is {state}"
        case _:
            return to_json(note)


def _by(more: Mapping[object, object]) -> str:
    return f" by {more['by']}" if more.get("by") else ""


def _dotted(name: list[object]) -> str:
    """A path of names, or one with a name behind it, with dots between."""
    levels = [level for part in name for level in (part if isinstance(part, list) else [part])]
    return ".".join(map(str, levels))


def _key(commit: Commit, entry: Entry) -> dict[str, str]:
    """A key as text; one in the name index with what it names, and below whom."""
    key = entry.key
    if not _is_of_catalogs(commit) or len(key) < ID_BYTES:
        return {"key": key_text(key)}
    group = GROUPS.get(key[ID_BYTES : ID_BYTES + 1])
    if entry.index == NAMES and group is not None:
        parent = int.from_bytes(key[:ID_BYTES], "big")
        return {"key": key_text(key[ID_BYTES + 1 :]), "names": group, "parent": str(parent)}
    if entry.index in {PURGE, REPORTS}:
        ids = (key[at : at + ID_BYTES] for at in range(0, len(key), ID_BYTES))
        return {"key": "\0".join(str(int.from_bytes(id, "big")) for id in ids)}
    return {"key": key_text(key)}


def _shown(key: Mapping[str, str]) -> str:
    text = key["key"].replace("\0", "/")
    if "names" not in key:
        return text
    below = "" if key["parent"] == str(ROOT) else f" in {key['parent']}"
    return f"{key['names']} {text}{below}"


def _operation(commit: Commit, id: bytes) -> str:
    """The id of an operation: a UUID where clients of a catalog chose it."""
    if _is_of_catalogs(commit) and len(id) == UUID_BYTES:
        return str(UUID(bytes=id))
    return key_text(id)


def _is_of_catalogs(commit: Commit) -> bool:
    return commit.pointer == CATALOG_POINTER or commit.pointer.startswith(CATALOG_POINTERS)


def key_text(key: bytes) -> str:
    """A key as text; bytes that are no UTF-8 are written as escapes."""
    return key.decode("utf-8", errors="backslashreplace")
