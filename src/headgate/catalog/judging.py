"""Decisions of a request: made by the rules, refused in words, recorded by the audit."""

from collections.abc import Sequence

from headgate.access.auditing import Decision, Unrecorded
from headgate.access.decisions import Access, Weight, permits
from headgate.access.rules import LOAD_METALAKE, Rule
from headgate.catalog.calls import Call
from headgate.catalog.guards import Guard
from headgate.catalog.ports import Audit
from headgate.clock import Clock
from headgate.errors import Forbidden, NotAuthenticated


class Judge:
    """Lets callers do what they may."""

    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock

    def unheard(self) -> "Judge":
        """One who judges alike and is not recorded: for what nobody asked for."""
        return Judge(Unrecorded(), self._clock)

    async def admit(
        self, guard: Guard, call: Call, realm: str, values: Sequence[int | None]
    ) -> Access:
        """What a caller may do in a metalake; refused if it is nobody there."""
        try:
            found = await guard.rights_of(call.caller, realm, values)
        except (Forbidden, NotAuthenticated) as refused:
            self._record(LOAD_METALAKE, call, (), refused.why or str(refused))
            raise
        if found.why:
            self._record(LOAD_METALAKE, call, (), found.why)
            raise _no_user(call)
        return found.access

    def miss_metalake(self, guard: Guard, call: Call) -> None:
        """Refuse who may not be told that there is no such metalake.

        Service admins may, because they make them. Others hear what they would hear if there were
        one that they are no user of.
        """
        if guard.is_on and not (call.caller.is_server or guard.is_admin(call.caller)):
            self._record(LOAD_METALAKE, call, (), "there is no such metalake")
            raise _no_user(call)

    def check(
        self,
        rule: Rule,
        access: Access,
        weight: Weight,
        call: Call,
        names: tuple[str, ...],
        standing: int = 0,
    ) -> None:
        """Refuse what the rule does not permit; `names` tells on what, from the catalog down."""
        if not access.is_checked:
            return
        if permits(rule, weight, access.standing | standing):
            self._record(rule, call, names, "")
            return
        why = f"none of its roles and nothing it owns permits it, by the rule {rule.action}"
        self._record(rule, call, names, why)
        raise Forbidden(
            f"User '{call.caller.name}' is not authorized to perform operation '{rule.action}' "
            f"on metadata '{'.'.join(names) or call.catalog.metalake}'"
        )

    def _record(self, rule: Rule, call: Call, names: tuple[str, ...], why: str) -> None:
        if why and not call.is_fresh:
            return  # it asks again before it is answered
        caller = call.caller
        self._audit.decided(
            Decision(
                self._clock.wall_ms(),
                call.request,
                caller.name,
                rule.action,
                call.catalog.metalake,
                names,
                not why,
                why,
                caller.groups,
            )
        )


def _no_user(call: Call) -> Forbidden:
    return Forbidden(
        f"User '{call.caller.name}' is not authorized to use the metalake "
        f"'{call.catalog.metalake}'",
        why="it is no user of it, or there is none",
        fix="Ask its owner, or a service admin, to add you",
    )
