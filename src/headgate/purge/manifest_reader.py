"""The data files of a table, found while they are deleted: if there are many, another process reads
the manifests, on another core."""

import os
import subprocess
from collections.abc import Generator, Iterable, Iterator
from contextlib import suppress
from itertools import chain, islice
from types import TracebackType
from typing import Self

import msgspec

from headgate.errors import Unavailable
from headgate.limits import PURGE_MANIFESTS_PER_REQUEST, PURGE_READ_BESIDE_FILES_MIN
from headgate.planning.reachable import Found, Listed, Walk
from headgate.purge.manifest_worker import Named
from headgate.workers.frames import END, FAILED, Failure, read_answer, write_request
from headgate.workers.pool import error_of, module

WORKER = module("headgate.purge.manifest_worker")


def content(
    factory: bytes, walk: Walk, least: int = PURGE_READ_BESIDE_FILES_MIN
) -> Generator[Found]:
    """Data and delete files, as `Walk.data` finds them. The first of very many are read here: the
    other process is not there yet."""
    if walk.keeps_data:
        return
    manifests = walk.followed(walk.every_manifest())
    first = _first(manifests, least)
    if sum(one.files for one in first) < least or _cores() == 1:
        yield from _found_here(walk, chain(first, manifests))
        return
    with Reader(factory) as reader:
        yield from _found_here(walk, first)
        for named in reader.read(manifests):
            walk.unread += named.unread
            if named.paths:
                yield Found(named.paths, named.sizes)


class Reader:
    """A process that reads manifests. Use it in a `with`: it is gone afterwards."""

    def __init__(self, factory: bytes) -> None:
        self._factory = factory
        self._process = subprocess.Popen(  # noqa: S603  a command of ours
            WORKER, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._decoder = msgspec.msgpack.Decoder(Named)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._process.kill()
        with suppress(BrokenPipeError), self._process:  # closes its pipes, and waits
            pass

    def read(self, manifests: Iterable[Listed]) -> Iterator[Named]:
        """What these name, some files at a time. It reads on while we are busy, as far as there is
        room in the pipe."""
        rest = iter(manifests)
        while some := list(islice(rest, PURGE_MANIFESTS_PER_REQUEST)):
            yield from self._answers(some)

    def _answers(self, some: list[Listed]) -> Iterator[Named]:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None, "both pipes were asked for"
        assert answers is not None
        try:
            write_request(requests, [b"read", self._factory, msgspec.msgpack.encode(some)])
            while (answer := read_answer(answers))[0] != END:
                kind, data = answer
                if kind == FAILED:
                    raise error_of(msgspec.msgpack.decode(data, type=Failure))
                yield self._decoder.decode(data)
        except (BrokenPipeError, EOFError) as error:
            raise Unavailable(
                "The manifests of a table could not be read",
                why="the process that reads them has ended",
                fix="It is tried again",
            ) from error


def _first(manifests: Iterator[Listed], files: int) -> list[Listed]:
    """Manifests until there are so many files in them, as lists tell."""
    found: list[Listed] = []
    while files > 0 and (one := next(manifests, None)) is not None:
        found.append(one)
        files -= one.files
    return found


def _found_here(walk: Walk, manifests: Iterable[Listed]) -> Iterator[Found]:
    for _, found in walk.content_of(manifests):
        yield found


def _cores() -> int:
    """That this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
