"""Authentication as a whole: from settings to what tells who asks, and what confirms it."""

import stat
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from headgate.access.auditing import Unrecorded
from headgate.catalog.checkpoints import SigningLogKey
from headgate.catalog.identities import Identities, create_identities
from headgate.catalog.passwords import WORKER, Passwords
from headgate.catalog.sealing import MasterKey
from headgate.catalog.signing_keys import SigningKeys
from headgate.errors import BadSetting
from headgate.http.authentication.authenticator import Authenticator, Methods
from headgate.http.authentication.issuers import IssuerOptions, OidcIssuers
from headgate.http.authentication.key_sets import ALGORITHMS, KeySet
from headgate.http.authentication.own_tokens import Lifetimes, OwnTokens
from headgate.http.authentication.simple_tokens import ISSUER, SimpleTokens
from headgate.http.authentication.token_endpoint import (
    Granter,
    KeptGranter,
    SimpleGranter,
    TokenEndpoint,
)
from headgate.http.gravitino.server_info import SHOWN_TOKEN_PATH
from headgate.http.origins import is_loopback
from headgate.http.refused_logins import Audit, RefusedLogins
from headgate.http.router import Refused, Surface, unrecorded
from headgate.kernel.kernel import Kernel
from headgate.limits import PASSWORDS_AT_ONCE_MAX
from headgate.server_settings import KEY_BYTES, listed, own_key, random_bytes, token_secret
from headgate.settings.authentication import (
    MASTER_KEY,
    MASTER_KEY_FILE,
    METHODS,
    OIDC_ALGORITHMS,
    OIDC_AUDIENCE,
    OIDC_CLOCK_SKEW,
    OIDC_GROUPS_CLAIM,
    OIDC_ISSUERS,
    OIDC_PRINCIPAL_CLAIM,
    SESSION_SECONDS,
    TOKEN_SECONDS,
    TOKEN_SECRET,
)
from headgate.settings.authorization import AUTHORIZATION_ENABLED
from headgate.settings.key_files import KEYS_FOLDER
from headgate.settings.server import READ_ONLY
from headgate.settings.setting import Setting, Settings
from headgate.settings.store import BACKEND, DATA
from headgate.settings.urls import scheme
from headgate.wiring import is_there
from headgate.workers.pool import PoolOptions, WorkerPool

SIMPLE, BASIC, TOKEN, OIDC, OAUTH = "simple", "basic", "token", "oidc", "oauth"
EMBEDDED = frozenset({"", "sqlite", "memory"})
TOKEN_PATH = "/iceberg/v1/oauth/tokens"  # noqa: S105  where tokens are issued
PRIVATE = stat.S_IRWXG | stat.S_IRWXO


class Authentication(NamedTuple):
    """What a server process needs to know its callers."""

    authenticator: Authenticator
    endpoint: TokenEndpoint
    identities: Identities
    passwords: Passwords
    has_passwords: bool
    """Whether callers can come with one."""
    tokens: OwnTokens | None
    is_needed: bool
    """Whether callers have to be compared with the kept identities at all."""
    refused: Refused = unrecorded
    """Records refused logins."""

    def guarding(self, surface: Surface) -> Surface:
        """The same surface, whose callers are authenticated."""
        dialect = surface.dialect.challenging(self.authenticator.challenges)
        return surface._replace(
            dialect=dialect, authenticate=self.authenticator.caller, refused=self.refused
        )

    @property
    def confirming(self) -> Identities | None:
        """What compares them; without it nothing is read for that."""
        return self.identities if self.is_needed else None


async def open_authentication(
    settings: Settings, kernel: Kernel, stack: AsyncExitStack, audit: Audit | None = None
) -> Authentication:
    """All of it on this kernel; closed with the stack."""
    logins = RefusedLogins(audit or Unrecorded(), kernel.clock)
    stack.callback(logins.close)
    if not settings[READ_ONLY]:
        await create_identities(kernel)
    methods = methods_of(settings)
    passwords = open_passwords(stack)
    identities = Identities(kernel, passwords)
    simple = SimpleTokens(token_secret(settings), kernel.clock) if SIMPLE in methods else None
    tokens = await _tokens(settings, kernel) if TOKEN in methods else None
    issuers = _issuers(settings, kernel) if OIDC in methods else None
    ways = Methods(simple, BASIC in methods, tokens, issuers)
    return Authentication(
        Authenticator(ways, kernel.clock, identities),
        TokenEndpoint(_granter(tokens, simple, identities), logins.note),
        identities,
        passwords,
        BASIC in methods,
        tokens,
        settings[AUTHORIZATION_ENABLED] or not ways.only_simple,
        logins.refused,
    )


