"""Metalakes that are switched off, in the words for those who ask over the network."""

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.errors import MetalakeNotInUse, RealmNotActive


@contextmanager
def metalake_in_use(name: str) -> Iterator[None]:
    """Say of a realm that serves nobody what its users know it by: a metalake that is off."""
    try:
        yield
    except RealmNotActive as error:
        raise MetalakeNotInUse(
            f"Metalake is not in use: {name}",
            why="it was switched off",
            fix="Enable it first",
        ) from error
