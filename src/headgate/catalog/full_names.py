"""Full names: how Gravitino's clients write which object they mean. Pure.

They are `catalog`, `catalog.schema` and `catalog.schema.table`; the levels of a nested schema are
joined by the separator: `catalog.A:B`. The protocol takes for granted that no name has a dot.
Names that Iceberg's clients gave may have some, and then `c.a.b.t` could be `t` in the schema
`a.b`, or `b.t` in the schema `a`. Whoever may create one of the two must not be able to draw to it
what was meant for the other: a right that is to be taken, or denied. So what a full name means
never depends on what exists:

- The first dot ends the catalog, whose name has none.
- All that follows is the schema, if the name is of one: `c.a.b` is the schema `a.b`.
- Below a schema there are two dots and no more. With more of them the name is refused.
- A name that cannot be written so is written with the unit separator (U+001F, in URLs `%1F`)
  between all its parts. Then neither dots nor the separator of schemas mean anything. No name
  contains that character.

What is written here is read as the same object here. Where dots are enough, there are dots.
"""

from typing import NamedTuple

from headgate.access.objects import IN_SCHEMA, ObjectType
from headgate.errors import IllegalObject
from headgate.limits import NAMESPACE_LEVELS_MAX
from headgate.model.names import Levels
from headgate.model.wire_names import UNIT_SEPARATOR


class FullName(NamedTuple):
    """The parts of a full name, as far as its kind has them."""

    catalog: str
    schema: Levels = ()
    """Its levels, or all of them in one text if they are not told apart yet."""
    name: str = ""
    is_split: bool = False
    """Whether the schema's levels are told apart."""

    def levels(self, separator: str) -> Levels:
        """The levels of the schema; the separator is empty where schemas are not nested."""
        if self.is_split or not separator:
            return self.schema
        return tuple(level for text in self.schema for level in text.split(separator))


def read_full_name(kind: ObjectType, text: str) -> FullName:
    """The parts of a full name of this kind: a catalog, a schema, or what lies in one."""
    is_split = UNIT_SEPARATOR in text
    least = 1 + (kind is not ObjectType.CATALOG) + bool(kind & IN_SCHEMA)
    most = NAMESPACE_LEVELS_MAX + least if is_split and least > 1 else least
    if is_split:
        parts = tuple(text.split(UNIT_SEPARATOR))
    else:
        parts = tuple(text.split(".", 1 if kind is ObjectType.SCHEMA else -1))
    if not all(parts) or not least <= len(parts) <= most:
        raise _unclear(kind, text)
    if kind & IN_SCHEMA:
        return FullName(parts[0], parts[1:-1], parts[-1], is_split)
    return FullName(parts[0], parts[1:], "", is_split)


def write_full_name(kind: ObjectType, names: Levels, separator: str) -> str:
    """The full name of what has these names, from the catalog down."""
    catalog, *below = names
    schema, leaf = (below[:-1], below[-1:]) if kind & IN_SCHEMA else (below, [])
    joined = [separator.join(schema)] if schema else []
    dotted = ".".join((catalog, *joined, *leaf))
    return dotted if _reads_as(kind, dotted, names, separator) else UNIT_SEPARATOR.join(names)


def _reads_as(kind: ObjectType, text: str, names: Levels, separator: str) -> bool:
    try:
        read = read_full_name(kind, text)
    except IllegalObject:
        return False
    leaf = (read.name,) if read.name else ()
    return (read.catalog, *read.levels(separator), *leaf) == names


def _unclear(kind: ObjectType, text: str) -> IllegalObject:
    word = str(kind.name).lower()
    form = "catalog" if kind is ObjectType.CATALOG else "catalog.schema"
    if kind & IN_SCHEMA:
        form = f"catalog.schema.{word}"
    return IllegalObject(
        f"Invalid full name of a {word}: {text[:200]}",
        why=f"it does not have the form {form}",
        fix="Where a name itself has dots, put the character U+001F between all names instead",
    )
