"""Every file that tables, views and purges lead to, found by executors: first what leads to
manifests, then what is in these.

What is kept of each file is a number of 64 bits. Two files of one number are so rare that nobody
will see it, and then an orphan is overlooked, which does no harm.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headgate.errors import FileMissing, Forbidden, HeadgateError, InvalidInput
from headgate.pipelines.bounds import (
    ORPHANS_BROADCAST_FILES_MAX,
    ORPHANS_FEW_SUBJECTS,
    ORPHANS_MANIFESTS_PER_TASK,
)
from headgate.pipelines.orphans_keys import Keys
from headgate.pipelines.orphans_subjects import (
    AnyStore,
    State,
    States,
    Subject,
    Walker,
    unread,
)
from headgate.pipelines.rows import Rows, tasks_for
from headgate.pipelines.zips import forget_zips
from headgate.planning.avro_columns import columns
from headgate.planning.files import open_files, read_ahead
from headgate.planning.reachable import FILE_PATH

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headgate.pipelines.server import Server
    from headgate.storage.options import StorageOptions

    Batches = Iterable[pa.RecordBatch]
    Walking = Callable[[Batches], Iterator[pa.RecordBatch]]
    Walked = tuple[DataFrame, list[tuple[int, str]]]
    """What subjects lead to, in the form of `WALKED`; and their states by their numbers."""

STATUS, DELETED = 0, 2  # the field of a manifest's entry that says so, and what it says
SUBJECTS = "number int, subject string"
WALKED = "number int, key string, path string, length long, state string"
"""A file by its key; or a manifest that is to be read; or what a subject is."""
READ = "number int, key string, why string"
"""A file by its key; or why a manifest could not be read."""


class References(NamedTuple):
    """What subjects refer to."""

    hashes: DataFrame
    """Of all files: one column, `hash`."""
    files: int
    """About how many they are."""
    states: States
    """Those that went meanwhile have none."""
    frames: tuple[DataFrame, ...]
    """That are kept until they are let go."""

    def to_compare(self) -> DataFrame:
        """The hashes, for a join: each task gets all of them if they are few enough, so that what
        they are compared with stays where it is."""
        from pyspark.sql.functions import broadcast

        return broadcast(self.hashes) if self.files <= ORPHANS_BROADCAST_FILES_MAX else self.hashes

    def let_go(self) -> None:
        """Nobody needs them any more."""
        for frame in self.frames:
            frame.unpersist()


def find_references(
    spark: SparkSession, server: Server, options: StorageOptions, subjects: Sequence[Subject]
) -> References:
    """What these refer to now, and what they are."""
    from pyspark.sql.functions import xxhash64

    files = pickle.dumps(AnyStore(options))
    walking = _walk_here if len(subjects) <= ORPHANS_FEW_SUBJECTS else _walk_there
    walked, texts = walking(spark, _table(subjects), partial(walk, server, files))
    states = {number: msgspec.json.decode(text, type=State) for number, text in texts}
    hashes = walked.where("key is not null").select(xxhash64("key").alias("hash"))
    frames = [walked]
    manifests = sum(one.manifests for one in states.values())
    if manifests:
        parts = tasks_for(spark, -(-manifests // ORPHANS_MANIFESTS_PER_TASK))
        wanted = walked.where("path is not null").select("number", "path", "length")
        read = wanted.repartition(parts).mapInArrow(lambda some: read_manifests(files, some), READ)
        found = read.select("number", xxhash64("key").alias("hash"), "why").persist()
        for row in found.where("why is not null").collect():
            states[row.number] = states[row.number].doubted(row.why)
        hashes = hashes.union(found.where("why is null").select("hash"))
        frames.append(found)
    named = {subjects[number].identity: state for number, state in states.items()}
    return References(hashes, sum(one.files for one in states.values()), named, tuple(frames))


def _walk_here(spark: SparkSession, asked: pa.Table, walk: Walking) -> Walked:
    """A few subjects are walked over sooner than Spark begins to."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = {"number": "int32", "length": "int64"}
    names = ("number", "key", "path", "length", "state")
    form = pa.schema([(name, pa.type_for_alias(types.get(name, "string"))) for name in names])
    table = pa.Table.from_batches(walk(asked.to_batches()), form)
    told = table.filter(pc.is_valid(table["state"]))
    texts = zip(told["number"].to_pylist(), told["state"].to_pylist(), strict=True)
    return spark.createDataFrame(table, WALKED), list(texts)


