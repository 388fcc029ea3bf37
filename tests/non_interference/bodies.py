"""Request bodies, made from their types: whatever can carry a name or a path names the victim's."""

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

VARIANTS_MAX = 40
DEPTH_MAX = 6
"""Types refer to themselves."""


def bodies(shape: Any, values: dict[str, Any]) -> Iterator[Any]:
    """Bodies of this type: each member of a union occurs in one of them."""
    makers = _Bodies(values)
    for variant in range(VARIANTS_MAX):
        makers.variant, makers.variants = variant, 1
        yield makers.make(inspect.type_info(shape), "", 0)
        if variant + 1 >= makers.variants:
            return


class _Bodies:
    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values
        self.variant = 0
        self.variants = 1

    def make(self, kind: inspect.Type, name: str, depth: int) -> Any:
        """A value of this type, for a field of this name."""
        known = self._values.get(name)
        if known is not None and _fits(kind, known):
            return known
        match kind:
            case inspect.StructType():
                return self._struct(kind, depth)
            case inspect.UnionType(types=types):
                some = [one for one in types if not isinstance(one, inspect.NoneType)]
                self.variants = max(self.variants, len(some))
                return self.make(some[self.variant % len(some)], name, depth)
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                return [self.make(item, name, depth + 1)] if depth < DEPTH_MAX else []
            case inspect.DictType(value_type=value):
                return {"location": self.make(value, "location", depth + 1)}
            case inspect.Metadata(type=inner):
                return self.make(inner, name, depth)
        return self._plain(kind)

    def _struct(self, kind: inspect.StructType, depth: int) -> Any:
        made = {
            field.encode_name: self.make(field.type, field.encode_name, depth + 1)
            for field in kind.fields
            if depth < DEPTH_MAX or field.required
        }
        if kind.array_like:
            return list(made.values())
        return made if kind.tag_field is None else {kind.tag_field: kind.tag, **made}

    def _plain(self, kind: inspect.Type) -> Any:
        match kind:
            case inspect.LiteralType(values=values) | inspect.EnumType(cls=values):
                one = list(values)[self.variant % len(list(values))]
                return getattr(one, "value", one)
            case inspect.BoolType():
                return True
            case inspect.IntType() | inspect.FloatType():
                return 1
            case inspect.StrType() | inspect.BytesType():
                return self._values["name"]
        return {}


def _fits(kind: inspect.Type, value: Any) -> bool:
    """Whether a value may stand for this type, as far as that is plain to see."""
    kinds = kind.types if isinstance(kind, inspect.UnionType) else (kind,)
    if isinstance(value, list):
        return any(isinstance(one, inspect.ListType | inspect.VarTupleType) for one in kinds)
    if isinstance(value, dict):
        return any(isinstance(one, inspect.DictType | inspect.AnyType) for one in kinds)
    return any(isinstance(one, inspect.StrType | inspect.AnyType) for one in kinds)
