"""Plan ids and plan tasks as untrusted input."""

import zlib
from base64 import urlsafe_b64encode

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from headgate.errors import PlanNotFound, PlanTaskNotFound
from headgate.planning.tokens import Pinned, pack, plan_id, unpack_plan, unpack_task

ids = st.integers(-(1 << 63) + 1, (1 << 63) - 1)
pinned = st.builds(
    Pinned,
    version=st.just(1),
    snapshot=st.none() | ids,
    start=st.none() | ids,
    schema=st.integers(0, 1 << 31),
    case_sensitive=st.booleans(),
    filter=st.binary(max_size=100),
    stats=st.lists(st.text(max_size=5), max_size=3),
    rows=st.none() | st.integers(0, 1 << 62),
)


def packed(value: object) -> str:
    return urlsafe_b64encode(zlib.compress(msgspec.msgpack.encode(value))).decode().rstrip("=")


@given(pinned)
def test_a_plan_id_comes_back_whole(found: Pinned) -> None:
    """What was pinned is what is read later."""
    assert unpack_plan(plan_id(found)) == found


@given(pinned, st.lists(st.integers(0, 1 << 20)))
def test_a_plan_task_comes_back_whole(found: Pinned, positions: list[int]) -> None:
    """So do the positions of its manifests."""
    task = msgspec.structs.replace(found, manifests=positions)

    assert unpack_task(pack(task)) == task


@given(st.text() | st.binary().map(lambda data: urlsafe_b64encode(data).decode()))
def test_any_other_text_is_not_found(token: str) -> None:
    """Rubbish is a plan that does not exist, never an error of the server."""
    with pytest.raises(PlanNotFound):
        unpack_plan(token)
    with pytest.raises(PlanTaskNotFound):
        unpack_task(token)


@pytest.mark.parametrize(
    "value",
    [
        [2, 1, None, 0, True, b"true", [], None, None],
        [1, "1", None, 0],
        [1, 1, None, 0, True, b"true", [], None, ["path"]],
        [1, 1, None, 0, True, b"true", [], None, [1], "more"],
        {"version": 1},
        "x" * 5_000_000,
    ],
)
def test_tokens_of_other_shapes_are_not_found(value: object) -> None:
    """Other versions, wrong types, and bombs of compressed bytes."""
    with pytest.raises(PlanNotFound):
        unpack_plan(packed(value))
    with pytest.raises(PlanTaskNotFound):
        unpack_task(packed(value))


def test_plans_and_tasks_are_not_taken_for_each_other() -> None:
    """A task is no plan, and a plan no task."""
    plan = Pinned(1, 5, None, 0, filter=b"true")
    task = msgspec.structs.replace(plan, manifests=[0])

    with pytest.raises(PlanNotFound):
        unpack_plan(pack(task))
    with pytest.raises(PlanTaskNotFound):
        unpack_task(pack(plan))


def test_a_plan_id_is_short_enough_for_a_path() -> None:
    """A filter that does not fit is left out, and the id says so."""
    noise = bytes(zlib.crc32(bytes([n % 256, n // 256])) % 256 for n in range(5_000))
    found = Pinned(1, 5, None, 0, filter=noise)

    assert len(plan_id(found)) <= 2_000
    assert unpack_plan(plan_id(found)).filter is None