def _walk_there(spark: SparkSession, asked: pa.Table, walk: Walking) -> Walked:
    spread = spark.createDataFrame(asked, SUBJECTS).repartition(tasks_for(spark, asked.num_rows))
    walked = spread.mapInArrow(walk, WALKED).persist()
    rows = walked.where("state is not null").select("number", "state").collect()
    return walked, [(row.number, row.state) for row in rows]


def walk(server: Server, files: bytes, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From subjects to what they lead to. Runs on executors."""
    forget_zips()
    walker, keys = Walker(server, open_files(files)), Keys()
    rows = Rows(number="int32", key="string", path="string", length="int64", state="string")
    for batch in batches:
        for number, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            for told in walker.walk(msgspec.json.decode(text, type=Subject)):
                if isinstance(told, State):
                    state = msgspec.json.encode(told).decode()
                    yield from rows.add(1, number=[number], state=[state])
                    continue
                many, numbers = len(told.paths), [number] * len(told.paths)
                yield from rows.add(many, number=numbers, key=keys.of_all(told.paths))
                if told.lengths:
                    yield from rows.add(many, number=numbers, path=told.paths, length=told.lengths)
    yield from rows.rest()


def read_manifests(files: bytes, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From manifests to the files that they name. Runs on executors."""
    forget_zips()
    opened, keys, in_doubt = open_files(files), Keys(), set[int]()
    rows = Rows(number="int32", key="string", why="string")
    for batch in batches:
        numbers, paths, lengths = (column.to_pylist() for column in batch.columns)
        for number, manifest, read in zip(
            numbers, map(Manifest, paths, lengths), read_ahead(opened, paths), strict=True
        ):
            try:
                for some in files_in(manifest, read):
                    many = len(some)
                    yield from rows.add(many, number=[number] * many, key=keys.of_all(some))
            except UnreadError as error:
                if number not in in_doubt:  # one reason will do
                    in_doubt.add(number)
                    yield from rows.add(1, number=[number], why=[str(error)])
    yield from rows.rest()


class Manifest(NamedTuple):
    """A manifest that is to be read."""

    path: str
    length: int


class UnreadError(Exception):
    """A manifest cannot be read, so what it leads to is not known."""


def files_in(manifest: Manifest, read: Callable[[], bytes]) -> Iterator[list[str]]:
    """The files that a manifest names, some at a time; those that it says are deleted are not."""
    try:
        data = read()
        if len(data) < manifest.length:  # cut between blocks, which nothing in it tells
            raise ValueError(f"{len(data)} bytes of {manifest.length} are there")
        for paths, statuses in columns(data, FILE_PATH, STATUS):
            yield [path for path, status in zip(paths, statuses, strict=True) if status != DELETED]
    except (FileMissing, Forbidden, InvalidInput) as error:
        is_missing = isinstance(error, FileMissing) and not error.why
        why = "" if is_missing else error.why or error.what
        raise UnreadError(unread(manifest.path, why)) from error
    except HeadgateError:
        raise
    except Exception as error:  # whatever a decoder makes of rubbish
        why = f"{type(error).__name__}: {error}"
        raise UnreadError(unread(manifest.path, why)) from error


def _table(subjects: Sequence[Subject]) -> pa.Table:
    import pyarrow as pa

    texts = [msgspec.json.encode(one).decode() for one in subjects]
    numbers = pa.array(range(len(subjects)), pa.int32())
    return pa.table({"number": numbers, "subject": pa.array(texts, pa.string())})
