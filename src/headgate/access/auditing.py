"""What an audit is told: one record of each decision."""

from typing import NamedTuple

READING = ("load", "list", "miss", "read")
"""How actions begin that change nothing."""


class Decision(NamedTuple):
    """Somebody asked for something: who, what, on what, and whether it was allowed."""

    time_ms: int
    request: str
    """The id of the request, as in its answer and in the access log."""
    principal: str
    action: str
    """That of the rule."""
    metalake: str
    object: tuple[str, ...]
    """Names from the catalog down; none for the metalake itself."""
    allowed: bool
    why: str = ""
    """Why it was refused."""
    groups: tuple[str, ...] = ()
    """Those that the caller's token names."""
    address: str = ""
    """Of a refused login: where it came from."""
    times: int = 1
    """How often it happened."""

    @property
    def matters(self) -> bool:
        """Whether it is always recorded: a refusal or a change. Others are samples."""
        return not self.allowed or not self.action.startswith(READING)


class Unrecorded:
    """An audit that nobody keeps."""

    def decided(self, decision: Decision) -> None:
        """Forget it."""
