"""How rows are told apart: Gravitino's partitioning as a spec of Iceberg and back."""

from collections.abc import Mapping, Sequence

from headgate.errors import BadRequest, Unsupported
from headgate.model import partitioning, transforms
from headgate.model.gravitino import paths
from headgate.model.gravitino.wire import FieldName, Partitioning, column
from headgate.model.json_values import Object

_SUFFIXES = {  # of the names that Iceberg gives to partitions
    "identity": "",
    "year": "_year",
    "month": "_month",
    "day": "_day",
    "hour": "_hour",
    "bucket": "_bucket",
    "truncate": "_trunc",
}


def to_spec(partitionings: Sequence[Partitioning], schema: Object) -> Object:
    """The partition spec of a new table."""
    return {"spec-id": 0, "fields": [_to_field(one, schema) for one in partitionings]}


def from_spec(spec: Object, names: Mapping[int, FieldName]) -> list[Partitioning]:
    """A spec in the words of Gravitino. What a column was partitioned by once is left out."""
    return [
        _from_field(field.transform, names[field.source_id])
        for field in partitioning.fields(spec)
        if field.transform != transforms.VOID and field.source_id in names
    ]


def _to_field(one: Partitioning, schema: Object) -> Object:
    strategy = one.strategy.lower()
    if strategy not in _SUFFIXES:
        raise Unsupported(
            f"Iceberg has no partitioning by {one.strategy[:80]}",
            fix=f"Use one of: {', '.join(_SUFFIXES)}",
        )
    name, transform = _source(one), strategy
    if strategy == "bucket":
        transform = f"bucket[{_positive(one.num_buckets, 'numBuckets')}]"
    elif strategy == "truncate":
        transform = f"truncate[{_positive(one.width, 'width')}]"
    source = paths.require(schema, name)
    return {
        "source-id": source.id,
        "name": ".".join(name) + _SUFFIXES[strategy],
        "transform": transform,
    }


def _source(one: Partitioning) -> FieldName:
    several = [one.field_name] if one.field_name is not None else one.field_names or []
    if len(several) != 1 or not several[0]:
        raise BadRequest(
            f"Invalid partitioning by {one.strategy[:80]}",
            why=f"Iceberg partitions by one column, and it names {len(several)}",
            fix="Name one column, or make one partitioning for each",
        )
    return several[0]


def _positive(number: int | None, member: str) -> int:
    if number is None or number < 1:
        raise BadRequest(
            "Invalid partitioning", why=f"its {member} is {number}", fix="Use a number above 0"
        )
    return number


def _from_field(transform: str, name: FieldName) -> Partitioning:
    kind = transforms.kind(transform)
    match kind:
        case "identity" | "year" | "month" | "day" | "hour":
            return Partitioning(strategy=kind, field_name=name)
        case "bucket":
            return Partitioning(
                strategy=kind, num_buckets=transforms.width(transform), field_names=[name]
            )
        case "truncate":
            return Partitioning(strategy=kind, width=transforms.width(transform), field_name=name)
        case _:  # of a later version
            return Partitioning(strategy="function", func_name=kind, func_args=[column(name)])
