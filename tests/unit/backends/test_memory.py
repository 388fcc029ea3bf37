"""What is special about the memory backend: it is shared, and closing it loses nothing."""

import pytest

from headgate.backends.memory import MemoryBackend
from headgate.errors import PointerNotFound
from headgate.kernel.records import EMPTY, Outcome, PointerKey, Row, Swap

HEAD = PointerKey("r", "head")


async def test_closing_keeps_what_is_stored() -> None:
    """A program may close the backend and open it again, as it would a file."""
    backend = MemoryBackend()
    await backend.open()
    await backend.create_pointers("r", ["head"])
    await backend.commit([Row("r", 1, 0, 1, "type", 0, b"value")], Swap(HEAD, EMPTY, 7))
    await backend.close()
    await backend.open()

    assert await backend.read_pointers([HEAD]) == [7]
    assert await backend.fetch("r", [1]) == [Row("r", 1, 0, 1, "type", 0, b"value")]


async def test_closing_for_one_kernel_does_not_close_for_another() -> None:
    """Two kernels share one instance; the one that goes on does not notice."""
    backend = MemoryBackend()
    await backend.open()
    await backend.open()
    await backend.create_pointers("r", ["head"])
    await backend.close()

    assert await backend.commit([], Swap(HEAD, EMPTY, 7)) is Outcome.APPLIED


async def test_each_instance_is_a_database_of_its_own() -> None:
    """What one stores, another does not see."""
    one, other = MemoryBackend(), MemoryBackend()
    await one.create_pointers("r", ["head"])

    assert await other.read_pointers([HEAD]) == [None]
    with pytest.raises(PointerNotFound):
        await other.commit([], Swap(HEAD, EMPTY, 7))


async def test_a_buffer_that_the_caller_reuses_is_copied() -> None:
    """Values are stored exactly as they were when they were passed."""
    backend = MemoryBackend()
    buffer = bytearray(b"first")
    await backend.write([Row("r", 1, 0, 1, "type", 0, buffer)])  # type: ignore[arg-type]
    buffer[:] = b"later"

    assert [row.value for row in await backend.fetch("r", [1])] == [b"first"]


async def test_no_verb_suspends() -> None:
    """Each is done within the first step of its coroutine, so it is atomic."""
    backend = MemoryBackend()
    await backend.create_pointers("r", ["head"])
    committing = backend.commit([], Swap(HEAD, EMPTY, 7))

    with pytest.raises(StopIteration) as answer:
        committing.send(None)
    assert answer.value.value is Outcome.APPLIED


async def test_a_swap_to_the_same_value_is_a_mistake() -> None:
    """It could not be told apart from a lost one."""
    with pytest.raises(AssertionError):
        await MemoryBackend().commit([], Swap(HEAD, 7, 7))
