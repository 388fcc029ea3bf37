"""Setting up and upgrading Headgate's tables, whole or not at all."""

from headgate.backends.postgresql.connector import Connection, Connector
from headgate.backends.postgresql.failures import FAILURES, unavailable
from headgate.errors import StoreNotFound
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


async def _create_missing(
    connection: Connection, schema: str, statements: dict[str, str], left_alone: str
) -> None:
    steps = f'"{schema}".schema_steps'
    [found] = await connection.fetch(statements["find_schema"], f'"{schema}"', steps)
    if left_alone and not found["steps"]:
        raise StoreNotFound(
            "there is no store",
            why=f"{left_alone} has no schema {schema!r}",
            fix="`headgate serve` makes it; --backend URL names another",
        )
    if not found["schema"]:
        await connection.execute(f'create schema "{schema}"')
    if not found["steps"]:
        await connection.execute(statements["create_steps"])
