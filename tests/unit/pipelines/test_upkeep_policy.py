"""Which upkeep a table gets, by what its catalog, its schemas and itself say."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import BadSetting
from headgate.pipelines.upkeep_policy import KEYS, PREFIX, Level, Policy, Step, policy_of

HOW_TO = Path(__file__).parents[3] / "docs" / "how-to" / "keep-tables-healthy.md"
TABLE, INNER, OUTER, CATALOG = "table a.b.t", "schema a.b", "schema a", "catalog main"
PLACES = (TABLE, INNER, OUTER, CATALOG)


def levels(**said: dict[str, str]) -> list[Level]:
    """All four places, the nearest first; properties are given without their prefix."""
    names = dict(zip(("table", "inner", "outer", "catalog"), PLACES, strict=True))
    return [
        Level(place, {PREFIX + key: text for key, text in said.get(name, {}).items()})
        for name, place in names.items()
    ]


def test_where_nobody_says_anything_the_defaults_hold() -> None:
    """A policy of no places is the column of defaults."""
    found = msgspec.structs.asdict(policy_of([]))

    assert {key.field: key.default for key in KEYS} == {
        name: value for name, value in found.items() if name != "places"
    }
    assert policy_of(levels()) == policy_of([])


@given(st.sets(st.sampled_from(range(4)), min_size=1))
def test_the_nearest_place_wins(speaking: set[int]) -> None:
    """Whichever places say something, the one nearest to the table is heard."""
    places = [
        Level(place, {f"{PREFIX}manifests.min-count": str(10 + at)} if at in speaking else {})
        for at, place in enumerate(PLACES)
    ]

    policy = policy_of(places)

    assert policy.manifests_min_count == 10 + min(speaking)
    assert policy.places == {f"{PREFIX}manifests.min-count": PLACES[min(speaking)]}


def test_each_property_is_inherited_by_itself() -> None:
    """A table that says one thing still hears its schemas and its catalog on all others."""
    policy = policy_of(
        levels(
            table={"compact.delete-files": "2"},
            outer={"compact.delete-files": "3", "compact.min-input-files": "7"},
            catalog={"expire.enabled": "false", "compact.min-input-files": "9"},
        )
    )

    assert (policy.compact_delete_files, policy.compact_min_input_files) == (2, 7)
    assert not policy.has(Step.EXPIRE)
    assert policy.has(Step.COMPACT)


def test_hands_off_holds_below_and_a_table_can_take_it_back() -> None:
    """What a schema switches off is off in its tables, but for those that switch it on."""
    assert not policy_of(levels(outer={"enabled": "false"})).enabled
    assert policy_of(levels(table={"enabled": "true"}, outer={"enabled": "false"})).enabled


def test_a_table_that_is_left_alone_may_say_nonsense() -> None:
    """Nobody reads further where a policy says hands off."""
    policy = policy_of(levels(table={"enabled": "false", "no.such": "1", "expire.enabled": "no"}))

    assert not policy.enabled


def test_properties_of_iceberg_hold_below_every_policy() -> None:
    """A table's own history.expire.* and write.* are defaults; a catalog's policy is above them."""
    own = {
        "write.target-file-size-bytes": "1000",
        "history.expire.max-snapshot-age-ms": "2000",
        "history.expire.min-snapshots-to-keep": "3",
    }
    table = Level(TABLE, own)
    catalog = Level(CATALOG, {f"{PREFIX}expire.min-snapshots-to-keep": "10"})

    policy = policy_of([table, catalog])

    assert policy.compact_target_file_size_bytes == 1000
    assert policy.small_file_bytes == 750
    assert policy.expire_max_snapshot_age_ms == 2000
    assert policy.expire_min_snapshots_to_keep == 10


def test_properties_of_iceberg_on_a_catalog_mean_nothing() -> None:
    """Iceberg knows its properties on tables only, and so does upkeep."""
    catalog = Level(CATALOG, {"write.target-file-size-bytes": "1000"})

    assert policy_of([Level(TABLE, {}), catalog]) == policy_of([])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("enabled", "maybe"),
        ("enabled", ""),
        ("compact.min-input-files", "1"),
        ("compact.min-input-files", "many"),
        ("compact.target-file-size-bytes", "512MB"),
        ("compact.target-file-size-bytes", "0"),
        ("compact.small-file-ratio", "1"),
        ("compact.small-file-ratio", "nan"),
        ("compact.delete-ratio", "0"),
        ("compact.delete-ratio", "1.01"),
        ("expire.max-snapshot-age-ms", "-1"),
        ("expire.max-snapshot-age-ms", "5 days"),
        ("manifests.min-count", "99999999999"),
    ],
)
def test_a_bad_value_is_refused_by_name_and_place(name: str, text: str) -> None:
    """The message says which property of which place it is, and what it must be."""
    key = next(key for key in KEYS if key.name == name)

    with pytest.raises(BadSetting) as caught:
        policy_of(levels(inner={name: text}))

    assert f"{PREFIX}{name} of {INNER} cannot be used" in str(caught.value)
    assert repr(text) in str(caught.value)
    assert key.expected in str(caught.value)


def test_a_bad_value_that_is_overridden_harms_nobody() -> None:
    """A table that says it right is not left alone for what its schema says."""
    policy = policy_of(
        levels(table={"manifests.min-count": "4"}, inner={"manifests.min-count": "x"})
    )

    assert policy.manifests_min_count == 4


def test_a_bad_property_of_iceberg_is_refused_by_its_own_name() -> None:
    """What is below the policies is named as the table names it."""
    with pytest.raises(BadSetting, match=r"write\.target-file-size-bytes of table a\.b\.t"):
        policy_of([Level(TABLE, {"write.target-file-size-bytes": "big"})])


def test_an_unknown_property_is_refused_with_the_nearest_known_one() -> None:
    """A typing mistake does not go unnoticed."""
    with pytest.raises(BadSetting) as caught:
        policy_of(levels(catalog={"compact.min-input-file": "5"}))

    assert f"of {CATALOG}" in str(caught.value)
    assert f"perhaps to {PREFIX}compact.min-input-files" in str(caught.value)


def test_columns_are_names_with_commas_in_between() -> None:
    """Blanks around names are no part of them."""
    assert policy_of(levels(table={"statistics.columns": " id, name ,"})).columns == ["id", "name"]
    assert policy_of([]).columns == []


def test_every_property_is_a_field_of_a_policy() -> None:
    """The table of properties and the policy are about the same things."""
    assert [key.field for key in KEYS] + ["places"] == list(Policy.__struct_fields__)
    assert {f"{step}.enabled" for step in Step} < {key.name for key in KEYS}


def test_the_how_to_has_the_same_table() -> None:
    """Every property is documented with its default, its unit and its meaning."""
    rows = [
        f"| `{key.written}` | {shown(key.default)} | {key.unit} | {key.help}"
        + (f" Without it, `{key.below}` of the table holds." if key.below else "")
        + " |"
        for key in KEYS
    ]

    page = HOW_TO.read_text("utf-8").splitlines()

    assert [line for line in page if line.startswith(f"| `{PREFIX}")] == rows


def shown(default: bool | float | str) -> str:
    text = str(default).lower() if isinstance(default, bool) else f"{default}"
    return f"`{text}`" if text else ""
