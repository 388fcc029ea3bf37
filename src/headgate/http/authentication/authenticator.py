"""Who sends a request, as far as the request itself tells: by header, without the database.

What has to be compared with the kept identities goes along as the caller's proof, and is compared
once the request has read them.
"""

from typing import NamedTuple, Protocol

from headgate.catalog.calls import ANYBODY, Caller
from headgate.catalog.proofs import PasswordProof, digest_of
from headgate.clock import Clock, present_ms
from headgate.errors import NotAuthenticated
from headgate.http.addresses import address_group
from headgate.http.authentication.active_roles import ACTIVE_ROLES, active_roles
from headgate.http.authentication.basic_header import basic_credentials
from headgate.http.authentication.own_tokens import OwnTokens
from headgate.http.authentication.simple_tokens import SimpleTokens, expired
from headgate.http.authentication.verifications import Verifications, token_digest
from headgate.http.request import Request
from headgate.limits import KEY_SET_SECONDS, TOKEN_CHARS_MAX, TOKENS_KNOWN_MAX


class Attested(NamedTuple):
    """Whom a token of somebody else names, and how long it is good."""

    caller: Caller
    expires_ms: int


class Issuers(Protocol):
    """Others whose tokens are believed."""

    async def read(self, token: str) -> Attested | None:
        """Whom it names; None if nobody who is believed issued it, refused if it is no good."""
        ...


class PasswordHolders(Protocol):
    """Knows whose passwords are right."""

    async def admitted(self, caller: Caller) -> Caller:
        """The caller with its password verified; `NotAuthenticated` if it is wrong."""
        ...


class Methods(NamedTuple):
    """How callers may say who they are: what is None or false is not on."""

    simple: SimpleTokens | None = None
    """Everybody is believed."""
    basic: bool = False
    tokens: OwnTokens | None = None
    issuers: Issuers | None = None

    @property
    def only_simple(self) -> bool:
        """Whether nobody has to prove anything."""
        return not (self.basic or self.tokens or self.issuers)

    @property
    def wanted(self) -> str:
        """What proves who somebody is, with the names that the settings have for it."""
        words = {
            "a user and its password (basic)": self.basic,
            "a token that this server issued (token)": self.tokens,
            "a token of an identity provider (oidc)": self.issuers,
        }
        return " or ".join(text for text, is_on in words.items() if is_on)

    @property
    def challenges(self) -> tuple[str, ...]:
        """The schemes that a refused client is told to use."""
        has_tokens = self.tokens or self.issuers or not self.basic
        basic = ('Basic realm="headgate"',) if self.basic else ()
        return (*basic, *(("Bearer",) if has_tokens else ()))


class _Known(NamedTuple):
    caller: Caller
    expires_ms: int
    until: float
    """That its signature needs no second look, by the stopwatch: the time of day may come back."""


class Authenticator:
    """Reads what requests say of their senders."""

    def __init__(
        self, methods: Methods, clock: Clock, holders: PasswordHolders | None = None
    ) -> None:
        self._methods = methods
        self._holders = holders
        """None if passwords are verified by the handlers of requests."""
        self._only_simple = methods.only_simple
        self._clock = clock
        self._known: dict[bytes, _Known] = {}
        """Tokens whose signatures were right, by their digests."""
        self._verifications = Verifications[_Known | None]()
        """Of other tokens."""

    @property
    def challenges(self) -> tuple[str, ...]:
        """The schemes that a refused client is told to use."""
        return self._methods.challenges

    def __repr__(self) -> str:
        return f"Authenticator({len(self._known)} tokens)"

    async def caller(self, request: Request) -> Caller:
        """Who sends this; `NotAuthenticated` if that cannot be told."""
        headers = request.headers
        header = headers.get("authorization")
        if header is not None:
            caller = await self._named(header, request)
        elif self._methods.simple:
            caller = ANYBODY
        else:
            raise self._nobody()
        roles = headers.get(ACTIVE_ROLES)
        return caller if roles is None else caller._replace(roles=active_roles(roles))

    async def _named(self, header: str, request: Request) -> Caller:
        scheme, _, value = header.partition(" ")
        kind = scheme.lower()
        if kind == "bearer":
            return await self._holder(value.strip(), request)
        if kind == "basic":
            return await self._user(header, request)
        if self._only_simple:
            return ANYBODY
        raise self._nobody()

    async def _user(self, header: str, request: Request) -> Caller:
        """A password that is given is checked if any can be."""
        given = basic_credentials(header)
        if self._methods.basic and given.name:
            proof = PasswordProof(digest_of(given.password), address_group(request.address))
            caller = Caller(given.name, proof=proof)
            return caller if self._holders is None else await self._holders.admitted(caller)
        if self._methods.simple and not self._methods.basic:
            return Caller(given.name) if given.name else ANYBODY
        raise self._nobody()

    async def _holder(self, token: str, request: Request) -> Caller:
        known = await self._looked_up(token, request) if len(token) <= TOKEN_CHARS_MAX else None
        if known is None:
            if self._only_simple:
                return ANYBODY
            raise self._nobody()
        now_ms = present_ms(self._clock)
        if known.expires_ms <= now_ms:
            raise expired()
        left_ms = int((known.until - self._clock.seconds()) * 1000)
        request.expires_ms = min(known.expires_ms, now_ms + left_ms)
        return known.caller

    async def _looked_up(self, token: str, request: Request) -> _Known | None:
        """What is known of a token, which is verified if that is not known any more."""
        digest = token_digest(token)
        known = self._known.get(digest)
        if known is not None and known.until > self._clock.seconds():
            return known
        self._known.pop(digest, None)
        return await self._verifications.run(
            digest, address_group(request.address), lambda: self._verify(token, digest)
        )

    async def _verify(self, token: str, digest: bytes) -> _Known | None:
        """Verify a token and remember it; None if no method that is on knows it."""
        until = self._clock.seconds() + KEY_SET_SECONDS
        read = await self._verified(token)
        if read is None:
            return None
        if len(self._known) >= TOKENS_KNOWN_MAX:
            self._known.clear()
        known = self._known[digest] = _Known(*read, until)
        return known

    async def _verified(self, token: str) -> tuple[Caller, int] | None:
        """The first who knows it says whose it is."""
        simple, _, tokens, issuers = self._methods
        if tokens and (held := await tokens.read(token)):
            return held.caller, held.expires_ms
        if issuers and (attested := await issuers.read(token)):
            return attested
        if simple and (holder := simple.read(token)):
            return Caller(holder.name), holder.expires_ms
        return None

    def _nobody(self) -> NotAuthenticated:
        return NotAuthenticated(
            "Not authorized: the request does not say who sends it, "
            "or not in a way that counts here",
            fix=f"Send {self._methods.wanted or 'the name of a user'}",
        )
