"""Purge jobs in words: a line for each in a list, all of one, and how far it is."""

from collections.abc import Iterator, Sequence

from headgate.amounts import duration, size
from headgate.cli.output import iso, printable
from headgate.purge.inspecting import Wanted
from headgate.purge.job_states import State
from headgate.purge.job_views import JobSummary, JobView

HEADINGS = ("ID", "STATE", "TABLE", "FILES", "SIZE", "DROPPED")
BAR_CHARS = 24
BAR_CHARS_MIN = 8
LEDGER_LINES = 20
LEFT_LINES = 20


def listed(one: JobSummary) -> tuple[str, ...]:
    """A job in a list, below the headings."""
    return (
        one.id,
        one.state,
        printable(table_of(one)),
        files_of(one),
        size(one.bytes_deleted) if is_counted(one) else "",
        iso(one.created_ms),
    )


def table_of(one: JobSummary) -> str:
    """The table with all that it was in."""
    return ".".join((one.metalake, one.catalog, *one.table))


def files_of(one: JobSummary) -> str:
    """How many files are gone, of how many."""
    if not is_counted(one):
        return "not counted"
    of = f" of {one.files_expected:,}" if one.files_expected else ""
    return f"{one.files_done:,}{of}"


def is_counted(one: JobSummary) -> bool:
    """Whether anybody has looked yet; purgers of third parties may never do."""
    return bool(one.files_done or one.files_expected)


def none_of(wanted: Wanted) -> str:
    """What to say if there are no such jobs."""
    if not any(wanted):
        return "There are no jobs: no table is being purged, and none was lately."
    state = f" that is {wanted.state}" if wanted.state else ""
    catalog = f" of catalog {wanted.catalog!r}" if wanted.catalog else ""
    metalake = f" in metalake {wanted.metalake!r}" if wanted.metalake else ""
    return f"There is no job{catalog}{metalake}{state}; `headgate jobs list` shows all."


def described(one: JobView, now_ms: int) -> Iterator[str]:
    """All of a job, a line for each fact that there is."""
    facts = {
        "job": one.id,
        "table": table_of(one),
        "state": one.state,
        "purger": one.purger,
        "attempts": str(one.attempts),
        "files": files_of(one) + (" are gone" if is_counted(one) else "") + _failures(one),
        "kept": _kept(one),
        "left": _left(one),
        "size": f"{size(one.bytes_deleted)} deleted" if is_counted(one) else "",
        "rate": f"{one.files_per_second:,.1f} files/s" if one.files_per_second else "",
        "ends in": _until(one.estimated_end_ms, now_ms),
        "phase": one.phase,
        "last error" if one.state == State.RUNNING else "error": one.error,
        "worker": one.worker,
        "metadata": one.metadata_location,
        "dropped": f"{iso(one.created_ms)} by {one.dropped_by or 'nobody known'}",
        "grace ends": _time(one.grace_end_ms) if one.can_undrop else "",
        "undrop": f"`headgate jobs undrop {one.id}`" if one.can_undrop else "",
        "started": _time(one.started_ms),
        "updated": _time(one.updated_ms),
        "next try": _time(one.next_attempt_ms),
    }
    for title, text in facts.items():
        if text:
            yield f"{title:<11} {printable(text)}"
    for line in one.ledger[:LEDGER_LINES]:
        yield f"failed      {printable(f'{line.path}: {line.why}')}"
    if len(one.ledger) > LEDGER_LINES or one.files_failed > len(one.ledger):
        more = one.files_failed - min(len(one.ledger), LEDGER_LINES)
        yield f"failed      and {more:,} more; --json shows those that are kept"
    yield from _listed_files("outside", one.outside, one.files_outside)
    yield from _listed_files("unreferenced", one.unreferenced, one.files_unreferenced)


def progress(one: JobView, now_ms: int) -> str:
    """How far a job is, as a line without a bar."""
    words = [f"{one.state:<11}", files_of(one)]
    if is_counted(one):
        words.append(size(one.bytes_deleted))
    if one.files_per_second and one.state == State.RUNNING:
        words.append(f"{one.files_per_second:,.0f} files/s")
    if one.estimated_end_ms is not None:
        words.append(f"ends in {_until(one.estimated_end_ms, now_ms)}")
    if one.files_failed:
        words.append(f"{one.files_failed:,} failed")
    if one.files_kept:
        words.append(f"{one.files_kept:,} kept for other tables")
    if one.files_outside:
        words.append(f"{one.files_outside:,} left outside of its locations")
    if one.files_unreferenced:
        words.append(f"{one.files_unreferenced:,} unreferenced")
    if one.state == State.PENDING:
        words += _waiting(one, now_ms)
    if one.error and one.state != State.RUNNING:  # it is that of the attempt before
        words.append(one.error)
    return printable("  ".join(words))


def bar(one: JobView, now_ms: int, width: int) -> str:
    """The same with a bar, as long as there is room for it, and no longer than a line."""
    share = one.files_done / one.files_expected if one.files_expected else 0.0
    share = 1.0 if one.state == State.SUCCEEDED else min(share, 1.0)
    told = f"{share:4.0%}  {progress(one, now_ms)}"
    chars = min(max(width - len(told) - len("[] ") - 1, BAR_CHARS_MIN), BAR_CHARS)
    full = int(share * chars)
    drawn = f"[{'#' * full}{'.' * (chars - full)}] {told}"
    return drawn[: max(width - 1, 1)]


def _failures(one: JobView) -> str:
    return f", {one.files_failed:,} cannot be deleted" if one.files_failed else ""


def _kept(one: JobView) -> str:
    files = "file" if one.files_kept == 1 else "files"
    return f"{one.files_kept:,} {files} that other tables refer to" if one.files_kept else ""


def _left(one: JobView) -> str:
    """What stays for no other table's sake."""
    words = []
    if one.files_outside:
        words.append(f"{one.files_outside:,} outside of its own locations")
    if one.files_unreferenced:
        where = "in them" if words else "in its own locations"
        words.append(f"{one.files_unreferenced:,} {where} that nothing refers to")
    return " and ".join(words)


def _listed_files(title: str, paths: Sequence[str], count: int) -> Iterator[str]:
    """The first of some files that stay, a line for each."""
    for path in paths[:LEFT_LINES]:
        yield f"{title:<11} {printable(path)}"
    more = count - min(len(paths), LEFT_LINES)
    if more:
        hint = "; --json shows more of them" if len(paths) > LEFT_LINES else ""
        yield f"{title:<11} and {more:,} more{hint}"


def _until(end_ms: int | None, now_ms: int) -> str:
    return "" if end_ms is None else duration(end_ms - now_ms)


def _time(ms: int | None) -> str:
    return "" if ms is None else iso(ms)


def _waiting(one: JobView, now_ms: int) -> Iterator[str]:
    """What a job waits for."""
    if one.can_undrop and one.grace_end_ms is not None and one.grace_end_ms > now_ms:
        yield f"its grace period ends in {duration(one.grace_end_ms - now_ms)}"
    elif one.next_attempt_ms is not None and one.next_attempt_ms > now_ms:
        yield f"tried again in {duration(one.next_attempt_ms - now_ms)}"
