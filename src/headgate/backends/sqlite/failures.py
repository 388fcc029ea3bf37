"""What SQLite's errors mean for the caller: the one table that maps them."""

from typing import NamedTuple

import apsw

from headgate.errors import (
    BackendUnavailable,
    CorruptRow,
    DatabaseFull,
    HeadgateError,
    OutcomeUnknown,
)


class Meaning(NamedTuple):
    """The error to raise instead, why it happened, what to do."""

    error: type[HeadgateError]
    why: str
    fix: str


MEANINGS: dict[type[Exception], Meaning] = {
    apsw.BusyError: Meaning(
        BackendUnavailable,
        "another process kept it locked for too long",
        "Try again; look for a process that holds a long transaction on the file",
    ),
    apsw.FullError: Meaning(DatabaseFull, "the disk is full", "Free some space and try again"),
    apsw.ReadOnlyError: Meaning(
        BackendUnavailable,
        "it may only be read",
        "Make the file and its directory writable for this user",
    ),
    apsw.PermissionsError: Meaning(
        BackendUnavailable, "permission was denied", "Make the file accessible for this user"
    ),
    apsw.CantOpenError: Meaning(
        BackendUnavailable,
        "the file cannot be opened",
        "Check that its path is no directory and that this user may read and write there",
    ),
    apsw.IOError: Meaning(
        BackendUnavailable, "the disk reported an error", "Check the disk and the system log"
    ),
    apsw.NotADBError: Meaning(
        CorruptRow,
        "the file is no SQLite database, or its first page is damaged",
        "Check the path, or restore the file from a backup",
    ),
    apsw.CorruptError: Meaning(
        CorruptRow, "the file is damaged", "Restore it from a backup; check the disk"
    ),
}

OTHER = Meaning(BackendUnavailable, "SQLite failed", "Please report this error")


def certain(error: apsw.Error, what: str) -> HeadgateError:
    """The error for something that was certainly not applied: a read, or a write not committed."""
    meaning = MEANINGS.get(type(error), OTHER)
    return meaning.error(what, why=f"{meaning.why} ({_detail(error)})", fix=meaning.fix)


def at_commit(error: apsw.Error, where: str) -> HeadgateError:
    """The error for a failed COMMIT: its frames may be in the log, and a crash may revive them.

    Not if the disk was full: then the frame that makes a commit, the last one, was not written.
    """
    if isinstance(error, apsw.BusyError | apsw.FullError):
        return certain(error, f"{where} could not be written")
    meaning = MEANINGS.get(type(error), OTHER)
    return OutcomeUnknown(
        f"{where} may or may not have been written",
        why=f"{meaning.why} while committing ({_detail(error)})",
        fix=f"Read to see whether it was applied. {meaning.fix}",
    )


def _detail(error: apsw.Error) -> str:
    """SQLite's own words in one line, with the precise code where there is one."""
    words = " ".join(str(error).split())
    code = apsw.mapping_extended_result_codes.get(getattr(error, "extendedresult", 0))
    return f"{words}, {code}" if code else words
