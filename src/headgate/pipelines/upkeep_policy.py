"""Which upkeep a table gets: properties `headgate.upkeep.*` of its catalog, schemas and itself.

The nearest place that says something wins, for each property by itself. Below them all are the
table's own properties of Iceberg that mean the same, then the defaults.
"""

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import msgspec

from headgate.errors import BadSetting

PREFIX = "headgate.upkeep."
VALUE_CHARS_MAX = 80  # of a value that a message shows

Count = Annotated[int, msgspec.Meta(ge=1, le=2**31 - 1)]
Inputs = Annotated[int, msgspec.Meta(ge=2, le=2**31 - 1)]
Amount = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Share = Annotated[float, msgspec.Meta(gt=0, le=1)]
Part = Annotated[float, msgspec.Meta(gt=0, lt=1)]

_EXPECTED: dict[Any, str] = {
    bool: "true or false",
    str: "names, joined by commas",
    Count: "a whole number of at least 1",
    Inputs: "a whole number of at least 2",
    Amount: "a whole number of at least 1",
    Share: "a number above 0, at most 1",
    Part: "a number above 0 and below 1",
}


class Step(StrEnum):
    """What upkeep does, in this order."""

    COMPACT = "compact"
    EXPIRE = "expire"
    MANIFESTS = "manifests"
    STATISTICS = "statistics"


class Key(NamedTuple):
    """One row of the table of properties."""

    name: str
    type: Any
    default: bool | int | float | str
    unit: str
    help: str
    below: str = ""
    """The property of Iceberg that holds where no policy says anything."""

    @property
    def written(self) -> str:
        """As it is written on a catalog, a schema or a table."""
        return PREFIX + self.name

    @property
    def field(self) -> str:
        """Its name in a `Policy`."""
        return self.name.replace(".", "_").replace("-", "_")

    @property
    def expected(self) -> str:
        """What a value looks like."""
        return _EXPECTED[self.type]


KEYS = (
    Key("enabled", bool, True, "", "Whether anything is done at all; `false` means hands off."),
    Key("compact.enabled", bool, True, "", "Whether small files and deleted rows are rewritten."),
    Key(
        "compact.sort",
        bool,
        True,
        "",
        "Whether rows are sorted when they are rewritten, in tables that have a sort order.",
    ),
    Key(
        "compact.target-file-size-bytes",
        Amount,
        512 << 20,
        "bytes",
        "How large data files should be.",
        "write.target-file-size-bytes",
    ),
    Key(
        "compact.small-file-ratio",
        Part,
        0.75,
        "of the target size",
        "A data file below this share of the target size is small.",
    ),
    Key(
        "compact.min-input-files",
        Inputs,
        5,
        "files",
        "How many small files of one partition make it worth to merge them; "
        "the same for delete files that have become superfluous.",
    ),
    Key(
        "compact.delete-files",
        Count,
        5,
        "files",
        "How many delete files one data file may collect before it is rewritten without them.",
    ),
    Key(
        "compact.delete-ratio",
        Share,
        0.3,
        "of its rows",
        "Which share of the rows of one data file may be deleted before it is rewritten.",
    ),
    Key(
        "compact.partial-progress-bytes",
        Amount,
        10 << 30,
        "bytes",
        "From which size on a compaction is committed in up to ten parts, "
        "so that one that is stopped is not lost as a whole.",
    ),
    Key("expire.enabled", bool, True, "", "Whether old snapshots are expired."),
    Key(
        "expire.max-snapshot-age-ms",
        Amount,
        5 * 24 * 3_600_000,
        "ms",
        "How old a snapshot becomes. Branches and tags may say otherwise for themselves.",
        "history.expire.max-snapshot-age-ms",
    ),
    Key(
        "expire.min-snapshots-to-keep",
        Count,
        1,
        "snapshots",
        "How many snapshots of a branch stay, however old they are.",
        "history.expire.min-snapshots-to-keep",
    ),
    Key("manifests.enabled", bool, True, "", "Whether many small manifests are merged."),
    Key(
        "manifests.min-count",
        Inputs,
        50,
        "manifests",
        "How many manifests make it worth to merge them.",
    ),
    Key(
        "statistics.enabled",
        bool,
        False,
        "",
        "Whether numbers of distinct values are kept up to date. Each time reads the whole table.",
    ),
    Key(
        "statistics.changed-ratio",
        Share,
        0.1,
        "of the table's rows",
        "After how many changed rows statistics are stale.",
    ),
    Key(
        "statistics.columns", str, "", "", "Of which columns there are statistics; empty means all."
    ),
)
"""Every property of upkeep. The how-to has the same table."""

