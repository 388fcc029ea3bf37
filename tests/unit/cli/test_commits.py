"""The logs of many pointers read as one, also where clocks differ and history was cut."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from headgate.cli.commits import newest, since, unseen
from headgate.errors import LogCut, PointerNotFound
from headgate.ids import EPOCH_MS, make
from headgate.kernel.log import Commit, CommitLog
from headgate.kernel.records import PointerKey

A, B, GONE = PointerKey("r", "a"), PointerKey("r", "b"), PointerKey("r", "gone")
HOUR = 3_600_000


def at(ms: int) -> int:
    return make(EPOCH_MS + ms, 0, 0)


class ListedLog:
    """A log from lists of times, oldest first; the first `cut` commits of A are gone."""

    def __init__(self, cut: int = 0, **times: list[int]) -> None:
        self._cut = cut
        self._commits = {
            PointerKey("r", name): [
                Commit(at(ms), seq, "r", name, EPOCH_MS + ms, 0, [], [])
                for seq, ms in enumerate(pointer, 1)
            ]
            for name, pointer in times.items()
        }

    async def newest_first(self, key: PointerKey) -> AsyncIterator[Commit]:
        if key not in self._commits:
            raise PointerNotFound(key.name)
        for commit in reversed(self._commits[key][self._cut if key == A else 0 :]):
            yield commit

    async def oldest_first(self, key: PointerKey, after: int | None) -> AsyncIterator[Commit]:
        if after is not None and after not in [commit.id for commit in self._commits[key]]:
            raise LogCut(str(after))
        for commit in self._commits[key]:
            if after is None or commit.id > after:
                yield commit


def log(cut: int = 0, **times: list[int]) -> CommitLog:
    return cast("CommitLog", ListedLog(cut, **times))


def times(commits: list[Commit]) -> list[int]:
    return [commit.time_ms - EPOCH_MS for commit in commits]


async def test_the_newest_commits_of_all_pointers_come_oldest_first() -> None:
    """Pointers are merged by commit id, and only the last ones are kept."""
    assert times(await newest(log(a=[1, 4, 5], b=[2, 3, 6]), [A, B], 4)) == [3, 4, 5, 6]


async def test_a_pointer_purged_meanwhile_is_left_out() -> None:
    """A pointer that is gone by the time it is read has no commits."""
    assert times(await newest(log(a=[1, 2]), [A, GONE], 50)) == [1, 2]
    assert times(await since(log(a=[1, 2]), [A, GONE], at(1))) == [2]


async def test_since_goes_by_time_on_other_pointers() -> None:
    """What came after a commit of one pointer is, on another, what has a later id."""
    assert times(await since(log(a=[1, 4, 5], b=[2, 3, 6]), [A, B], at(4))) == [5, 6]


async def test_since_is_exact_on_the_pointer_of_the_commit() -> None:
    """A commit by a node whose clock is behind is not lost, though its id is smaller."""
    assert times(await since(log(a=[100, 60, 200]), [A], at(100))) == [60, 200]


async def test_since_stops_at_what_is_much_older() -> None:
    """The walk back ends where no clock could have been so wrong."""
    assert times(await since(log(a=[1, 2 * HOUR], b=[1, HOUR]), [A, B], at(HOUR))) == [2 * HOUR]


async def test_since_a_commit_before_the_cut_is_refused() -> None:
    """Nothing is skipped silently: a reader that missed commits is told so."""
    with pytest.raises(LogCut):
        await since(log(2, a=[3, 4, 5]), [A], at(2))


async def test_since_the_last_commit_before_the_cut_is_complete() -> None:
    """All that came after the newest commit that is gone is still there."""
    assert times(await since(log(1, a=[3, 4, 5]), [A], at(3))) == [4, 5]


async def test_only_unseen_commits_are_followed() -> None:
    """Each pointer goes on behind its own last commit; a new pointer begins at its first."""
    assert times(await unseen(log(a=[1, 4], b=[2, 3]), [A, B], {A: at(1)})) == [2, 3, 4]
