"""Whose place a file lies in. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from headgate.limits import FOLDERS_KNOWN_MAX
from headgate.pipelines.orphans_keys import Keys


class Owner(NamedTuple):
    """Whoever has a place."""

    place: str
    """Its location, as it was written; of nobody: the place that was listed."""
    name: str = ""
    """Of the table or view; empty if nobody has it."""
    kept: str = ""
    """Why nothing in there is called an orphan; empty if things are."""


class Places:
    """Finds owners. It is sent to executors.

    With a doubt, which a table raises of which not all files are known, what lies in nobody's
    place is kept: it may be that table's.
    """

    def __init__(self, roots: Iterable[str], owners: Iterable[Owner], doubt: str = "") -> None:
        keys = Keys()
        self._roots = {keys.of_folder(root): Owner(root, kept=doubt) for root in roots}
        self._owners = {keys.of_folder(owner.place): owner for owner in owners}
        self._folders: dict[str, Owner | None] = {}

    def owner_of(self, key: str) -> Owner | None:
        """The owner of the place that a file lies in; None if it lies below no root."""
        own = self._owners.get(key)  # a file can be a place of its own
        if own is not None:
            return own
        folder = key.rpartition("/")[0]
        if folder not in self._folders:
            if len(self._folders) >= FOLDERS_KNOWN_MAX:
                self._folders.clear()
            self._folders[folder] = self._nearest(folder)
        return self._folders[folder]

    def location_of(self, key: str) -> str:
        """A file below a root as it is to be called: the way that the root was written."""
        above = key
        while above and above not in self._roots:
            above = above.rpartition("/")[0]
        return self._roots[above].place.rstrip("/") + key[len(above) :]

    def _nearest(self, folder: str) -> Owner | None:
        """Of all places around it the nearest one; but one in which all is kept comes first."""
        around = list(_around(folder))
        owners = [self._owners[one] for one in around if one in self._owners]
        roots = [self._roots[one] for one in around if one in self._roots]
        if not roots:
            return None
        return next((one for one in owners if one.kept), owners[0] if owners else roots[0])


def _around(folder: str) -> Iterable[str]:
    """A folder and all that it lies in, as keys."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
