"""What executors do of a purge: they read manifests, and delete the files that these name.

Both are functions from Arrow batches to Arrow batches, as Spark calls them. The driver decides what
is to be done; nothing is remembered from one task to the next but connections.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from headgate.clock import SystemClock
from headgate.errors import Unsupported
from headgate.pipelines.rows import Rows
from headgate.pipelines.zips import forget_zips
from headgate.planning.files import open_files
from headgate.planning.reachable import Found, Listed, Walk
from headgate.purge.fence import open_fence
from headgate.purge.ledger import Failed
from headgate.purge.removal import Bulk, Means, Removal, Removed, Tell
from headgate.purge.territory import Territory
from headgate.storage.deletions import Check, may_go_on

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    import pyarrow as pa

    from headgate.purge.deleter import Task
    from headgate.purge.sweeping import Deletion

    Batches = Iterable[pa.RecordBatch]

LISTED = "path string, length long, files long"
"""Manifests, as their lists know them."""
FOUND = "path string, size long, why string"
"""Files; or a manifest that cannot be read, and why."""
REMOVED = "removed binary"
"""What came of some files (`Removed`)."""
_BOOT = Path("/proc/sys/kernel/random/boot_id")


class Order(NamedTuple):
    """What all tasks of a purge have in common."""

    task: Task
    needed: AbstractSet[int]
    """Files that others refer to, as hashes."""
    files: bytes
    """Opens the store; pickled."""
    fence: str
    machine: str
    """Where the fence is: nobody else sees it."""
    sample: int
    """A hash, which is the same where hashes can be compared."""


def new_order(task: Task, needed: AbstractSet[int], files: bytes, fence: str) -> Order:
    """An order of a driver on this machine."""
    return Order(task, needed, files, fence, machine(), _sample())


def machine() -> str:
    """This machine, since it was started."""
    boot = _BOOT.read_text().strip() if _BOOT.exists() else ""
    return f"{platform.node()} {boot}"


def read_manifests(order: Order, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From manifests to the files they name."""
    forget_zips()
    rows = Rows(path="string", size="int64", why="string")
    territory = Territory(order.task.roots, order.task.own, order.task.foreign)
    for batch in batches:
        with _fenced(order) as check:
            follows = partial(territory.may_delete, whole_catalog=order.task.whole_catalog)
            walk = Walk(b"{}", open_files(order.files), follows=follows)  # begins with manifests
            for _, found in walk.content_of(map(_listed, batch.to_pylist())):
                check()
                yield from rows.add(len(found.paths), path=found.paths, size=found.sizes)
            unread = [one for one in walk.unread if one.why]
            if unread:
                paths, whys = [one.path for one in unread], [one.why for one in unread]
                yield from rows.add(len(paths), path=paths, size=[0] * len(paths), why=whys)
    yield from rows.rest()


def delete_files(order: Order, count: Tell, batches: Batches) -> Iterator[pa.RecordBatch]:
    """From files to what came of them; one that comes twice to a task is deleted once."""
    forget_zips()
    _check_hashes(order)
    done: list[Removed] = []
    with _fenced(order) as check:
        means = Means(_Opened.of(order.files, order.fence), SystemClock(), check)
        found = (_readable(batch.sort_by("path"), done.append) for batch in batches)  # by folders
        Removal(order.task, means, order.needed).remove(found, done.append)
    for one in done:
        count(one)
    yield _encoded(done)


class _Opened:
    """Files as all tasks of a purge on this worker delete them: what one finds out of a folder, the
    next one knows."""

    def __init__(self, files: Bulk) -> None:
        self._deletion = files.deletion()

    @staticmethod
    @lru_cache(1)
    def of(files: bytes, fence: str) -> _Opened:  # noqa: ARG004  there is one for each purge
        return _Opened(cast("Bulk", open_files(files)))

    def deletion(self) -> Deletion:
        return self._deletion


def _readable(batch: pa.RecordBatch, tell: Tell) -> Found:
    """The files of a batch; manifests that could not be read are told to have failed."""
    paths, sizes, whys = (column.to_pylist() for column in batch.columns)
    if any(whys):
        rows = list(zip(paths, sizes, whys, strict=True))
        tell(Removed(failed=tuple(Failed(path, why) for path, _, why in rows if why)))
        paths = [path for path, _, why in rows if not why]
        sizes = [size for _, size, why in rows if not why]
    return Found(paths, sizes)


@contextmanager
def _fenced(order: Order) -> Iterator[Check]:
    """A check that the job is still ours. On other machines only the driver can tell."""
    if machine() != order.machine:
        yield may_go_on
        return
    with open_fence(Path(order.fence), SystemClock()) as fence:
        fence.check()
        yield fence.check


def _check_hashes(order: Order) -> None:
    if order.needed and _sample() != order.sample:
        raise Unsupported(
            "The files that other tables need cannot be told from others",
            why="Python on the executors has another seed for hashes than on the driver",
            fix="Start the executors with PYTHONHASHSEED=0, or choose the purger async",
        )


def _sample() -> int:
    return hash((b"headgate", "headgate"))


def _listed(row: dict[str, Any]) -> Listed:
    return Listed(row["path"], row["length"], row["files"])


def _encoded(done: list[Removed]) -> pa.RecordBatch:
    import pyarrow as pa

    encoded = [msgspec.msgpack.encode(one) for one in done]
    return pa.RecordBatch.from_arrays([pa.array(encoded, pa.binary())], names=["removed"])
