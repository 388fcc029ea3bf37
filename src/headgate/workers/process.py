"""One worker process, as its server sees it: two pipes, and an end."""

import asyncio
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from headgate.workers.frames import ANSWER, PART, PARTS

CHUNK_BYTES = 1 << 18  # what the loop copies at a time
CHUNKS_AT_ONCE = 8


class Worker:
    """A process that does one job at a time."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        requests: asyncio.StreamWriter,
        answers: asyncio.StreamReader,
        answering: asyncio.ReadTransport,
    ) -> None:
        self._process = process
        self._requests = requests
        self._answers = answers
        self._answering = answering
        self.is_free = False
        """True when no job is under way, so that the next answer belongs to the next request."""
        self.retirement: asyncio.TimerHandle | None = None

    @property
    def is_alive(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    async def send(self, parts: Sequence[bytes]) -> None:
        """Ask for a job: its name and its arguments."""
        pipe = self._requests
        pipe.write(PARTS.pack(len(parts)))
        for part in parts:
            pipe.write(PART.pack(len(part)))
            for start in range(0, len(part), CHUNK_BYTES):
                pipe.write(part[start : start + CHUNK_BYTES])
                await pipe.drain()
                await asyncio.sleep(0)  # a worker that reads quickly leaves nothing to wait for
        await pipe.drain()

    async def receive(self) -> tuple[bytes, bytes]:
        """The next answer: of what kind it is, and its content."""
        pipe = self._answers
        kind, size = ANSWER.unpack(await pipe.readexactly(ANSWER.size))
        chunks = []
        while size:
            chunks.append(await pipe.readexactly(min(size, CHUNK_BYTES)))
            size -= len(chunks[-1])
        if len(chunks) <= CHUNKS_AT_ONCE:
            return kind, b"".join(chunks)
        whole = await asyncio.to_thread(b"".join, chunks)  # without the interpreter's lock
        while chunks:
            del chunks[-CHUNKS_AT_ONCE:]  # also to give memory back takes its time
            await asyncio.sleep(0)
        return kind, whole

    def kill(self) -> None:
        """End it, whatever it does. Nobody will read what it still says."""
        self._process.kill()
        if not self._requests.transport.is_closing():
            self._requests.transport.abort()
        self._answering.close()

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    async def ended(self, seconds: float | None = None) -> bool:
        """Wait until it is gone; False if it is still there after so many seconds."""
        try:
            await asyncio.to_thread(self._process.wait, seconds)
        except subprocess.TimeoutExpired:
            return False
        return True


async def start(command: Sequence[str], *, is_apart: bool = False) -> Worker:
    """A new worker. One that is apart does not hear what a terminal tells all processes.

    The event loop would fork, which takes the longer the more memory is in use: tens of
    milliseconds. `Popen` copies nothing. If it fails, nothing is left.
    """
    loop = asyncio.get_running_loop()
    process = subprocess.Popen(  # noqa: ASYNC220, S603  a millisecond, and a command of ours
        command,
        bufsize=0,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        process_group=0 if is_apart else None,
    )
    answering: asyncio.ReadTransport | None = None
    try:
        answers = asyncio.StreamReader(CHUNK_BYTES, loop)
        answering, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(answers, loop=loop), process.stdout
        )
        sending, flow = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader(loop=loop), loop=loop),
            process.stdin,
        )
    except BaseException:
        await _undo(process, answering)
        raise
    requests = asyncio.StreamWriter(sending, flow, None, loop)
    return Worker(process, requests, answers, answering)


async def _undo(process: subprocess.Popen[bytes], answering: asyncio.ReadTransport | None) -> None:
    """End a process whose pipes are not all connected, and close these."""
    process.kill()
    pipes = [process.stdin]
    if answering is None:
        pipes.append(process.stdout)
    else:
        answering.close()  # and with it the pipe
    for pipe in pipes:
        assert pipe is not None, "both were asked for"
        with suppress(OSError):  # who failed to connect it may have closed it
            pipe.close()
    await asyncio.to_thread(process.wait)
