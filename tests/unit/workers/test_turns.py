"""The turns that tenants take, as a pure function of what happens in which order."""

from headgate.workers.slots import shared, unshared
from headgate.workers.turns import Shares, State, Tenant, Ticket, Turns

ALICE, BOB = Tenant("north", "alice"), Tenant("north", "bob")
CAROL, DAVE = Tenant("south", "carol"), Tenant("south", "dave")


def shares(slots: int, waiting: int = 100, per_principal: int = 100, slow: int = 1) -> Shares:
    """Slots that one tenant may hold all of."""
    return Shares(slots, slots, slots, slow, waiting, per_principal)


class Desk:
    """Turns, with the tickets of each tenant in their order."""

    def __init__(self, shares: Shares) -> None:
        self.turns = Turns(shares)
        self.now = 0.0

    def ask(self, tenant: Tenant, count: int = 1) -> list[Ticket]:
        tickets = [Ticket(tenant) for _ in range(count)]
        for ticket in tickets:
            self.turns.enter(ticket, self.now)
        return tickets

    def leave(self, ticket: Ticket) -> list[Tenant]:
        return [one.tenant for one in self.turns.leave(ticket, self.now)]

    def order(self, ticket: Ticket) -> list[Tenant]:
        """Who gets the slot of this ticket, and then the slot of that one, and so on."""
        found: list[Tenant] = []
        following = self.turns.leave(ticket, self.now)
        while following:
            [one] = following
            found.append(one.tenant)
            following = self.turns.leave(one, self.now)
        return found


def states(tickets: list[Ticket]) -> list[State]:
    return [ticket.state for ticket in tickets]


def test_metalakes_take_turns_and_principals_within_them() -> None:
    """A tenant with many requests, or a metalake with many users, gets no more than its turn."""
    desk = Desk(shares(1))
    [first] = desk.ask(ALICE)
    desk.ask(ALICE, 3)
    desk.ask(BOB, 2)
    desk.ask(CAROL, 2)

    assert desk.order(first) == [ALICE, CAROL, BOB, CAROL, ALICE, BOB, ALICE]


def test_requests_of_one_tenant_are_served_in_their_order() -> None:
    """Turns are between tenants."""
    desk = Desk(shares(1))
    first, second, third = desk.ask(ALICE, 3)

    assert desk.turns.leave(first, 0) == [second]
    assert desk.turns.leave(second, 0) == [third]


def test_a_principal_leaves_a_slot_to_another_and_a_metalake_one_to_another() -> None:
    """However many requests it has, a new tenant finds a slot at once."""
    desk = Desk(shared(2))

    assert states(desk.ask(ALICE, 4)) == [State.HOLDING] * 2 + [State.WAITING] * 2
    assert states(desk.ask(BOB, 2)) == [State.HOLDING, State.WAITING]
    assert states(desk.ask(CAROL, 2)) == [State.HOLDING, State.WAITING]


def test_a_principal_holds_no_more_slots_by_asking_about_several_metalakes() -> None:
    """Its slots of all metalakes count, and so do its waiting requests."""
    desk = Desk(shared(2)._replace(waiting_per_principal=2))
    elsewhere = Tenant(CAROL.metalake, ALICE.principal)

    assert states([*desk.ask(ALICE), *desk.ask(elsewhere)]) == [State.HOLDING] * 2
    waiting = [*desk.ask(ALICE), *desk.ask(elsewhere), *desk.ask(elsewhere)]
    assert states(waiting) == [State.WAITING, State.WAITING, State.REFUSED]
    assert states([*desk.ask(BOB), *desk.ask(CAROL)]) == [State.HOLDING] * 2


def test_a_slot_wakes_jobs_of_two_tenants_that_waited_for_different_reasons() -> None:
    """One for the principal, and one for the metalake."""
    desk = Desk(shared(2))
    held, _ = desk.ask(ALICE, 2)
    desk.ask(BOB)
    elsewhere = Tenant(CAROL.metalake, ALICE.principal)
    desk.ask(Tenant(ALICE.metalake, "erin"))
    desk.ask(elsewhere)

    assert desk.leave(held) == [Tenant(ALICE.metalake, "erin"), elsewhere]


def test_a_principal_that_is_alone_has_as_many_slots_as_if_nothing_were_shared() -> None:
    """What is kept for others is not taken from it."""
    assert states(Desk(shared(2)).ask(ALICE, 3)) == states(Desk(unshared(2, 9)).ask(ALICE, 3))


def test_a_slot_that_is_kept_for_others_stays_free_for_them() -> None:
    """The next request of a principal waits for one of its own slots."""
    desk = Desk(shared(1))
    own, waiting = desk.ask(ALICE, 2)
    [other] = desk.ask(BOB)

    assert desk.leave(other) == []
    assert waiting.state is State.WAITING
    assert desk.leave(own) == [ALICE]


