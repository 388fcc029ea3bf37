"""Files that lie in the places of a catalog and that nothing refers to: found, and deleted if that
is wanted.

A listing by executors meets everything that tables, views and purges lead to. What is left, is old
enough, and no table of another catalog needs, are orphans. Whatever is in doubt is none.
"""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headgate.clock import Clock, SystemClock
from headgate.errors import BadSetting
from headgate.limits import ORPHANS_AGE_MS_MIN
from headgate.model.locations import overlaps, scheme_of
from headgate.pipelines.bounds import (
    ORPHANS_AGE_MS,
    ORPHANS_AGE_MS_MAX,
    ORPHANS_CHECKED_AT_ONCE,
    ORPHANS_COLLECTED_BYTES_MAX,
)
from headgate.pipelines.orphans_account import Account, NotDeleted, PlaceSum
from headgate.pipelines.orphans_checking import Checking, Seen
from headgate.pipelines.orphans_elsewhere import Elsewhere
from headgate.pipelines.orphans_finding import PACKED, Terms, find
from headgate.pipelines.orphans_listing import list_files
from headgate.pipelines.orphans_places import Owner, Places
from headgate.pipelines.orphans_references import References, find_references
from headgate.pipelines.orphans_removal import remove, with_outcomes
from headgate.pipelines.orphans_report import check_report, report_file
from headgate.pipelines.orphans_spool import Spool, spool
from headgate.pipelines.orphans_survey import (
    check_rights,
    doubt_of,
    other_catalogs,
    owners_of,
    places_to_list,
    subjects_of,
)
from headgate.pipelines.session import SparkOptions, spark_session
from headgate.pipelines.storage import storage_options, worker_files
from headgate.storage.files import StorageFiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from headgate.pipelines.reporting import Report
    from headgate.pipelines.server import CatalogInfo, Server

AGE = re.compile(r"(\d{1,6})([mhdw])")
AGE_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


class OrphansOptions(msgspec.Struct, frozen=True):
    """Which orphans, and what is to be done with them."""

    catalog: str
    below: tuple[str, ...] = ()
    """Only in these places; empty: in all that the catalog has."""
    older_than_ms: int = ORPHANS_AGE_MS
    delete: bool = False
    report: str = ""
    """A file for the table of orphans."""
    storage: dict[str, str] = {}
    """How files are reached."""


class LeftOut(msgspec.Struct, frozen=True):
    """A place among those that were listed, or around them, in which nothing is called an
    orphan."""

    place: str
    table: str
    """Empty for what lies there and in the place of no table."""
    why: str


class Spared(NamedTuple):
    """How many files are no orphans, though nobody refers to them as far as is known."""

    young: int
    kept: int


class OrphansSummary(msgspec.Struct, frozen=True):
    """What came of it."""

    catalog: str
    is_dry_run: bool
    before_ms: int
    """What was written later is no orphan."""
    places: list[str]
    """That were listed."""
    orphans: int
    bytes: int
    deleted: int
    missing: int
    """That somebody else deleted meanwhile."""
    failed: int
    """That are still there."""
    young: int
    """Files that nobody refers to, and that are no orphans because they were written later."""
    kept: int
    """The same, because they lie in places that are left out."""
    needed_elsewhere: int
    """Files that only tables of other catalogs refer to."""
    report: str
    by_place: list[PlaceSum]
    left_out: list[LeftOut]
    failures: list[NotDeleted]
    """The first of those that failed."""


def age_ms(text: str) -> int:
    """An age as people write it: 36h, 3d."""
    found = AGE.fullmatch(text)
    ms = int(found[1]) * AGE_MS[found[2]] if found else None
    if ms is None or ms > ORPHANS_AGE_MS_MAX:
        raise BadSetting(
            f"--older-than {text[:80]!r} cannot be used",
            why="it is no age" if ms is None else "nobody has files that are so old",
            fix="Write a number and a unit: 36h, 3d, 2w",
        )
    return ms


def check_age(ms: int) -> None:
    """Refuse an age at which files may still be written for a commit that is under way."""
    if ms < ORPHANS_AGE_MS_MIN:
        raise BadSetting(
            "files are too young to be called orphans",
            why="whoever writes to a table needs its files until the commit, which may be hours "
            "later",
            fix=f"Give --older-than {ORPHANS_AGE_MS_MIN // AGE_MS['h']}h or more",
        )


def run(
    options: OrphansOptions,
    server: Server,
    spark: SparkOptions,
    report: Report,
    clock: Clock | None = None,
) -> OrphansSummary:
    """Find the orphans of a catalog. It may be killed and run again."""
    check_age(options.older_than_ms)
    if options.report:
        check_report(options.report)
    check_rights(server, options.catalog)
    catalog = server.catalog(options.catalog)
    _check_storage(catalog, options)
    before_ms = (clock or SystemClock()).wall_ms() - options.older_than_ms
    with spark_session(spark, "orphans", report=report) as session:
        return _Search(options, server, session, report).run(catalog, before_ms)


