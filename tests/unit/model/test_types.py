"""Primitive types, and the transforms that fit them."""

from typing import Any

import pytest

from headgate.errors import BadMetadata
from headgate.model import default_values, transforms, types
from headgate.model.schemas import Column

PLAIN = [
    "boolean", "int", "long", "float", "double", "date", "time", "timestamp", "timestamptz",
    "string", "uuid", "binary",
]  # fmt: skip
NEW = ["timestamp_ns", "timestamptz_ns", "unknown", "variant"]


def column(type: str) -> Column:
    return Column(1, "c", type, False, None, None, None)


@pytest.mark.parametrize("type", [*PLAIN, *NEW])
def test_a_type_without_parameters_is_its_own_kind(type: str) -> None:
    """In any case of letters."""
    assert types.kind(type.upper()) == type
    assert types.since_version(type) == (3 if type in NEW else 1)


@pytest.mark.parametrize(
    ("type", "kind", "canonical"),
    [
        ("decimal(38,38)", "decimal", "decimal(38,38)"),
        ("Decimal( 9 , 2 )", "decimal", "decimal(9,2)"),
        ("fixed[16]", "fixed", "fixed[16]"),
        ("fixed[ 16 ]", "fixed", "fixed[16]"),
        ("geometry", "geometry", "geometry(OGC:CRS84)"),
        ("Geometry(srid:4326)", "geometry", "geometry(SRID:4326)"),
        ("geography", "geography", "geography(OGC:CRS84,spherical)"),
        ("geography(x)", "geography", "geography(X,spherical)"),
        ("geography(x, KARNEY)", "geography", "geography(X,karney)"),
    ],
)
def test_parameters_do_not_change_the_kind(type: str, kind: str, canonical: str) -> None:
    """There is one spelling for each type."""
    assert types.kind(type) == kind
    assert types.canonical(type) == canonical


@pytest.mark.parametrize(
    "type",
    [
        "", "integer", "decimal", "decimal(39,2)", "decimal(2,3)", "decimal(a,b)", "fixed",
        "fixed[]", "geometry()", "geography()", "geography(x,flat)", "list", "timestamp(6)",
    ],
)  # fmt: skip
def test_what_is_no_type_is_refused(type: str) -> None:
    """And named."""
    with pytest.raises(BadMetadata, match="type"):
        types.kind(type)


DAY, NOON = "2024-02-29", "12:00:00.123456"


@pytest.mark.parametrize(
    ("type", "fitting", "others"),
    [
        ("boolean", [True], [1, "true"]),
        ("int", [1, -(2**31)], [True, 1.5, "1", 2**31]),
        ("long", [2**31, -(2**63)], [2**63]),
        ("double", [1.5], [1, True, "1"]),
        ("string", ["x", ""], [1]),
        ("date", [DAY], [18262, "2023-02-29", "2024-2-9", f"{DAY} "]),
        ("time", [NOON, "23:59"], ["24:00:00", "x", f"{NOON}Z"]),
        ("timestamp", [f"{DAY}T{NOON}"], [f"{DAY} {NOON}", f"2023-02-29T{NOON}", f"{DAY}T{NOON}Z"]),
        ("timestamptz", [f"{DAY}T{NOON}+00:00", f"{DAY}T12:00Z"], [f"{DAY}T{NOON}", DAY]),
        ("timestamp_ns", [f"{DAY}T{NOON}789"], [f"{DAY}T{NOON}7890"]),
        ("uuid", ["9c12d441-03fe-4693-9a96-a0705ddf69c1"], ["9c12d44103fe46939a96a0705ddf69c1"]),
        ("decimal(9,2)", ["1.20", "-0.00", "120E-2"], [1.2, "1.2", "NaN", "x", "1.200"]),
        ("fixed[2]", ["00fF"], [1, "00", "00f", "00fg"]),
        ("binary", ["", "00ff"], ["0", "xx"]),
        ("unknown", [], [1]),
        ("variant", [], ["x", {}]),
        ("geometry", [], ["x"]),
    ],
)
def test_a_default_is_of_the_type(type: str, fitting: list[Any], others: list[Any]) -> None:
    """As readers parse single values in JSON; null fits every type."""
    assert all(default_values.fits(value, type) for value in [None, *fitting])
    assert not any(default_values.fits(value, type) for value in others)


TIMES = {"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns"}
EVERY = {*PLAIN, *NEW, "decimal(9,2)", "fixed[3]", "geometry", "geography"}
CUT = {"int", "long", "string", "binary", "decimal(9,2)"}


@pytest.mark.parametrize(
    ("transform", "fitting"),
    [
        ("identity", EVERY - {"variant", "geometry", "geography"}),
        ("year", TIMES | {"date"}),
        ("month", TIMES | {"date"}),
        ("day", TIMES | {"date"}),
        ("hour", TIMES),
        ("truncate[3]", CUT),
        ("bucket[16]", CUT | TIMES | {"date", "time", "uuid", "fixed[3]"}),
        ("of-the-future", EVERY),
    ],
)
def test_a_transform_fits_some_types(transform: str, fitting: set[str]) -> None:
    """What is not known yet is taken to fit all."""
    for type in EVERY:
        if type in fitting:
            transforms.check(transform, column(type))
        else:
            with pytest.raises(BadMetadata, match="Invalid source type"):
                transforms.check(transform, column(type))


@pytest.mark.parametrize("transform", ["bucket[0]", "truncate[0]", "bucket[2147483648]"])
def test_a_width_is_a_positive_number(transform: str) -> None:
    """That fits into 32 bits."""
    with pytest.raises(BadMetadata, match="widths are 1 to"):
        transforms.check(transform, column("int"))


def test_transforms_have_one_spelling() -> None:
    """Those of later versions stay as they are."""
    assert transforms.canonical("Bucket[7]") == "bucket[7]"
    assert transforms.canonical("VOID") == "void"
    assert transforms.canonical("Zorder(1)") == "Zorder(1)"
