"""One table is measured: what is said of it, and what is said of none."""

from typing import Any, cast

import pytest

from headgate.errors import (
    Forbidden,
    HeadgateError,
    NamespaceNotFound,
    NotAuthenticated,
    StorageUnavailable,
    TableNotFound,
    Unavailable,
)
from headgate.pipelines.inventory_measuring import Run, measure
from headgate.pipelines.names import TableName
from headgate.pipelines.server import LoadedTable, Server

TABLE = TableName("main", ("shop",), "t")
RUN = Run("monday", 1_000)


class Answers:
    """A server that has one answer."""

    metalake = "lake"

    def __init__(self, answer: LoadedTable | HeadgateError) -> None:
        self._answer = answer

    def load(self, table: TableName) -> LoadedTable:
        if isinstance(self._answer, HeadgateError):
            raise self._answer
        return self._answer


def measured(answer: LoadedTable | HeadgateError) -> dict[str, Any] | None:
    return measure(cast("Server", Answers(answer)), TABLE, RUN)


@pytest.mark.parametrize("error", [TableNotFound("gone"), NamespaceNotFound("gone")])
def test_a_table_that_was_dropped_meanwhile_has_no_row(error: HeadgateError) -> None:
    """Alone, or with its schema."""
    assert measured(error) is None


@pytest.mark.parametrize(
    "answer",
    [Forbidden("not yours"), StorageUnavailable("no bucket"), LoadedTable(TABLE, b"{", "m")],
)
def test_what_is_wrong_with_one_table_is_its_row(answer: LoadedTable | HeadgateError) -> None:
    """The reason is there, and nothing else is known."""
    row = measured(answer)

    assert row is not None
    assert (row["name"], row["bytes"], bool(row["problem"])) == ("t", None, True)


@pytest.mark.parametrize("error", [Unavailable("no answer"), NotAuthenticated("who are you?")])
def test_what_is_wrong_with_all_tables_is_no_row(error: HeadgateError) -> None:
    """The task fails and is tried again: no inventory says that nothing could be loaded."""
    with pytest.raises(type(error)):
        measured(error)
