"""Decides which password is verified next, so that guesses keep no login out.

Addresses take turns. Of one address the login that came first goes first; one that was refused
keeps its rank for its next try, so a client that tries again overtakes guesses that are made up
anew. A name that lately logged in from an address goes before all others of that address. Nothing
here depends on whether a name exists.
"""

import asyncio
import itertools
from collections import Counter, OrderedDict
from collections.abc import Hashable
from typing import NamedTuple, TypeVar

from headgate.errors import Overloaded
from headgate.limits import (
    PASSWORDS_AT_ONCE_MAX,
    PASSWORDS_PER_ADDRESS_MAX,
    PASSWORDS_PER_USER_AT_ONCE_MAX,
    PASSWORDS_RANKS_KNOWN_MAX,
    PASSWORDS_TRUSTED_MAX,
    PASSWORDS_WAITING_MAX,
)

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Login(NamedTuple):
    """A name that somebody wants to use, and from where."""

    address: str
    name: str


class Turn:
    """A password that is to be verified: waiting, or its time has come."""

    __slots__ = ("come", "login", "mark", "rank")

    def __init__(self, login: Login, mark: bytes, rank: tuple[bool, int]) -> None:
        self.login = login
        self.mark = mark
        self.rank = rank
        """Lower ones go first."""
        self.come: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when it may be verified; `Overloaded` if it has to give way."""


class QueueLimits(NamedTuple):
    """How many passwords are verified at once, and how many may wait for that."""

    at_once: int = PASSWORDS_AT_ONCE_MAX
    waiting: int = PASSWORDS_WAITING_MAX
    per_address: int = PASSWORDS_PER_ADDRESS_MAX
    """That wait."""
    per_login: int = PASSWORDS_PER_USER_AT_ONCE_MAX
    """Of one name from one address, that wait or are being verified."""


class PasswordQueue:
    """The passwords that wait to be verified, by address."""

    def __init__(self, limits: QueueLimits = QueueLimits()) -> None:  # noqa: B008  frozen
        self._limits = limits
        self._running = 0
        self._waiting: OrderedDict[str, list[Turn]] = OrderedDict()
        """By address; the first of them has the next turn."""
        self._logins: Counter[Login] = Counter()
        self._numbers = itertools.count()
        self._ranks: OrderedDict[bytes, int] = OrderedDict()
        """Of logins that were refused, by their marks."""
        self._trusted: OrderedDict[Login, None] = OrderedDict()
        """That succeeded lately."""

    @property
    def count(self) -> int:
        """How many are waiting."""
        return sum(map(len, self._waiting.values()))

    def enter(self, login: Login, mark: bytes) -> Turn:
        """Take a turn, now or later; `Overloaded` if others have to come first."""
        number = self._ranks.pop(mark, None)
        rank = login not in self._trusted, next(self._numbers) if number is None else number
        turn = Turn(login, mark, rank)
        if self._running < self._limits.at_once:
            self._running += 1
            self._logins[login] += 1
            turn.come.set_result(None)
            return turn
        self._make_room(turn)
        self._logins[login] += 1
        self._waiting.setdefault(login.address, []).append(turn)
        return turn

    def leave(self, turn: Turn) -> None:
        """The password of this turn is verified, or is not to be: the next one has its turn."""
        self._forget(turn)
        if not turn.come.done() or turn.come.cancelled():  # its request was given up
            self._withdraw(turn)
            return
        if turn.come.exception() is not None:
            return  # it never had its turn
        self._running -= 1
        if self._waiting:
            self._call_next()

    def succeeded(self, login: Login) -> None:
        """This name may go first from this address."""
        _keep(self._trusted, login, None, PASSWORDS_TRUSTED_MAX)

    def _call_next(self) -> None:
        address, turns = next(iter(self._waiting.items()))
        turn = min(turns, key=lambda one: one.rank)
        self._withdraw(turn)
        if address in self._waiting:
            self._waiting.move_to_end(address)
        self._running += 1
        turn.come.set_result(None)

    def _make_room(self, turn: Turn) -> None:
        """Refuse the last one of the login, of the address or of the address with the most."""
        login, limits = turn.login, self._limits
        own = self._waiting.get(login.address, [])
        if self._logins[login] >= limits.per_login:
            self._refuse_last(turn, [one for one in own if one.login == login])
        elif len(own) >= limits.per_address:
            self._refuse_last(turn, own)
        elif self.count >= limits.waiting:
            most = max(self._waiting.values(), key=len)
            if len(own) >= len(most):
                self._refuse_last(turn, own)
            else:
                self._refuse(_last(most))

    def _refuse_last(self, turn: Turn, others: list[Turn]) -> None:
        last = _last([*others, turn])
        if last is turn:
            _keep(self._ranks, turn.mark, turn.rank[1], PASSWORDS_RANKS_KNOWN_MAX)
            raise _overloaded()
        self._refuse(last)

    def _refuse(self, turn: Turn) -> None:
        _keep(self._ranks, turn.mark, turn.rank[1], PASSWORDS_RANKS_KNOWN_MAX)
        self._withdraw(turn)
        turn.come.set_exception(_overloaded())

    def _withdraw(self, turn: Turn) -> None:
        turns = self._waiting[turn.login.address]
        turns.remove(turn)
        if not turns:
            del self._waiting[turn.login.address]

    def _forget(self, turn: Turn) -> None:
        self._logins[turn.login] -= 1
        if not self._logins[turn.login]:
            del self._logins[turn.login]


def _last(turns: list[Turn]) -> Turn:
    return max(turns, key=lambda one: one.rank)


def _keep(known: OrderedDict[K, V], key: K, value: V, most: int) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > most:
        known.popitem(last=False)


def _overloaded() -> Overloaded:
    return Overloaded(
        "The password was not verified",
        why="too many others are being verified",
        fix="Try again later",
    )