def open_passwords(stack: AsyncExitStack) -> Passwords:
    """What hashes passwords, in processes that are closed with the stack."""
    pool = WorkerPool(WORKER, PoolOptions(workers=PASSWORDS_AT_ONCE_MAX))
    stack.push_async_callback(pool.close)
    return Passwords(pool, random_bytes(KEY_BYTES))


def _granter(
    tokens: OwnTokens | None, simple: SimpleTokens | None, identities: Identities
) -> Granter | None:
    """Where tokens prove something, none is given without a proof."""
    if tokens is not None:
        return KeptGranter(tokens, identities)
    return SimpleGranter(simple) if simple is not None else None


async def _tokens(settings: Settings, kernel: Kernel) -> OwnTokens:
    keys = signing_keys(settings, kernel)
    if not settings[READ_ONLY]:
        await keys.ensure()
    await keys.load()
    return own_tokens(settings, keys, kernel)


def own_tokens(settings: Settings, keys: SigningKeys, kernel: Kernel) -> OwnTokens:
    """Headgate's own tokens, signed with these keys."""
    lifetimes = Lifetimes(settings[TOKEN_SECONDS], settings[SESSION_SECONDS])
    return OwnTokens(keys, kernel.clock, random_bytes, lifetimes)


def signing_keys(settings: Settings, kernel: Kernel) -> SigningKeys:
    """The keys of a store; its first one has to be made."""
    return SigningKeys(kernel, MasterKey(master_key(settings), random_bytes), random_bytes)


def methods_of(settings: Settings) -> frozenset[str]:
    """The methods that are on."""
    named = listed(settings[METHODS])
    oauth = OIDC if settings[OIDC_ISSUERS] else TOKEN
    methods = frozenset(oauth if one == OAUTH else one for one in named)
    unknown = sorted(methods - {SIMPLE, BASIC, TOKEN, OIDC})
    if unknown or not methods:
        raise _unusable(
            METHODS,
            f"{unknown[0]!r} is unknown" if unknown else "it names none",
            "Choose among simple, basic, token and oidc",
        )
    return methods


def shown_methods(settings: Settings) -> dict[str, object]:
    """What Gravitino's clients and consoles are told of it, in Gravitino's words."""
    methods = methods_of(settings)
    oauth = [OAUTH] if methods & {TOKEN, OIDC} else []
    return {
        "gravitino.authenticators": [*sorted(methods & {SIMPLE, BASIC}), *oauth],
        **({SHOWN_TOKEN_PATH: TOKEN_PATH} if TOKEN in methods else {}),
    }


def believes_everybody(settings: Settings) -> bool:
    """Whether a caller can be whoever it likes, or may do whatever it likes."""
    return SIMPLE in methods_of(settings) or not settings[AUTHORIZATION_ENABLED]


def shared_names(settings: Settings) -> str:
    """What to say if several vouch for users of the same names; empty if one alone does."""
    methods = methods_of(settings)
    if OIDC not in methods:
        return ""
    names = [
        *issuer_addresses(settings),
        *(["Headgate itself"] if methods & {BASIC, TOKEN} else []),
    ]
    if len(names) == 1:
        return ""
    return (
        f"{' and '.join(names)} vouch for the same names: a user, also a service admin, is whoever "
        "any of them says it is; name only issuers that you trust with all users"
    )


def check_authentication(settings: Settings) -> None:
    """Refuse settings that cannot be used, before anything is made of them."""
    methods = methods_of(settings)
    if settings[TOKEN_SECRET]:
        token_secret(settings)
    if OIDC in methods:
        issuer_addresses(settings)
        _issuer_options(settings)
    if TOKEN in methods and not _has_own_file(settings):
        master_key(settings)


