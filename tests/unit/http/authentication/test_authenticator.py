"""Who sends a request, by its headers, for each way that the operator may allow."""

import base64

import pytest

from headgate.catalog.calls import Caller
from headgate.catalog.identity_users import vouch_for
from headgate.catalog.proofs import PasswordProof, TokenProof, digest_of
from headgate.errors import BadRequest, NotAuthenticated, Unavailable
from headgate.http.authentication.authenticator import Authenticator, Methods
from headgate.http.authentication.simple_tokens import SimpleTokens
from headgate.http.problems import PLAIN
from headgate.http.request import Request
from headgate.limits import KEY_SET_SECONDS, TOKEN_CHARS_MAX, TOKEN_SECONDS, TOKENS_KNOWN_MAX
from tests.unit.catalog.keeping import LIFETIMES, Keeper
from tests.unit.http.authentication.providers import OTHER_RSA, Provider, claims, issuers, signed

SECRET = b"a secret of thirty-two bytes 123"


def basic(text: str) -> str:
    return f"Basic {base64.b64encode(text.encode()).decode()}"


async def told(
    authenticator: Authenticator, authorization: str | None = None, **headers: str
) -> Caller:
    """Who a request with these headers is from."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    if authorization is not None:
        named["authorization"] = authorization
    return await authenticator.caller(Request("GET", "/", headers=named))


async def refused(authenticator: Authenticator, authorization: str | None) -> bool:
    with pytest.raises(NotAuthenticated):
        await told(authenticator, authorization)
    return True


def made(node: Keeper, methods: Methods) -> Authenticator:
    return Authenticator(methods, node.kernel.clock)


@pytest.fixture
def simple(node: Keeper) -> SimpleTokens:
    return SimpleTokens(SECRET, node.kernel.clock)


async def test_simple_believes_whoever_asks(node: Keeper, simple: SimpleTokens) -> None:
    """A name, a token of ours; whatever else there is, is anonymous."""
    authenticator = made(node, Methods(simple))

    assert await told(authenticator, basic("ann:anything")) == Caller("ann")
    assert await told(authenticator, f"Bearer {simple.issue('ann')}") == Caller("ann")
    for nobody in (None, "", "Bearer x", "Basic !", basic(":x"), "Negotiate abc", "Bearer"):
        assert await told(authenticator, nobody) == Caller()


async def test_basic_wants_a_password(node: Keeper, simple: SimpleTokens) -> None:
    """Which goes along as a digest; who gives none is nobody."""
    authenticator = made(node, Methods(basic=True))
    caller = await told(authenticator, basic("ann:pass:word"))
    assert caller == Caller("ann", proof=PasswordProof(digest_of("pass:word")))

    token = f"Bearer {simple.issue('ann')}"
    for nobody in (None, "", "Basic !", basic(":x"), "Negotiate abc", token, "Basic"):
        assert await refused(authenticator, nobody)


async def test_who_is_refused_is_told_which_ways_there_are(node: Keeper) -> None:
    """In words, and as HTTP has it; only those that are on."""
    tokens = node.tokens
    ways = {
        Methods(basic=True): ("Send a user and its password (basic)", ['Basic realm="headgate"']),
        Methods(tokens=tokens): ("Send a token that this server issued (token)", ["Bearer"]),
        Methods(basic=True, tokens=tokens): (
            "Send a user and its password (basic) or a token that this server issued (token)",
            ['Basic realm="headgate"', "Bearer"],
        ),
        Methods(issuers=issuers(Provider(), node.kernel.clock)): (
            "Send a token of an identity provider (oidc)",
            ["Bearer"],
        ),
    }
    for methods, (words, challenges) in ways.items():
        authenticator = made(node, methods)
        with pytest.raises(NotAuthenticated) as nobody:
            await told(authenticator)
        assert nobody.value.fix == words
        response = PLAIN.challenging(authenticator.challenges).answer(nobody.value)
        assert [value for name, value in response.headers if name == "www-authenticate"] == (
            challenges
        )


async def test_a_password_is_checked_where_simple_is_on_too(
    node: Keeper, simple: SimpleTokens
) -> None:
    """Who says nothing may be anonymous, but nobody may be somebody else without a proof."""
    authenticator = made(node, Methods(simple, basic=True))

    assert (await told(authenticator, basic("ann:x"))).proof is not None
    assert await told(authenticator) == Caller()
    for nobody in ("Basic !", basic(":x"), "Bearer x", "Negotiate abc"):
        assert await refused(authenticator, nobody)


async def test_a_token_of_ours_is_read_once(node: Keeper) -> None:
    """Its signature is verified once, and its end looked at each time."""
    authenticator = made(node, Methods(tokens=node.tokens))
    issued, caller = await node.token(await vouch_for(node.kernel, "ann"))
    assert isinstance(caller.proof, TokenProof)
    assert await told(authenticator, f"Bearer {issued.token}") == caller
    reads: list[str] = []
    node.tokens.read = reads.append  # type: ignore[method-assign, assignment]

    request = Request("GET", "/", headers={"authorization": f"bearer   {issued.token} "})
    assert await authenticator.caller(request) == caller
    assert request.expires_ms is not None
    assert request.expires_ms <= node.kernel.clock.wall_ms() + KEY_SET_SECONDS * 1000
    assert reads == []


async def test_a_token_ends_though_it_is_remembered(node: Keeper) -> None:
    """To the second, whether it was verified anew or not."""
    authenticator = made(node, Methods(tokens=node.tokens))
    issued, _ = await node.token(await vouch_for(node.kernel, "ann"))
    clock = node.kernel.clock
    for _ in range(LIFETIMES.token // 100 - 1):
        assert await told(authenticator, f"Bearer {issued.token}")
        clock.advance(100_000)  # type: ignore[attr-defined]
    clock.advance(98_000)  # type: ignore[attr-defined]
    assert await told(authenticator, f"Bearer {issued.token}")
    clock.advance(2_000)  # type: ignore[attr-defined]

    with pytest.raises(NotAuthenticated, match="the token has expired"):
        await told(authenticator, f"Bearer {issued.token}")


async def test_tokens_of_simple_authentication_are_worthless_elsewhere(
    node: Keeper, simple: SimpleTokens
) -> None:
    """Whoever asked for one has proved nothing."""
    token = f"Bearer {simple.issue('root')}"

    for methods in (Methods(basic=True), Methods(tokens=node.tokens)):
        assert await refused(made(node, methods), token)
    assert (await told(made(node, Methods(simple, tokens=node.tokens)), token)).name == "root"


async def test_tokens_of_providers_count_where_they_are_believed(node: Keeper) -> None:
    """Besides our own; a forged one is refused, also by a server that believes everybody else."""
    clock, provider = node.kernel.clock, Provider()
    both = Methods(tokens=node.tokens, issuers=issuers(provider, clock))
    authenticator = made(node, both)
    issued, caller = await node.token(await vouch_for(node.kernel, "ann"))
    good, bad = signed(claims(clock, sub="bob")), signed(claims(clock), OTHER_RSA)

    assert await told(authenticator, f"Bearer {good}") == Caller("bob")
    assert await told(authenticator, f"Bearer {good}") == Caller("bob")
    assert await told(authenticator, f"Bearer {issued.token}") == caller
    assert await refused(authenticator, f"Bearer {bad}")
    everybody = both._replace(simple=SimpleTokens(SECRET, clock))
    assert await refused(made(node, everybody), f"Bearer {bad}")
    assert await refused(made(node, Methods(tokens=node.tokens)), f"Bearer {good}")


async def test_a_token_is_looked_at_again_after_a_while(node: Keeper) -> None:
    """A provider may have withdrawn the key that signed it."""
    clock, provider = node.kernel.clock, Provider()
    authenticator = made(node, Methods(issuers=issuers(provider, clock)))
    token = f"Bearer {signed(claims(clock))}"
    assert await told(authenticator, token) == Caller("ann")
    provider.keys = [provider.keys[1]]
    clock.advance(KEY_SET_SECONDS * 1000)  # type: ignore[attr-defined]

    assert await refused(authenticator, token)


async def test_a_provider_that_is_away_is_no_fault_of_the_caller(node: Keeper) -> None:
    """It may come again with the same token."""
    provider = Provider()
    provider.error = ConnectionRefusedError()
    authenticator = made(node, Methods(issuers=issuers(provider, node.kernel.clock)))

    with pytest.raises(Unavailable):
        await told(authenticator, f"Bearer {signed(claims(node.kernel.clock))}")


async def test_what_is_remembered_is_bounded(node: Keeper) -> None:
    """Neither many tokens nor a long one fill the memory."""
    authenticator = made(node, Methods(tokens=node.tokens))
    client = await vouch_for(node.kernel, "ann")
    for _ in range(3):
        issued, _ = await node.token(client)
        authenticator._known |= dict.fromkeys(
            (bytes([number % 256, number // 256]) for number in range(TOKENS_KNOWN_MAX)),
            next(iter(authenticator._known.values()), None),
        )  # type: ignore[arg-type]
        await told(authenticator, f"Bearer {issued.token}")
        assert len(authenticator._known) == 1
    assert await refused(authenticator, "Bearer " + "x" * (TOKEN_CHARS_MAX + 1))
    assert await refused(authenticator, "Bearer made.up.nonsense")
    assert len(authenticator._known) == 1


@pytest.mark.parametrize("part", ["[" * 6_000, '{"a":' * 2_000, '{"alg": ["RS256"]}', "7", "null"])
async def test_nonsense_in_a_token_is_no_token(
    node: Keeper, simple: SimpleTokens, part: str
) -> None:
    """In its header or its claims: nothing breaks, whoever reads it."""
    clock = node.kernel.clock
    encoded = base64.urlsafe_b64encode(part.encode()).rstrip(b"=").decode()
    head, body, tail = signed(claims(clock)).split(".")
    for token in (f"{encoded}.{body}.{tail}", f"{head}.{encoded}.{tail}"):
        for methods in (Methods(tokens=node.tokens), Methods(issuers=issuers(Provider(), clock))):
            assert await refused(made(node, methods), f"Bearer {token}")
        assert await told(made(node, Methods(simple)), f"Bearer {token}") == Caller()


@pytest.mark.parametrize(
    ("header", "roles"),
    [
        ("ALL", None),
        ("", None),
        (" ALL ", None),
        ("NONE", ()),
        ("reader", ("reader",)),
        ("reader, writer,reader", ("reader", "writer")),
        ("all", ("all",)),
        ("none", ("none",)),
    ],
)
async def test_a_caller_may_use_some_of_its_roles(
    node: Keeper, simple: SimpleTokens, header: str, roles: tuple[str, ...] | None
) -> None:
    """By a header; without it, it uses all."""
    authenticator = made(node, Methods(simple))

    caller = await told(authenticator, basic("ann:x"), x_gravitino_active_roles=header)
    assert caller == Caller("ann", roles=roles)
    assert (await told(authenticator, x_gravitino_active_roles=header)).roles == roles


@pytest.mark.parametrize("header", ["a,,b", ",", "a,", "ALL,a", "a,NONE", "NONE,ALL"])
async def test_a_header_that_names_no_roles_is_refused(
    node: Keeper, simple: SimpleTokens, header: str
) -> None:
    """Nobody guesses what it means."""
    with pytest.raises(BadRequest, match="Invalid X-Gravitino-Active-Roles"):
        await told(made(node, Methods(simple)), x_gravitino_active_roles=header)


async def test_a_simple_token_ends_though_it_is_remembered(
    node: Keeper, simple: SimpleTokens
) -> None:
    """As it did before anything was remembered."""
    authenticator = made(node, Methods(simple))
    token = f"Bearer {simple.issue('ann')}"
    assert await told(authenticator, token)
    node.kernel.clock.advance(TOKEN_SECONDS * 1000)  # type: ignore[attr-defined]

    with pytest.raises(NotAuthenticated, match="expired"):
        await told(authenticator, token)
