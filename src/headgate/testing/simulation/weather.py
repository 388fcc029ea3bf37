"""What a simulated network does to requests and replies, drawn from a seed."""

import math
import random
from enum import Enum
from typing import NamedTuple

REQUEST_SECONDS_MAX = 10.0
"""After which a client gives up a request."""


class Fate(Enum):
    """What becomes of one request."""

    SERVED = "served"
    REFUSED = "refused"
    """Nothing is applied, and the client is told so."""
    REQUEST_LOST = "request-lost"
    REPLY_LOST = "reply-lost"
    LATE = "late"
    """Applied after the client has given it up. Writes only."""
    DUPLICATED = "duplicated"
    """Applied when it arrives, and delivered once more later. Swaps only."""


class Weather(NamedTuple):
    """How a network behaves for a while."""

    delay_seconds: float = 0.000_5
    """Of half of all requests and replies; few take a hundred times as long."""
    refused: float = 0.0
    request_lost: float = 0.0
    reply_lost: float = 0.0
    late: float = 0.0
    duplicated: float = 0.0

    @property
    def rates(self) -> tuple[tuple[Fate, float], ...]:
        """The shares of all fates but the good one."""
        return (
            (Fate.REFUSED, self.refused),
            (Fate.REQUEST_LOST, self.request_lost),
            (Fate.REPLY_LOST, self.reply_lost),
            (Fate.LATE, self.late),
            (Fate.DUPLICATED, self.duplicated),
        )


CALM = Weather()
SLOW = Weather(0.05)
BAD = Weather(0.002, 0.02, 0.02, 0.02, 0.02, 0.01)
STORM = Weather(0.01, 0.1, 0.1, 0.1, 0.1, 0.02)
SEASONS = (CALM, CALM, SLOW, BAD, BAD, STORM)


def log_uniform(chance: random.Random, least: float, most: float) -> float:
    """A number between these; each order of magnitude is as likely as the next."""
    return math.exp(chance.uniform(math.log(least), math.log(most)))
