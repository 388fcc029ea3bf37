"""One line per request."""

import logging

from headgate.http.request import Request

logger = logging.getLogger("headgate.access")


class Exchange:
    """A request and what came of it, for the log."""

    __slots__ = ("bytes", "reads", "request", "route", "seconds", "status")

    def __init__(
        self, request: Request, route: str, *, status: int, bytes: int, reads: int, seconds: float
    ) -> None:
        self.request = request
        self.route = route
        self.status = status
        self.bytes = bytes
        self.reads = reads
        self.seconds = seconds

    def __str__(self) -> str:
        request = self.request
        return (
            f"{request.method} {request.path} {self.status} {self.seconds * 1000:.1f} ms"
            f" {self.bytes} bytes {self.reads} reads"
            f" route={self.route} principal={request.principal} request={request.id}"
        )

    def fields(self) -> dict[str, object]:
        """The same for logs that are lines of JSON."""
        request = self.request
        return {
            "method": request.method,
            "path": request.path,
            "route": self.route,
            "status": self.status,
            "ms": round(self.seconds * 1000, 3),
            "bytes": self.bytes,
            "database_reads": self.reads,
            "request_id": request.id,
            "principal": request.principal,
        }


def write(exchange: Exchange) -> None:
    """Log this request."""
    logger.info("%s", exchange, extra={"fields": exchange.fields()})
