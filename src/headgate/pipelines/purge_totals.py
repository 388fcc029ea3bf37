"""How many files a purge is about, as far as that is known while it goes on."""

from headgate.purge.deleter import Progress
from headgate.purge.sizing import Sizes
from headgate.purge.steps import ROOTS, STEPS


class Totals:
    """Of one job. What is told begins anew with each stage."""

    def __init__(self, sizes: Sizes | None) -> None:
        self._data = sizes.data if sizes else None
        self._rest = sizes.manifests + sizes.manifest_lists + sizes.other if sizes else 0
        self._last = Progress("")
        self._before = 0
        """Files that stages before this one were done with."""
        self._is_rest = False

    @property
    def total(self) -> int:
        """A guess: lists of manifests name many files more than once, and nobody knows what of the
        others is still there. What the driver finds tells more."""
        last = self._last
        if self._is_rest:
            return self._before + max(self._rest, last.expected, _done(last))
        data = last.expected if self._data is None else min(self._data, last.expected or self._data)
        return max(data, _done(last)) + self._rest

    def add(self, progress: Progress) -> tuple[int, int]:
        """Take what was told; how many more files and bytes are gone."""
        last = self._last
        if _done(progress) < _done(last) or progress.bytes < last.bytes:
            self._before += _done(last)
            last = Progress("")
        if progress.phase in STEPS[ROOTS]:
            self._is_rest = True
        self._last = progress
        return _done(progress) - _done(last), progress.bytes - last.bytes


def _done(progress: Progress) -> int:
    return progress.deleted + progress.missing