def master_key(settings: Settings) -> bytes:
    """The operator's; for an embedded store else one that is made on first use."""
    given, file = settings[MASTER_KEY], settings[MASTER_KEY_FILE]
    if given and file:
        raise _unusable(MASTER_KEY, f"{MASTER_KEY_FILE.name} is set too", "Set one of them")
    if _has_own_file(settings):
        return own_key(settings[DATA] / KEYS_FOLDER / "master.key", instead=MASTER_KEY.name)
    if not given and not file:
        raise BadSetting(
            "nothing can be signed",
            why="the database is shared, and there is no master key to seal or make keys with",
            fix=f"Set {MASTER_KEY.name} or {MASTER_KEY_FILE.name}, the same on all nodes",
        )
    key = given.encode() if given else _read_private(Path(file).expanduser())
    if len(key) < KEY_BYTES:
        raise _unusable(
            MASTER_KEY if given else MASTER_KEY_FILE,
            f"the key has less than {KEY_BYTES} bytes",
            "Use a long random text",
        )
    return key


def log_key(settings: Settings, *, create: bool = True) -> SigningLogKey:
    """What signs checkpoints of the log; refused if it has to be made of a key that is not there,
    and none is to be made."""
    if not create and not has_master_key(settings):
        raise _unusable(
            MASTER_KEY,
            "this store has no master key, and a new one would not be the one that signed",
            f"Restore keys/master.key in the data directory, or set {MASTER_KEY.name}; to check "
            "what another store signed, give the key that signed it with --public-key",
        )
    return SigningLogKey(master_key(settings))


def has_master_key(settings: Settings) -> bool:
    """Whether there is one: the operator's, or one that was made before."""
    chosen = settings[MASTER_KEY] or settings[MASTER_KEY_FILE]
    own = settings[DATA] / "keys" / "master.key"
    return bool(chosen) or (_has_own_file(settings) and is_there(own))


def issuer_addresses(settings: Settings) -> dict[str, str]:
    """Where the key set of each issuer is."""
    pairs = [one.partition("=") for one in listed(settings[OIDC_ISSUERS])]
    if not pairs:
        raise _unusable(OIDC_ISSUERS, "oidc is on and no issuer is named", "Write ISSUER=URL")
    for issuer, _, url in pairs:
        parts = urlsplit(url)
        local = parts.scheme == "http" and is_loopback(parts.hostname or "")
        if not issuer or issuer == ISSUER or not parts.hostname or parts.username is not None:
            raise _unusable(OIDC_ISSUERS, "it is not of the form ISSUER=URL", "Correct it")
        if parts.scheme != "https" and not local:
            raise _unusable(
                OIDC_ISSUERS,
                "keys that come over plain HTTP can be exchanged on their way",
                "Use https://",
            )
    return {issuer: url for issuer, _, url in pairs}


def _issuers(settings: Settings, kernel: Kernel) -> OidcIssuers:
    key_sets = {
        issuer: KeySet(url, kernel.clock) for issuer, url in issuer_addresses(settings).items()
    }
    return OidcIssuers(key_sets, _issuer_options(settings), kernel.clock)


def _issuer_options(settings: Settings) -> IssuerOptions:
    algorithms = frozenset(listed(settings[OIDC_ALGORITHMS]))
    unknown = sorted(algorithms - ALGORITHMS.keys())
    if unknown:
        raise _unusable(
            OIDC_ALGORITHMS,
            f"{unknown[0]!r} is not allowed",
            f"Choose among {', '.join(ALGORITHMS)}",
        )
    if not settings[OIDC_AUDIENCE]:
        raise _unusable(
            OIDC_AUDIENCE,
            "tokens that were issued for others would be accepted",
            "Name the audience that the provider puts into tokens for this server",
        )
    return IssuerOptions(
        settings[OIDC_AUDIENCE],
        settings[OIDC_CLOCK_SKEW],
        settings[OIDC_PRINCIPAL_CLAIM],
        settings[OIDC_GROUPS_CLAIM],
        algorithms,
    )


def _has_own_file(settings: Settings) -> bool:
    """Whether the master key is one that the store's own machine makes."""
    chosen = settings[MASTER_KEY] or settings[MASTER_KEY_FILE]
    embedded = not settings[BACKEND] or scheme(settings[BACKEND]) in EMBEDDED
    return embedded and not chosen


def _read_private(path: Path) -> bytes:
    try:
        if path.stat().st_mode & PRIVATE:
            raise _unusable(
                MASTER_KEY_FILE, "others than its owner can use the file", f"Run chmod 600 {path}"
            )
        return path.read_bytes().strip()
    except OSError as error:
        raise _unusable(
            MASTER_KEY_FILE, f"it cannot be read ({error.strerror})", "Check the path"
        ) from error


def _unusable(setting: Setting[str], why: str, fix: str) -> BadSetting:
    return BadSetting(f"setting {setting.name!r} cannot be used", why=why, fix=fix)