def test_a_full_queue_refuses_the_metalake_and_the_principal_with_the_most() -> None:
    """A newcomer takes the place of the last request of those."""
    desk = Desk(shares(1, waiting=5))
    desk.ask(ALICE)
    many, few = desk.ask(ALICE, 3), desk.ask(BOB, 2)

    [newcomer] = desk.ask(CAROL)

    assert newcomer.state is State.WAITING
    assert states(many) == [State.WAITING, State.WAITING, State.REFUSED]
    assert states(few) == [State.WAITING] * 2
    assert desk.turns.waiting == 5


def test_a_full_queue_refuses_the_most_of_the_own_metalake_before_those_of_others() -> None:
    """A metalake with many users does not push out those of a metalake with few."""
    desk = Desk(shares(1, waiting=5))
    desk.ask(DAVE)
    south, many = desk.ask(CAROL), desk.ask(ALICE, 4)

    [newcomer] = desk.ask(BOB)

    assert newcomer.state is State.WAITING
    assert states(many) == [State.WAITING] * 3 + [State.REFUSED]
    assert states(south) == [State.WAITING]


def test_a_full_queue_refuses_a_newcomer_that_has_as_many_as_all_others() -> None:
    """Tenants with equal parts do not push each other out."""
    desk = Desk(shares(1, waiting=2))
    desk.ask(ALICE)
    waiting = [*desk.ask(ALICE), *desk.ask(CAROL)]

    [newcomer] = desk.ask(BOB)
    [stranger] = desk.ask(Tenant("west", "erin"))

    assert newcomer.state is stranger.state is State.REFUSED
    assert states(waiting) == [State.WAITING] * 2


def test_no_queue_at_all_refuses_what_cannot_be_served_at_once() -> None:
    """There is nothing to make room in."""
    desk = Desk(shares(1, waiting=0))

    assert states(desk.ask(ALICE, 2)) == [State.HOLDING, State.REFUSED]


def test_a_principal_fills_only_its_own_part_of_the_queue() -> None:
    """Its next request is refused while others still may wait."""
    desk = Desk(shares(1, waiting=10, per_principal=2))

    assert states(desk.ask(ALICE, 4))[-2:] == [State.WAITING, State.REFUSED]
    assert states(desk.ask(BOB)) == [State.WAITING]


def test_a_slow_tenant_is_served_last_until_that_is_forgotten() -> None:
    """Its turn comes when no other tenant waits, or when its time is over."""
    for now, order in ((59.0, [CAROL, CAROL, ALICE]), (60.0, [ALICE, CAROL, CAROL])):
        desk = Desk(shares(1))
        [first] = desk.ask(BOB)
        desk.turns.mark_slow(ALICE, 0.0, 60.0)
        desk.ask(ALICE)
        desk.ask(CAROL, 2)
        desk.now = now

        assert desk.order(first) == order


def test_all_slow_tenants_together_hold_one_slot() -> None:
    """Users that are made for the purpose hold no more than one."""
    desk = Desk(shares(4))
    for tenant in (ALICE, BOB, CAROL):
        desk.turns.mark_slow(tenant, 0.0, 60.0)

    slow = [*desk.ask(ALICE), *desk.ask(BOB), *desk.ask(CAROL, 2)]
    quick = desk.ask(DAVE, 3)

    assert states(slow) == [State.HOLDING, *[State.WAITING] * 3]
    assert states(quick) == [State.HOLDING] * 3
    assert desk.leave(quick[0]) == []
    assert desk.leave(slow[0]) == [BOB]


def test_a_request_that_is_given_up_leaves_the_queue() -> None:
    """Neither a slot nor a place in the queue is lost."""
    desk = Desk(shares(1, waiting=2))
    first, second, third = desk.ask(ALICE, 3)

    assert desk.leave(second) == []
    assert desk.turns.waiting == 1
    assert desk.leave(first) == [ALICE]
    assert third.state is State.HOLDING
    assert desk.leave(third) == []
    assert states(desk.ask(CAROL)) == [State.HOLDING]


def test_nothing_is_kept_of_tenants_that_are_gone() -> None:
    """Names that are made up by callers fill no memory."""
    desk = Desk(shares(2))
    for number in range(100):
        tenant = Tenant(f"m{number}", "p")
        for ticket in desk.ask(tenant, 4):
            desk.leave(ticket)
        desk.turns.mark_slow(tenant, float(number), number + 1.0)

    kept, held = vars(desk.turns), vars(desk.turns._held)
    assert [len(held[name]) for name in ("_by", "_in", "_of")] == [0, 0, 0]
    assert [len(kept[name]) for name in ("_waiting", "_slow")] == [0, 1]
