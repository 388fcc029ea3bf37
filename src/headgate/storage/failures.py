"""The one place where errors of object stores become ours."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import obstore.exceptions as theirs

from headgate.errors import AlreadyExists, FileMissing, StorageRefused, StorageUnavailable

QUERY = re.compile(r"\?\S*")  # a SAS token is part of the address
PROVIDER = re.compile(r".* External \w+ credential provider: \w+: ")  # what follows is ours
CODE = re.compile(r"<Code>(\w{1,60})</Code>")
STATUS = re.compile(r"status(?: code)?:? (\d{3})")
BUSY = frozenset({"408", "425", "429"})  # of the statuses below 500 that get better by waiting
WHY_CHARACTERS_MAX = 300
CREDENTIALS = "Check the credentials of the catalog and what they allow."
REQUEST = "Check the object with the store's own tools; nothing gets better by waiting."
NETWORK = "Check the catalog's endpoint and the network; the same call may work later."

NotDeleted = list[tuple[str, str]]
"""Locations that are still there, each with the reason."""


def missing(location: str) -> FileMissing:
    """The text is the one that Iceberg's own tests look for."""
    return FileMissing(f"Failed to open input stream for file: {location}")


def folder(location: str) -> FileMissing:
    """Somebody named what files lie in."""
    error = missing(location)
    return FileMissing(error.what, why="it is a folder", fix="Name a metadata file")


def exists(location: str) -> AlreadyExists:
    """Files are written once."""
    return AlreadyExists(f"File already exists: {location}")


def unavailable(location: str, why: str, fix: str = NETWORK) -> StorageUnavailable:
    """The store does not answer, or refuses us."""
    return StorageUnavailable(f"Storage is not available for {location}", why=why, fix=fix)


def refused(location: str, why: str, fix: str) -> StorageRefused:
    """The store answers, and refuses us."""
    return StorageRefused(f"Storage is not available for {location}", why=why, fix=fix)


@contextmanager
def translated(location: str) -> Iterator[None]:
    """Errors of obstore leave as ours, without their causes: those quote whole requests."""
    try:
        yield
    except (theirs.NotFoundError, FileNotFoundError):
        raise missing(location) from None
    except theirs.AlreadyExistsError:
        raise exists(location) from None
    except (theirs.PermissionDeniedError, theirs.UnauthenticatedError) as error:
        raise refused(location, reason(error), CREDENTIALS) from None
    except theirs.InvalidPathError as error:
        raise _odd_name(location, reason(error)) from None
    except (theirs.BaseError, OSError, ValueError) as error:
        if _is_refusal(str(error)):
            raise refused(location, reason(error), REQUEST) from None
        raise unavailable(location, reason(error)) from None


def _odd_name(location: str, why: str) -> StorageUnavailable:
    """A key that the client of object stores takes for no path, as one with `//` in it."""
    return StorageUnavailable(
        f"Storage cannot be listed at {location}",
        why=why,
        fix="Rename or delete that object with the store's own tools, or leave its place out; "
        "nothing gets better by waiting",
    )


def _is_refusal(text: str) -> bool:
    """Whether a store answered that it will not do this, and not that it cannot now."""
    status = STATUS.search(text)
    return status is not None and status[1].startswith("4") and status[1] not in BUSY


def reason(error: Exception) -> str:
    """The first line of what a store says, without queries, after the name that S3 has for it:
    addresses are long, and that comes behind them."""
    text = str(error).strip() or type(error).__name__
    line = QUERY.sub("?***", PROVIDER.sub("", text.splitlines()[0]))
    code = CODE.search(text)
    return (f"{code[1]}: {line}" if code else line)[:WHY_CHARACTERS_MAX]
