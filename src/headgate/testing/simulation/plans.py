"""What a simulation consists of and what happens to it, as rates. Everything else is drawn."""

from typing import NamedTuple

from headgate.limits import SWEEP_GRACE_SECONDS_MIN


class Plan(NamedTuple):
    """How many nodes there are, and how often what happens to them: each rate is a share of the
    moments at which something may happen."""

    nodes: int = 3
    clients: int = 3
    """Of each node."""
    grace_seconds: float = SWEEP_GRACE_SECONDS_MIN
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
    ambushes: float = 0.02
    """Of requests that change something: the process is stopped before it leaves."""
    jump_seconds_max: float = 30 * 86_400.0
    must_open: bool = True
    """Whether a node with the right time must be able to open the store at the end."""


EVERYTHING = Plan()
STALLS = Plan(suspensions=0.0, kills=0.0, jumps=0.0, drifts=0.0, seasons=0.0, cuts=0.0)
CLOCKS = Plan(stops=0.0, suspensions=0.0, kills=0.0, seasons=0.0, cuts=0.0, ambushes=0.0, jumps=0.3)
NETWORK = Plan(jumps=0.0, drifts=0.0, suspensions=0.0, seasons=0.5)