ENABLED = KEYS[0]
_PROPERTIES = [key.written for key in KEYS]


class Level(NamedTuple):
    """A table, a schema or a catalog, and its properties."""

    place: str
    """As messages name it: `table shop.orders`."""
    properties: Mapping[str, str]


class _Said(NamedTuple):
    """What decides on a property: the place, the name that is used there, and the value."""

    place: str
    name: str
    text: str


class Policy(msgspec.Struct, frozen=True):
    """What holds for one table, by the names of `KEYS`."""

    enabled: bool
    compact_enabled: bool
    compact_sort: bool
    compact_target_file_size_bytes: int
    compact_small_file_ratio: float
    compact_min_input_files: int
    compact_delete_files: int
    compact_delete_ratio: float
    compact_partial_progress_bytes: int
    expire_enabled: bool
    expire_max_snapshot_age_ms: int
    expire_min_snapshots_to_keep: int
    manifests_enabled: bool
    manifests_min_count: int
    statistics_enabled: bool
    statistics_changed_ratio: float
    statistics_columns: str
    places: dict[str, str] = {}
    """Which place said so, for each property that some place says."""

    def has(self, step: Step) -> bool:
        """Whether a step is switched on."""
        return bool(getattr(self, f"{step}_enabled"))

    @property
    def small_file_bytes(self) -> int:
        """A data file that has fewer bytes is small."""
        return int(self.compact_target_file_size_bytes * self.compact_small_file_ratio)

    @property
    def columns(self) -> list[str]:
        """The columns that statistics are wanted of; none means all."""
        return [name.strip() for name in self.statistics_columns.split(",") if name.strip()]


def policy_of(levels: Sequence[Level]) -> Policy:
    """What these places say together; the nearest comes first, a table's own.

    A table that is left alone is not asked for sense in the rest of what it says.
    """
    said = {key: found for key in KEYS if (found := _said(key, levels))}
    if ENABLED in said and not _parsed(ENABLED, said[ENABLED]):
        said = {ENABLED: said[ENABLED]}
    else:
        for level in levels:
            _check_names(level)
    values = {key.field: key.default for key in KEYS}
    values |= {key.field: _parsed(key, found) for key, found in said.items()}
    places = {key.written: found.place for key, found in said.items()}
    return msgspec.convert({**values, "places": places}, Policy)


def _said(key: Key, levels: Sequence[Level]) -> _Said | None:
    for place, properties in levels:
        if key.written in properties:
            return _Said(place, key.written, properties[key.written])
    if key.below and levels and key.below in levels[0].properties:
        return _Said(levels[0].place, key.below, levels[0].properties[key.below])
    return None


def _parsed(key: Key, said: _Said) -> Any:  # noqa: ANN401  of the key's type
    try:
        return msgspec.convert(said.text.strip(), key.type, strict=False)
    except msgspec.ValidationError:
        raise BadSetting(
            f"{said.name} of {said.place} cannot be used",
            why=f"it is {said.text[:VALUE_CHARS_MAX]!r}, and must be {key.expected}",
            fix="Correct it or remove it",
        ) from None


def _check_names(level: Level) -> None:
    for name in level.properties:
        if name.startswith(PREFIX) and name not in _PROPERTIES:
            near = get_close_matches(name, _PROPERTIES, n=1, cutoff=0)[0]
            raise BadSetting(
                f"{name[:VALUE_CHARS_MAX]} of {level.place} cannot be used",
                why="there is no such property",
                fix=f"Correct it (perhaps to {near}) or remove it",
            )
