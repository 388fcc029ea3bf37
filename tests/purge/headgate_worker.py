"""The real `headgate work` as a process of its own."""

import sys

from headgate.testing.child import Child
from headgate.testing.headgate_server import START_SECONDS_MAX, HeadgateServer, environment

READY = "headgate works\n"


class HeadgateWorker(HeadgateServer):
    """Started, killed and stopped like a server, and nobody can ask it anything."""

    def start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "headgate", "work", *self._options]
        child = Child(command, self.log, environment())
        try:
            child.wait_until(lambda: READY in child.said() or None, START_SECONDS_MAX)
        except BaseException:
            child.kill()
            raise
        self._child = child
