"""What the settings say about authentication, and which of them are refused."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from headgate.authentication import (
    believes_everybody,
    check_authentication,
    issuer_addresses,
    master_key,
    methods_of,
    open_authentication,
    shared_names,
    shown_methods,
)
from headgate.catalog.entities import CATALOG_TYPES
from headgate.catalog.identities import current_value
from headgate.catalog.signing_keys import KEY_BYTES
from headgate.cli.main import run
from headgate.errors import BadSetting, Unavailable
from headgate.settings.loading import load
from headgate.settings.setting import Settings
from headgate.testing.kernels import Rig

KEY = "a key that is long enough for all"
SHARED = "backend=postgresql://host/database"
OIDC = (
    "authentication.methods=oidc",
    "authentication.oidc.issuers=https://idp.example.com=https://idp.example.com/jwks",
    "authentication.oidc.audience=headgate",
)


def settings(*sets: str, data: Path | None = None) -> Settings:
    return load(sets=[*sets, *([f"data={data}"] if data else [])])


@pytest.mark.parametrize(
    ("value", "methods"),
    [
        ("simple", {"simple"}),
        ("basic, token", {"basic", "token"}),
        ("oauth", {"token"}),
        ("simple,oauth", {"simple", "token"}),
    ],
)
def test_methods_are_a_list(value: str, methods: set[str]) -> None:
    """In our words or in Gravitino's."""
    assert methods_of(settings(f"authentication.methods={value}")) == methods
    assert methods_of(settings(f"gravitino.authenticators={value}")) == methods


def test_oauth_means_providers_where_there_are_some() -> None:
    """As it does in Gravitino."""
    assert methods_of(settings(*OIDC, "authentication.methods=oauth")) == {"oidc"}


def test_clients_are_told_the_methods_in_the_words_they_know() -> None:
    """Both kinds of tokens are OAuth to them."""
    both = settings(*OIDC, "authentication.methods=simple,basic,token,oidc")

    assert shown_methods(both) == {
        "gravitino.authenticators": ["basic", "simple", "oauth"],
        "gravitino.authenticator.oauth.tokenPath": "/iceberg/v1/oauth/tokens",
    }
    assert shown_methods(settings(*OIDC)) == {"gravitino.authenticators": ["oauth"]}
    assert shown_methods(settings()) == {"gravitino.authenticators": ["simple"]}


def test_who_vouches_for_the_same_names_is_told() -> None:
    """Several issuers, or one beside users that are kept here: any of them can name an admin."""
    two = "authentication.oidc.issuers=a=https://a.example/jwks,b=https://b.example/jwks"

    assert shared_names(settings()) == ""
    assert shared_names(settings("authentication.methods=basic,token")) == ""
    assert shared_names(settings(*OIDC)) == ""
    assert shared_names(settings(*OIDC, two)).startswith("a and b vouch for the same names")
    for beside in ("basic", "token"):
        told = shared_names(settings(*OIDC, f"authentication.methods=oidc,{beside}"))
        assert told.startswith("https://idp.example.com and Headgate itself vouch")


