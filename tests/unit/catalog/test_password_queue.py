"""Who is next to have its password verified."""

from headgate.catalog.password_queue import Login, PasswordQueue, QueueLimits, Turn
from headgate.errors import Overloaded

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Guesses:
    """Asks for turns, each with a password of its own unless it is said."""

    def __init__(self, **limits: int) -> None:
        self.queue = PasswordQueue(QueueLimits(**limits))
        self._marks = 0

    def enter(self, address: str, name: str, mark: bytes = b"") -> Turn | None:
        """A turn; None if it is refused at once."""
        self._marks += 1
        try:
            return self.queue.enter(Login(address, name), mark or str(self._marks).encode())
        except Overloaded:
            return None

    def many(self, count: int, address: str = HERE) -> list[Turn | None]:
        """Turns for as many names."""
        return [self.enter(address, f"name {number}") for number in range(count)]

    def serve(self, turn: Turn | None) -> None:
        """Verify the password whose turn has come."""
        assert turn is not None
        assert is_up(turn)
        self.queue.leave(turn)


def is_up(turn: Turn | None) -> bool:
    """Whether its time has come."""
    return turn is not None and turn.come.done() and turn.come.exception() is None


def is_refused(turn: Turn | None) -> bool:
    """Whether it was refused, at once or later."""
    return turn is None or (turn.come.done() and turn.come.exception() is not None)


async def test_addresses_take_turns() -> None:
    """One login waits for one guess of another address, not for all of them."""
    guesses = Guesses(at_once=1)
    flood = guesses.many(10)
    login = guesses.enter(THERE, "ann")
    guesses.serve(flood[0])
    guesses.serve(flood[1])

    assert is_up(login)
    guesses.serve(login)
    assert [is_up(turn) for turn in flood[2:5]] == [True, False, False]


async def test_so_many_of_an_address_and_of_a_name_wait() -> None:
    """The others are refused at once, and another address finds room."""
    guesses = Guesses(at_once=1, per_address=3, per_login=2)
    guesses.enter(HERE, "ann")
    names = [guesses.enter(HERE, "ann") for _ in range(4)]
    flood = guesses.many(5)

    assert [is_refused(turn) for turn in names] == [False, True, True, True]
    assert [is_refused(turn) for turn in flood] == [False, False, True, True, True]
    assert not is_refused(guesses.enter(THERE, "ann"))
    assert guesses.queue.count == 4


async def test_when_all_wait_the_address_with_the_most_gives_way() -> None:
    """The login that came last from there is refused in favour of the new address."""
    guesses = Guesses(at_once=1, waiting=4, per_address=4)
    flood = guesses.many(5)
    login = guesses.enter(THERE, "ann")

    assert not is_refused(login)
    assert [is_refused(turn) for turn in flood] == [False, False, False, False, True]
    assert is_refused(guesses.enter(HERE, "bob"))
    assert guesses.queue.count == 4


async def test_a_login_that_tries_again_overtakes_new_guesses() -> None:
    """However many guesses of its own address fill the queue meanwhile."""
    guesses = Guesses(at_once=1, per_address=3)
    flood = guesses.many(4)
    refused = guesses.enter(HERE, "ann", b"ann's password")
    for turn in flood[:3]:
        guesses.serve(turn)
        flood += guesses.many(5)
    again = guesses.enter(HERE, "ann", b"ann's password")
    guesses.serve(flood[3])

    assert refused is None
    assert is_up(again)


async def test_a_name_that_logged_in_from_an_address_goes_first_there() -> None:
    """And only there."""
    guesses = Guesses(at_once=1)
    guesses.queue.succeeded(Login(HERE, "ann"))
    flood = guesses.many(3)
    elsewhere, here = guesses.enter(THERE, "ann"), guesses.enter(HERE, "ann")
    guesses.serve(flood[0])

    assert is_up(here)
    guesses.serve(here)
    assert is_up(elsewhere)


async def test_who_goes_away_leaves_no_trace() -> None:
    """Neither in the queue nor in the numbers."""
    guesses = Guesses(at_once=1)
    first, waiting = guesses.enter(HERE, "ann"), guesses.enter(HERE, "bob")
    assert first is not None
    assert waiting is not None
    guesses.queue.leave(waiting)
    guesses.queue.leave(first)

    assert guesses.queue.count == 0
    assert is_up(guesses.enter(HERE, "bob"))


async def test_a_request_that_is_given_up_loses_its_turn() -> None:
    """Also if it was waiting: the next one has its turn, and nothing is left of the other."""
    guesses = Guesses(at_once=1)
    first, second, third = guesses.many(3)
    assert second is not None
    second.come.cancel()
    guesses.queue.leave(second)
    guesses.serve(first)

    assert is_up(third)
    assert guesses.queue.count == 0
