"""Callers outside of any metalake: who they are, and what they may do there."""

from headgate.access.rules import Rule
from headgate.catalog.calls import Call, Caller
from headgate.catalog.identities import IDENTITIES_KEY
from headgate.catalog.lake import Lake


async def confirm(lake: Lake, caller: Caller) -> Caller:
    """The caller with all its groups, if it is who it says; NotAuthenticated if not."""
    [identities] = await lake.kernel.pointers.read([IDENTITIES_KEY])
    return await lake.openings.guard.confirmed(caller, identities)


async def require(lake: Lake, call: Call, rule: Rule) -> None:
    """Refuse the call unless this rule permits it to whom the caller is."""
    access = lake.openings.guard.outsider(await confirm(lake, call.caller))
    lake.openings.judge.check(rule, access, access.base, call, ())
