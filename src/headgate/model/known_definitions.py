"""What one commit has read of a table's definitions so far, so that each is read once.

Without it, each update that adds a definition would read all that are there: a commit of thousands
would take time by the square of their number.
"""

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from headgate.model.definitions import Definition, Definitions
from headgate.model.json_values import Object
from headgate.model.partitioning import FieldIds, PartitionField, fields

S = TypeVar("S", bound=Hashable)


class KnownDefinitions(Generic[S]):
    """The schemas, specs or orders of a table by their shape: what equal ones have in common."""

    def __init__(self, shape: Callable[[Object], S]) -> None:
        self._shape = shape
        self._shapes: dict[bytes, S] = {}  # by their JSON
        self._definitions: Definitions = ()
        self._by_shape: dict[S, Definition] = {}
        self._next_id: int | None = None

    def equal(self, definitions: Definitions, shape: S) -> Definition | None:
        """The first of these definitions that has this shape."""
        self._follow(definitions)
        return self._by_shape.get(shape)

    def next_id(self, definitions: Definitions, first: int) -> int:
        """The number after all of theirs."""
        self._follow(definitions)
        return first if self._next_id is None else self._next_id

    def shape(self, definition: Definition) -> S:
        """The shape of a definition, worked out once."""
        found = self._shapes.get(definition.json)
        if found is None:
            found = self._shapes[definition.json] = self._shape(definition.value)
        return found

    def _follow(self, definitions: Definitions) -> None:
        """Learn what was added behind those that are known; begin anew if others are gone."""
        if definitions is self._definitions:
            return
        known = len(self._definitions)
        if definitions[:known] != self._definitions:
            known = 0
            self._by_shape, self._next_id = {}, None
        for each in definitions[known:]:
            self._by_shape.setdefault(self.shape(each), each)
            after = each.id + 1
            self._next_id = after if self._next_id is None else max(self._next_id, after)
        self._definitions = definitions


class KnownFieldIds:
    """The ids of partition fields by what they are: the same field has one id in all specs."""

    def __init__(self) -> None:
        self._fields: dict[bytes, list[PartitionField]] = {}  # by the JSON of their spec
        self._specs: Definitions = ()
        self._ids: FieldIds = {}

    def of(self, specs: Definitions) -> FieldIds:
        """The ids of all fields of these specs; of the last one if a field has several."""
        known = len(self._specs)
        if specs[:known] != self._specs:
            known, self._ids = 0, {}
        for each in specs[known:]:
            found = self._fields.get(each.json)
            if found is None:
                found = self._fields[each.json] = fields(each.value)
            self._ids |= {field.key: field.id for field in found}
        self._specs = specs
        return self._ids
