"""Who is believed and what is checked, in words: for the banner, the log and the doctor."""

from collections.abc import Iterator

from headgate.authentication import BASIC, OIDC, SIMPLE, TOKEN, methods_of
from headgate.catalog.guards import PRINCIPAL_ROLES
from headgate.catalog.identity_users import list_users
from headgate.catalog.naming import ROLES, ROOT, Names
from headgate.catalog.stored_names import NAMES
from headgate.catalog.territories import HAVE_CATALOGS
from headgate.kernel.index import look, open_head
from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.server_settings import guard_options
from headgate.settings.authorization import AUTHORIZATION_ENABLED, SERVICE_ADMINS
from headgate.settings.setting import Settings

_PROOFS = {BASIC: "passwords", TOKEN: "tokens", OIDC: "tokens of identity providers"}


def access_in_words(settings: Settings) -> str:
    """One line: who is believed, and whether rights are checked."""
    methods = methods_of(settings)
    proofs = " and ".join(text for method, text in _PROOFS.items() if method in methods)
    who = "everybody is believed" if SIMPLE in methods else proofs
    checked = "checked" if settings[AUTHORIZATION_ENABLED] else "not checked"
    return f"{who}, rights are {checked}"


def access_warnings(settings: Settings) -> Iterator[str]:
    """What an operator may not have meant: rights that anybody can get, or nobody."""
    if not settings[AUTHORIZATION_ENABLED]:
        return
    methods = methods_of(settings)
    if SIMPLE in methods:
        # Where passwords and tokens are both on, a name has to be proven after all.
        who = "anonymous" if {BASIC, TOKEN} <= methods else "anybody, service admins included"
        yield (
            f"rights are checked, but anyone may call itself {who}: simple is among "
            "authentication.methods; name basic, token or oidc instead"
        )
    if not settings[SERVICE_ADMINS]:
        yield (
            "rights are checked, but nobody may make metalakes, or use those without an owner: "
            f"set {SERVICE_ADMINS.name}, or `headgate realm own METALAKE USER` gives one to a user"
        )


async def unknown_admins(settings: Settings, kernel: Kernel) -> str:
    """What to say of service admins who have no way to prove who they are; empty if all have."""
    methods = methods_of(settings)
    if not settings[AUTHORIZATION_ENABLED] or methods & {SIMPLE, OIDC}:
        return ""
    kept = {one.name for one in await list_users(kernel) if one.enabled}
    missing = sorted(guard_options(settings).admins - kept)
    if not missing:
        return ""
    return (
        f"{', '.join(missing)} cannot come in: {SERVICE_ADMINS.name} names them, and there are no "
        f"such users, or they are disabled; `headgate user create {missing[0]}` makes one"
    )


async def unchecked_users(settings: Settings, kernel: Kernel) -> str:
    """What to say of a store with users or roles whose privileges are not checked; else empty."""
    if settings[AUTHORIZATION_ENABLED]:
        return ""
    if not (await list_users(kernel) or await _has_roles(kernel)):
        return ""
    return (
        "users or roles exist, and privileges are not checked with these settings: start with "
        f"--set {AUTHORIZATION_ENABLED.name}=true, or give the settings of the server with --config"
    )


async def _has_roles(kernel: Kernel) -> bool:
    realms = [one for one in await kernel.realms.list() if one.state in HAVE_CATALOGS]
    values = await kernel.pointers.read([PointerKey(one.id, PRINCIPAL_ROLES) for one in realms])
    for realm, value in zip(realms, values, strict=True):
        head = await open_head(kernel.store, realm.id, value)
        found = await look(
            head.index(NAMES), lambda tree: next(iter(Names(tree).below(ROOT, ROLES)), None)
        )
        if found is not None:
            return True
    return False
