"""What Spark says when something fails, in one line: which error it was, and its own words."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from headgate.errors import (
    HeadgateError,
    NamespaceNotFound,
    NotAuthenticated,
    StorageUnavailable,
    TableNotFound,
    Unavailable,
    Unsupported,
)
from headgate.pipelines.sending import KINDS, own_kind

WORDS_CHARS_MAX = 500
CAUSES_MAX = 20

CONDITIONS: dict[str, type[HeadgateError]] = {
    "SCHEMA_NOT_FOUND": NamespaceNotFound,
    "TABLE_OR_VIEW_NOT_FOUND": TableNotFound,
}
"""What Spark itself calls it."""

_OURS = re.compile(r"headgate\.errors\.(\w+): (.+)")
_NOT_THERE = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_PYTHON = "Traceback (most recent call last):"
_RAISED = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:: .*)?")
_CAUSE = re.compile(r"^(?:Caused by|Exception in thread \S+):? *(.+)$", re.MULTILINE)
_CLASS = re.compile(r"^(?:[a-z]\w*\.)+([A-Z][\w$]*): ")
_SPARKS = re.compile(r"\[([A-Z_]+)[.\]]([^\n]+)")
_ICEBERGS = re.compile(r"org\.apache\.iceberg\.exceptions\.(\w+): ([^\n]+)")

logger = logging.getLogger(__name__)


@contextmanager
def translated() -> Iterator[None]:
    """Let failures of Spark come out as ours; all others pass."""
    try:
        yield
    except HeadgateError:
        raise
    except Exception as error:
        ours = as_ours(error)
        if ours is None:
            raise
        logger.debug("Spark failed", exc_info=error)
        raise ours from error


def as_ours(error: Exception) -> HeadgateError | None:
    """The same error in our tree; None if it is not one of Spark's."""
    from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError):
        return spoken(_chain(error.java_exception))
    if isinstance(error, PySparkException):
        return spoken(str(error))
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return Unavailable(
            "Spark has ended", why=shortened(str(error)), fix="Run the pipeline once more"
        )
    return spoken(str(error)) if isinstance(error, Py4JError) else None


def spoken(text: str) -> HeadgateError:
    """The error that a text of Spark's tells of; what is known by its name keeps its kind."""
    ours = [(own_kind(name), words) for name, words in _OURS.findall(text)]
    icebergs = [(KINDS.get(name), words) for name, words in _ICEBERGS.findall(text)]
    sparks = [(CONDITIONS.get(name), words) for name, words in _SPARKS.findall(text)]
    for kind, words in (*ours[::-1], *icebergs, *sparks):
        if kind is not None:
            return kind(shortened(words))
    missing = _NOT_THERE.search(text)
    if missing is not None:
        return Unsupported(
            "executors cannot run this pipeline",
            why=f"their Python has no module {missing[1]}",
            fix="Install 'headgate[spark]' on every machine, and name that Python in "
            "PYSPARK_PYTHON",
        )
    return HeadgateError("Spark failed", why=words_of(text), fix="--debug shows all that it says")


def is_of_table(error: HeadgateError) -> bool:
    """Whether other tables may fare better than the one that it was met with."""
    is_general = isinstance(error, NotAuthenticated | Unavailable)
    return isinstance(error, StorageUnavailable) or not is_general


def words_of(text: str) -> str:
    """The one line of a text with stack traces that says most."""
    raised = _raised(text.rpartition(_PYTHON)[2]) if _PYTHON in text else ""
    causes = _CAUSE.findall(text)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    chosen = raised or (causes or lines[:1] or ["it does not say why"])[-1]
    return shortened(_CLASS.sub(r"\1: ", chosen))


def shortened(text: str) -> str:
    """One line that is not too long."""
    line = " ".join(text.split()).removesuffix(".")
    return line if len(line) <= WORDS_CHARS_MAX else f"{line[:WORDS_CHARS_MAX]}…"


def _raised(trace: str) -> str:
    """The last line of a Python trace, before Java's begins."""
    own = trace.partition("\n\tat ")[0].partition("JVM stacktrace")[0]
    found = [line for line in own.splitlines() if _RAISED.fullmatch(line)]
    return found[-1] if found else ""


def _chain(exception: object) -> str:
    """A Java exception and its causes, each as it would be printed without a trace."""
    lines: list[str] = []
    while exception is not None and len(lines) < CAUSES_MAX:
        said = exception.toString()  # type: ignore[attr-defined]
        lines.append(f"Caused by: {said}" if lines else said)
        exception = exception.getCause()  # type: ignore[attr-defined]
    return "\n".join(lines)
