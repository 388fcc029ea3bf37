"""The server stops and starts while clients swap pointers: no acknowledged swap is ever lost."""

import asyncio

import pytest

from headgate.backends.postgresql.backend import PostgresqlBackend
from headgate.kernel.records import PointerKey
from headgate.testing.postgresql import PostgresqlServer, StopMode
from tests.postgresql.swap_clients import POINTERS, Clients, check_chains

RECOVERY_SECONDS_MAX = 5.0


@pytest.mark.parametrize("mode", ["fast", "immediate"])
async def test_no_acknowledged_swap_is_lost_when_the_server_restarts(mode: StopMode) -> None:
    """Every applied swap is in the pointer's chain, every refused one is not, rows likewise."""
    with PostgresqlServer() as server:
        backend = PostgresqlBackend(server.create_database(), command_timeout_seconds=3.0)
        await backend.open()
        keys = [PointerKey("realm", f"p{n}") for n in range(POINTERS)]
        await backend.create_pointers("realm", [key.name for key in keys])
        clients = Clients(backend, keys)
        running = asyncio.create_task(clients.run())

        for _ in range(3):
            await clients.applied_again()
            await asyncio.sleep(0.3)
            await asyncio.to_thread(server.stop, mode)
            await asyncio.sleep(0.2)
            await asyncio.to_thread(server.start)
            async with asyncio.timeout(RECOVERY_SECONDS_MAX):
                await clients.applied_again()
        clients.stop()
        await running

        await check_chains(backend, keys, clients.attempts)
        await backend.close()