@pytest.mark.parametrize(
    ("sets", "words"),
    [
        (["authentication.methods=kerberos"], "'kerberos' is unknown"),
        (["authentication.methods=,"], "it names none"),
        (["token.secret=short"], "shorter than 32 bytes"),
        (["authentication.methods=oidc"], "no issuer is named"),
        ([*OIDC[:2]], "tokens that were issued for others"),
        ([*OIDC, "authentication.oidc.algorithms=HS256"], "'HS256' is not allowed"),
        ([*OIDC, "authentication.oidc.algorithms=RS256,none"], "'none' is not allowed"),
        ([*OIDC, "authentication.oidc.issuers=https://idp"], "not of the form ISSUER=URL"),
        ([*OIDC, "authentication.oidc.issuers==https://idp"], "not of the form ISSUER=URL"),
        ([*OIDC, "authentication.oidc.issuers=headgate=https://idp"], "not of the form"),
        ([*OIDC, "authentication.oidc.issuers=a=https://u:p@idp/x"], "not of the form"),
        ([*OIDC, "authentication.oidc.issuers=a=http://idp/jwks"], "plain HTTP"),
        ([*OIDC, "authentication.oidc.issuers=a=file:///etc/passwd"], "not of the form"),
        ([*OIDC, "authentication.oidc.issuers=a=ftp://idp/jwks"], "plain HTTP"),
        (["authentication.methods=token", SHARED], "no master key to seal or make keys with"),
        (
            ["authentication.methods=token", SHARED, "security.master-key=short"],
            "less than 32 bytes",
        ),
        (
            [
                "authentication.methods=token",
                f"security.master-key={KEY}",
                "security.master-key-file=x",
            ],
            "is set too",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused(sets: list[str], words: str) -> None:
    """Before a server makes anything of them."""
    with pytest.raises(BadSetting, match=words) as refused:
        check_authentication(settings(*sets))
    assert KEY not in str(refused.value)


def test_settings_that_can_be_used() -> None:
    """A provider may be on this machine, and a shared database needs no key without tokens."""
    check_authentication(settings())
    check_authentication(settings(*OIDC))
    check_authentication(settings(SHARED))
    check_authentication(settings(SHARED, "authentication.methods=basic"))
    two = "a=https://idp/1?x=1,b=http://127.0.0.1:9000/jwks"
    local = settings(*OIDC, f"authentication.oidc.issuers={two}")
    check_authentication(local)

    assert issuer_addresses(local) == {
        "a": "https://idp/1?x=1",
        "b": "http://127.0.0.1:9000/jwks",
    }


def test_an_embedded_store_makes_its_own_master_key(tmp_path: Path) -> None:
    """Once, and for nobody else to read; a chosen one goes first."""
    chosen = settings("authentication.methods=token", data=tmp_path)
    check_authentication(chosen)
    assert not (tmp_path / "keys").exists(), "nothing is made by looking"

    key = master_key(chosen)

    file = tmp_path / "keys" / "master.key"
    assert file.read_bytes() == key == master_key(chosen)
    assert len(key) == KEY_BYTES
    assert file.stat().st_mode & 0o777 == 0o600
    assert master_key(settings(f"security.master-key={KEY}", data=tmp_path)) == KEY.encode()


def test_a_master_key_may_lie_in_a_file(tmp_path: Path) -> None:
    """That only its owner can use."""
    file = tmp_path / "key"
    named = settings("authentication.methods=token", SHARED, f"security.master-key-file={file}")
    with pytest.raises(BadSetting, match="it cannot be read"):
        check_authentication(named)
    file.write_text(f"{KEY}\n")
    file.chmod(0o640)
    with pytest.raises(BadSetting, match=r"others than its owner can use the file\. Run chmod 600"):
        check_authentication(named)
    file.chmod(0o600)

    check_authentication(named)
    assert master_key(named) == KEY.encode()
    file.write_text("short")
    with pytest.raises(BadSetting, match="less than 32 bytes"):
        master_key(named)


@pytest.mark.parametrize(
    ("sets", "open_to_all"),
    [
        ([], True),
        (["authentication.methods=basic"], True),
        (["authorization.enabled=true"], True),
        (["authentication.methods=simple,basic", "authorization.enabled=true"], True),
        (["authentication.methods=basic", "authorization.enabled=true"], False),
    ],
)
def test_other_machines_are_let_in_only_where_callers_prove_who_they_are(
    sets: list[str], open_to_all: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And rights are checked; or the operator says that it does not matter."""
    assert believes_everybody(settings(*sets)) == open_to_all
    options = [word for one in sets for word in ("--set", one)]
    bad = ["--set", "s3.endpoint=nonsense"]  # looked at next: no server is started
    assert run(["serve", "--host=0.0.0.0", f"--data={tmp_path}", *options, *bad]) == 2

    said = capsys.readouterr().err
    assert ("the server cannot listen on '0.0.0.0'" in said) == open_to_all
    assert ("'s3.endpoint' cannot be used" in said) != open_to_all
    for more in (["--host=0.0.0.0", "--insecure"], ["--host=127.0.0.1"]):
        assert run(["serve", *more, f"--data={tmp_path}", *options, *bad]) == 2
        assert "'s3.endpoint' cannot be used" in capsys.readouterr().err


async def test_a_server_that_only_reads_makes_nothing(tmp_path: Path) -> None:
    """It copes without the pointer, and without a key to sign with."""
    async with Rig() as rig, AsyncExitStack() as stack:
        kernel = await rig.open(types=CATALOG_TYPES)
        reading = settings("authentication.methods=token", "read-only=true", data=tmp_path)
        known = await open_authentication(reading, kernel, stack)
        assert await current_value(kernel) is None
        assert known.tokens is not None
        with pytest.raises(Unavailable, match="there is no key"):
            await known.tokens._keys.newest()

        writing = settings("authentication.methods=token", data=tmp_path)
        await open_authentication(writing, kernel, stack)
        assert await known.tokens._keys.newest()


async def test_a_simple_server_compares_nobody(tmp_path: Path) -> None:
    """So that its requests cost what they did before; the pointer is there all the same."""
    async with Rig() as rig, AsyncExitStack() as stack:
        kernel = await rig.open(types=CATALOG_TYPES)
        simple = await open_authentication(settings(data=tmp_path), kernel, stack)
        assert simple.confirming is None
        assert await current_value(kernel) == 0
        for sets in (["authorization.enabled=true"], ["authentication.methods=simple,basic"]):
            known = await open_authentication(settings(*sets, data=tmp_path), kernel, stack)
            assert known.confirming is known.identities
        assert [file.name for file in (tmp_path / "keys").iterdir()] == ["token.key"]