class _Search:
    """One run."""

    def __init__(
        self, options: OrphansOptions, server: Server, spark: SparkSession, report: Report
    ) -> None:
        self._options = options
        self._server = server
        self._spark = spark
        self._report = report
        self._storage = storage_options(options.storage)
        self._elsewhere = Elsewhere(server, options.catalog)

    def run(self, catalog: CatalogInfo, before_ms: int) -> OrphansSummary:
        """Find what was written before that, and delete it if that is wanted."""
        with self._report.stage("tables of other catalogs"):
            self._elsewhere.learn()
        with self._report.stage("tables", spark=self._spark) as stage:
            subjects = subjects_of(self._server, catalog.name)
            references = find_references(self._spark, self._server, self._storage, subjects)
            stage.name = f"tables: {len(subjects):,}"  # they are neither rows nor files
        seen = Seen(subjects, references.states)
        roots = places_to_list(catalog, self._options.below, subjects, seen.states)
        where = worker_files(self._storage, *roots)
        for root in self._options.below or (catalog.location,):
            asyncio.run(StorageFiles(self._storage, roots).check_store(root))
        owners = [*owners_of(subjects, seen.states), *other_catalogs(self._server, catalog.name)]
        doubt = doubt_of(subjects, seen.states)
        terms = Terms(where, Places(roots, owners, doubt), before_ms)
        with spool() as found:
            spared = self._find(terms, references, roots, found)
            references.let_go()
            account = self._settle(terms, seen, roots, found)
        owners += [Owner(root, kept=doubt or account.doubt) for root in roots]
        return self._summary(account, terms, roots, spared, owners)

    def _find(
        self, terms: Terms, references: References, roots: Sequence[str], found: Spool
    ) -> Spared:
        """Put orphans into the spool; which other files nobody refers to."""
        from pyspark.sql.functions import xxhash64

        with self._report.stage("files", spark=self._spark) as stage:
            listed = list_files(self._spark, terms.where, roots)
            hashed = listed.withColumn("hash", xxhash64("key"))
            left = hashed.join(references.to_compare(), "hash", "left_anti").drop("hash")
            packed = left.mapInArrow(lambda some: find(terms, some), PACKED).persist()
            counts = packed.selectExpr("length(orphans) bytes", "young", "kept").collect()
            is_little = sum(row.bytes for row in counts) <= ORPHANS_COLLECTED_BYTES_MAX
            orphans = packed.select("orphans")  # an iterator waits for one task after the other
            for row in orphans.collect() if is_little else orphans.toLocalIterator():
                stage.advance(files=found.add(row.orphans))
            packed.unpersist()
        return Spared(sum(row.young for row in counts), sum(row.kept for row in counts))

    def _settle(self, terms: Terms, seen: Seen, roots: Sequence[str], found: Spool) -> Account:
        """Look at orphans once more, some at a time, and delete them if that is wanted."""
        account = Account()
        checking = Checking(self._spark, self._server, self._options.catalog, self._storage)
        name = "delete" if self._options.delete else "look again"
        with (
            report_file(self._options.report) as write,
            self._report.stage(name, found.files, self._spark) as stage,
        ):
            for part in found.parts(ORPHANS_CHECKED_AT_ONCE):
                orphans = self._elsewhere.without(checking.still(part, seen, roots))
                if self._options.delete and orphans.num_rows:
                    write.make_room(orphans)
                    orphans = remove(self._spark, terms.where, orphans)
                else:
                    orphans = with_outcomes(orphans, None)
                account.add(orphans)
                write(orphans)
                stage.advance(files=part.num_rows)
        account.doubt = checking.doubt
        return account

    def _summary(
        self,
        account: Account,
        terms: Terms,
        roots: list[str],
        spared: Spared,
        owners: Iterable[Owner],
    ) -> OrphansSummary:
        places = account.places
        return OrphansSummary(
            catalog=self._options.catalog,
            is_dry_run=not self._options.delete,
            before_ms=terms.before_ms,
            places=roots,
            orphans=sum(one.files for one in places),
            bytes=sum(one.bytes for one in places),
            deleted=sum(one.deleted for one in places),
            missing=sum(one.missing for one in places),
            failed=sum(one.failed for one in places),
            young=spared.young,
            kept=spared.kept,
            needed_elsewhere=self._elsewhere.kept,
            report=self._options.report,
            by_place=places,
            left_out=[
                LeftOut(one.place, one.name, one.kept)
                for one in owners
                if one.kept and any(overlaps(one.place, root) for root in roots)
            ],
            failures=account.failures,
        )


def _check_storage(catalog: CatalogInfo, options: OrphansOptions) -> None:
    if not catalog.location:
        raise BadSetting(
            f"catalog {catalog.name} has no orphans",
            why="Headgate keeps no files of it",
            fix="Name a catalog of Iceberg tables",
        )
    if scheme_of(catalog.location) != "file" and not options.storage:
        raise BadSetting(
            f"the files of catalog {catalog.name} cannot be listed",
            why="keys that the server hands out are for one table each",
            fix="Give keys for all of the catalog with --storage, as s3.access-key-id=…",
        )
