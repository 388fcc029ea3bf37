"""Decisions of a request: made by the rules, refused in words, recorded by the audit."""

from collections.abc import Sequence

from headgate.access.auditing import Decision, Unrecorded
from headgate.access.decisions import Access, Weight, permits
from headgate.access.needs import needs
from headgate.access.objects import IN_SCHEMA, ObjectType
from headgate.access.rules import LOAD_CATALOG, LOAD_METALAKE, Rule
from headgate.catalog.calls import Call
from headgate.catalog.guards import Guard
from headgate.catalog.ports import Audit
from headgate.clock import Clock
from headgate.errors import Forbidden, NotAuthenticated

SHOWN_CHARS_MAX = 200


class Judge:
    """Lets callers do what they may."""

    def __init__(self, audit: Audit, clock: Clock, separator: str = ":") -> None:
        self._audit = audit
        self._clock = clock
        self._separator = separator
        """What joins the levels of a schema in a refusal, as whoever grants rights writes it."""

    def unheard(self) -> "Judge":
        """One who judges alike and is not recorded: for what nobody asked for."""
        return Judge(Unrecorded(), self._clock, self._separator)

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
        shown: str = "",
    ) -> None:
        """Refuse what the rule does not permit; `names` tells on what, from the catalog down.

        `shown` is how the caller wrote that, if it did in one text.
        """
        if not access.is_checked:
            return
        if permits(rule, weight, access.standing):
            self._record(rule, call, names, "")
            return
        why = f"none of its roles and nothing it owns permits it, by the rule {rule.action}"
        self._record(rule, call, names, why)
        is_inside = rule.on & (ObjectType.SCHEMA | IN_SCHEMA) or len(names) > 1
        if is_inside and not shown and not permits(LOAD_CATALOG, weight, access.standing):
            rule, names = LOAD_CATALOG, names[:1]  # what it hears of a catalog that is not there
        raise Forbidden(
            f"User '{call.caller.name}' is not authorized to perform operation '{rule.action}' "
            f"on {self._object(rule, call, names, shown)}",
            why=f"it needs {needs(rule)}",
            fix="See docs/reference/rights.md",
        )

    def _object(self, rule: Rule, call: Call, names: tuple[str, ...], shown: str) -> str:
        """What a rule refused, in words that are the same whether it exists or not."""
        if shown:
            return f"metadata '{shown[:SHOWN_CHARS_MAX]}'"
        if names:
            catalog, *below = names
            schema, leaf = (below[:-1], below[-1:]) if rule.on & IN_SCHEMA else (below, [])
            joined = [self._separator.join(schema)] if schema else []
            return f"metadata '{'.'.join((catalog, *joined, *leaf))}'"
        metalake = call.catalog.metalake
        return f"the metalake '{metalake}'" if rule.on and metalake else "the server"

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
