"""Setting up and upgrading Headgate's tables, whole or not at all."""

from headgate.backends.postgresql.connector import Connection, Connector
from headgate.backends.postgresql.failures import FAILURES, unavailable
from headgate.errors import BackendUnavailable, StoreNotFound
from headgate.sql import Migration, pending

SET_UP_SECONDS_MAX = 600.0  # for one statement; waiting for another process counts
LOCK_KEY = 4851_7102  # of the advisory lock; any number that other programs do not use


async def set_up(
    connector: Connector,
    schema: str,
    statements: dict[str, str],
    migrations: list[Migration],
    *,
    create: bool = True,
) -> None:
    """Run the migrations this database has not had, all in one transaction.

    Without `create` a database that has had none is left alone: `StoreNotFound`.
    """
    connection = await connector.connect(SET_UP_SECONDS_MAX)
    try:
        if connection.is_pooled:  # a second one tells whether sessions are shared
            (await connector.connect()).terminate()
        if connector.standby:
            await _check(connection, connector.where, schema, statements, migrations)
            return
        async with connection.transaction():
            await connection.execute(statements["lock_schema"], LOCK_KEY)
            await _create_missing(connection, schema, statements, "" if create else connector.where)
            [applied] = await connection.fetch(statements["count_steps"])
            for step in pending(migrations, applied["steps"], connector.where):
                await connection.execute(step.script)
                await connection.execute(statements["add_step"], step.number, step.what)
    except FAILURES as error:
        raise unavailable(connector.where, error) from error
    finally:
        connection.terminate()


async def _check(
    connection: Connection,
    where: str,
    schema: str,
    statements: dict[str, str],
    migrations: list[Migration],
) -> None:
    """Refuse a schema that this program cannot read, on a server that cannot be written."""
    [found] = await connection.fetch(
        statements["find_schema"], f'"{schema}"', f'"{schema}".schema_steps'
    )
    if not found["steps"]:
        raise _no_store(where, schema)
    [applied] = await connection.fetch(statements["count_steps"])
    if pending(migrations, applied["steps"], where):
        raise BackendUnavailable(
            f"{where} cannot be opened",
            why="its schema is of an earlier version, and a standby cannot be written",
            fix="Start a node of this version on the primary first",
        )


def _no_store(where: str, schema: str) -> StoreNotFound:
    return StoreNotFound(
        "there is no store",
        why=f"{where} has no schema {schema!r}",
        fix="`headgate serve` makes it; --backend URL names another",
    )


async def _create_missing(
    connection: Connection, schema: str, statements: dict[str, str], left_alone: str
) -> None:
    steps = f'"{schema}".schema_steps'
    [found] = await connection.fetch(statements["find_schema"], f'"{schema}"', steps)
    if left_alone and not found["steps"]:
        raise _no_store(left_alone, schema)
    if not found["schema"]:
        await connection.execute(f'create schema "{schema}"')
    if not found["steps"]:
        await connection.execute(statements["create_steps"])
