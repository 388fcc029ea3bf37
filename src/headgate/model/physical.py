"""Names in stores: as one text with dots, and as segments of a storage path."""

import hashlib
import re

from headgate.limits import DIRECTORY_CHARS_MAX, PATH_SEGMENT_CHARS_MAX
from headgate.model.names import Levels

_DIGEST_CHARS = 16

_ESCAPED_IN_PHYSICAL = re.compile(r"[.%/\x00-\x1f\x7f-\x9f]")
_ESCAPED_IN_SEGMENT = re.compile(rb"[^A-Za-z0-9_-]")
_ESCAPE = re.compile("=([0-9A-F]{2})")
_SHORTENED = re.compile(f"=-[0-9a-f]{{{_DIGEST_CHARS}}}$")
_OWN = "=n"  # no name is written so
_PART_OF_ESCAPE = re.compile("=[0-9A-F]?$")


def physical_name(levels: Levels) -> str:
    """A namespace as one text: `("my.schema", "sales")` is `my%2Eschema.sales`.

    No two namespaces are written alike.
    """
    return ".".join(_physical_segment(level) for level in levels)


def path_segment(name: str) -> str:
    """A name as one segment of a storage path: `my schema` is `my=20schema`.

    `=` passes unchanged through file systems, object stores, Hadoop and URIs; `%` does not.
    """
    return _shortened(_escaped(name), PATH_SEGMENT_CHARS_MAX)


def location_in(folder: str, name: str, unique: str) -> str:
    """Where a table or view lies in the folder of its namespace if its creator does not say.
    `unique` keeps it apart from earlier ones of the same name, whose files may still be there."""
    return f"{folder.rstrip('/')}/{path_segment(name)}-{unique}"


def default_folder(warehouse: str, levels: Levels) -> str:
    """Where the tables and views of a namespace lie if nobody says."""
    directory = _shortened("/".join(map(path_segment, levels)), DIRECTORY_CHARS_MAX)
    return f"{warehouse.rstrip('/')}/{directory}"


def own_folder(warehouse: str, id: int) -> str:
    """Where they lie if a table or view has the default folder: no other namespace has this one."""
    return f"{warehouse.rstrip('/')}/{_OWN}{id:x}"


def is_kept_segment(segment: str) -> bool:
    """Whether only folders of namespaces are called so: shortened names, and `own_folder`."""
    return segment.startswith(_OWN) or is_shortened(segment)


def is_shortened(segment: str) -> bool:
    """Whether this is how a long name ends in a path."""
    return _SHORTENED.search(segment) is not None


def segment_name(segment: str) -> str | None:
    """The name that `path_segment` writes so; None if it writes none so, or shortens it."""
    raw = _ESCAPE.sub(lambda found: chr(int(found[1], 16)), segment)
    try:
        name = raw.encode("latin-1").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return None
    return name if path_segment(name) == segment else None


def _physical_segment(level: str) -> str:
    # The empty name, which catalogs refuse, would be taken for no level at all.
    return _ESCAPED_IN_PHYSICAL.sub(_percent, level) or "%"


def _percent(found: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in found[0].encode())


def _escaped(name: str) -> str:
    raw = name.encode("utf-8", "surrogatepass")
    return _ESCAPED_IN_SEGMENT.sub(lambda found: b"=%02X" % found[0][0], raw).decode() or "="


def _shortened(text: str, chars_max: int) -> str:
    """Long text ends in `=-` and a digest instead; nothing else contains `=-`."""
    if len(text) <= chars_max:
        return text
    kept = _PART_OF_ESCAPE.sub("", text[: chars_max - _DIGEST_CHARS - 2])
    return f"{kept}=-{hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]}"
