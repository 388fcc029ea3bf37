"""What a simulation consists of and what happens to it, as rates. Everything else is drawn."""

import random
from typing import NamedTuple

from headgate.limits import SWEEP_GRACE_SECONDS_MIN


class Plan(NamedTuple):
    """How many nodes there are, and how often what happens to them: each rate is a share of the
    moments at which something may happen."""

    nodes: int = 5
    clients: int = 2
    """Of each node."""
    grace_seconds: float = SWEEP_GRACE_SECONDS_MIN
    sweep_grace_seconds: float = SWEEP_GRACE_SECONDS_MIN
    """The one that sweeps keep: another one is a mistake."""
    sweeps: bool = True
    purges: bool = True
    catalogs: bool = True
    stops: float = 0.15
    suspensions: float = 0.1
    kills: float = 0.1
    jumps: float = 0.1
    drifts: float = 0.05
    seasons: float = 0.2
    cuts: float = 0.05
    ambushes: bool = True
    """Whether processes are stopped right before a request leaves them."""
    jump_seconds_max: float = 30 * 86_400.0

    @property
    def must_open(self) -> bool:
        """Whether a node must be able to write to the store at the end: no clock was ever wrong."""
        return not self.jumps and not self.drifts


EVERYTHING = Plan()
STALLS = Plan(
    purges=False,
    catalogs=False,
    suspensions=0.0,
    kills=0.0,
    jumps=0.0,
    drifts=0.0,
    seasons=0.0,
    cuts=0.0,
)
CLOCKS = Plan(
    stops=0.0,
    suspensions=0.0,
    purges=False,
    catalogs=False,
    kills=0.0,
    seasons=0.0,
    cuts=0.0,
    ambushes=False,
    jumps=0.3,
)
NETWORK = Plan(jumps=0.0, drifts=0.0, suspensions=0.0, seasons=0.5)

SUSPENSIONS = Plan(stops=0.0, kills=0.0, jumps=0.0, drifts=0.0, cuts=0.0, suspensions=0.3)


class Habits(NamedTuple):
    """How clients behave in one run, drawn from its seed."""

    thinking_seconds_max: float
    following: float
    """The share of changes to the pointer that was changed last, on whichever node."""
    ambushes: float
    """The share of requests before which a process is stopped, of the kind that is favoured."""
    ambushed_reads: bool
    """Whether these are reads, as between two attempts of a batch, or else writes."""


def habits(chance: random.Random) -> Habits:
    """Draw how clients behave: some are busy, some idle for a long time."""
    return Habits(
        chance.choice((60.0, 600.0, 3_000.0, 12_000.0)),
        chance.choice((0.2, 0.5, 0.9)),
        chance.choice((0.02, 0.1, 0.3)),
        chance.random() < 0.3,
    )
