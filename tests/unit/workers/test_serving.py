"""A worker's loop, run here."""

import io
import tracemalloc
from collections.abc import Iterator
from typing import Any

import msgspec

from headgate.errors import BadRequest
from headgate.workers.frames import (
    ANSWER,
    END,
    FAILED,
    ITEM,
    PART,
    PARTS,
    Failure,
    read_request,
)
from headgate.workers.serving import Job, serve


def request(job: bytes, *arguments: bytes) -> bytes:
    parts = [job, *arguments]
    return PARTS.pack(len(parts)) + b"".join(PART.pack(len(part)) + part for part in parts)


def answers(pipe: io.BytesIO) -> list[tuple[bytes, bytes]]:
    pipe.seek(0)
    found = []
    while header := pipe.read(ANSWER.size):
        kind, size = ANSWER.unpack(header)
        found.append((kind, pipe.read(size)))
    return found


def twice(word: bytes) -> Iterator[bytes]:
    yield word
    yield word


def refuse() -> Iterator[bytes]:
    yield b"first"
    raise BadRequest("no", why="because", fix="stop")


def err() -> Iterator[bytes]:
    yield from ()
    raise KeyError("mistake")


def recurse() -> Iterator[bytes]:
    yield from recurse()


JOBS: dict[bytes, Job] = {b"twice": twice, b"refuse": refuse, b"err": err, b"recurse": recurse}


def test_requests_are_answered_in_their_order_until_the_pipe_is_closed() -> None:
    """Every answer ends with one end."""
    pipe = io.BytesIO()

    serve(JOBS, io.BytesIO(request(b"twice", b"a") + request(b"twice", b"b")), pipe)

    expected = [[(ITEM, word), (ITEM, word), (END, b"")] for word in (b"a", b"b")]
    assert answers(pipe) == expected[0] + expected[1]


def test_a_failure_ends_an_answer_and_not_the_worker() -> None:
    """What was answered before it stays."""
    pipe = io.BytesIO()

    serve(JOBS, io.BytesIO(request(b"refuse") + request(b"twice", b"a")), pipe)

    [first, (kind, payload), *rest] = answers(pipe)
    assert first == (ITEM, b"first")
    assert kind == FAILED
    failure = msgspec.msgpack.decode(payload, type=Failure)
    assert failure == Failure("BadRequest", "no", "because", "stop")
    assert rest[-1] == (END, b"")


def test_a_worker_may_end_after_an_answer() -> None:
    """It says when it is of no use any more; what is asked then is left unread."""
    pipe = io.BytesIO()
    served: list[bytes] = []

    def once(word: bytes) -> Iterator[bytes]:
        served.append(word)
        yield word

    requests = io.BytesIO(request(b"once", b"a") + request(b"once", b"b"))
    serve({b"once": once}, requests, pipe, is_over=lambda: bool(served))

    assert answers(pipe) == [(ITEM, b"a"), (END, b"")]
    assert read_request(requests) == [b"once", b"b"]


def test_a_mistake_of_ours_is_told_with_its_traceback() -> None:
    """It is no error of the tree, so it has no name."""
    pipe = io.BytesIO()

    serve(JOBS, io.BytesIO(request(b"err")), pipe)

    failure = msgspec.msgpack.decode(answers(pipe)[0][1], type=Failure)
    assert failure.error == ""
    assert "KeyError: 'mistake'" in failure.what


def test_too_much_nesting_is_the_clients_mistake() -> None:
    """Only filters are nested that deeply."""
    pipe = io.BytesIO()

    serve(JOBS, io.BytesIO(request(b"recurse")), pipe)

    failure = msgspec.msgpack.decode(answers(pipe)[0][1], type=Failure)
    assert failure.error == "BadRequest"


def test_a_server_that_is_gone_ends_the_worker() -> None:
    """Nobody reads the answer, so nobody will ask again."""

    class Gone(io.BytesIO):
        def write(self, data: Any) -> int:
            raise BrokenPipeError

    rest = io.BytesIO(request(b"twice", b"a") + request(b"twice", b"b"))

    serve(JOBS, rest, Gone())

    assert rest.read() == request(b"twice", b"b")


def test_a_request_that_is_cut_is_none() -> None:
    """A server that is killed leaves half a request: no error, and no shorter one."""
    whole = request(b"twice", b"word")

    assert [read_request(io.BytesIO(whole[:size])) for size in range(len(whole))] == (
        [None] * len(whole)
    )
    assert read_request(io.BytesIO(whole)) == [b"twice", b"word"]


def test_a_request_is_gone_when_the_next_one_is_read() -> None:
    """Both may be metadata of hundreds of megabytes."""
    size = 8 << 20
    held: list[int] = []

    class Watched(io.BytesIO):
        """Says how much memory is held when a request begins to be read."""

        def read(self, wanted: int | None = -1, /) -> bytes:
            if wanted == PARTS.size:
                held.append(tracemalloc.get_traced_memory()[0])
            return super().read(wanted)

    pipe = Watched(2 * request(b"measure", b"x" * size))
    tracemalloc.start()
    serve({b"measure": lambda word: iter([b"%d" % len(word)])}, pipe, io.BytesIO())
    tracemalloc.stop()

    assert len(held) == 3
    assert max(held) - held[0] < size


def tell(*items: bytes) -> Iterator[bytes]:
    yield from items


def test_each_answer_that_is_new_gives_the_next_one_its_time() -> None:
    """A sign of life is the same as before, and gives none."""
    renewed: list[None] = []
    pipe = io.BytesIO(request(b"tell", b"a", b"a", b"", b"", b"b") + request(b"tell"))

    serve({b"tell": tell}, pipe, io.BytesIO(), renew=lambda: renewed.append(None))

    assert len(renewed) == (1 + 3) + 1


def test_a_job_that_runs_out_of_memory_is_too_large() -> None:
    """It is an answer like any other, and not the end of the process."""

    def greedy() -> Iterator[bytes]:
        yield from ()
        raise MemoryError

    output = io.BytesIO()
    serve({b"greedy": greedy}, io.BytesIO(request(b"greedy")), output)

    [(kind, payload)] = answers(output)
    assert kind == FAILED
    assert msgspec.msgpack.decode(payload, type=Failure).error == "TooLarge"
