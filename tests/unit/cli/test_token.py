"""`headgate token`, `user` and `group`: what operators keep, on the store itself."""

import asyncio
import io
import json
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import jwt
import pytest

from headgate.authentication import own_tokens, signing_keys
from headgate.catalog.calls import Caller
from headgate.catalog.identities import Identities, current_value
from headgate.catalog.proofs import PasswordProof, TokenProof, digest_of
from headgate.cli.main import run
from headgate.errors import NotAuthenticated
from headgate.http.authentication.own_tokens import SESSION_BYTES
from headgate.kernel.kernel import Kernel
from headgate.settings.loading import load
from headgate.wiring import open_kernel
from tests.unit.catalog.keeping import Keeper

PASSWORD = "correct horse battery"

T = TypeVar("T")


class Cli:
    """Commands on one store."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._store = ["--data", str(folder)]
        self._capsys = capsys
        self.settings = load(sets=[f"data={folder}"])

    def __call__(self, *words: str) -> Any:
        """What a command answers in JSON; it has to succeed."""
        assert run([*words, *self._store, "--json"]) == 0, self._capsys.readouterr().err
        return json.loads(self._capsys.readouterr().out)

    def says(self, *words: str) -> tuple[str, str]:
        """What a command says to people."""
        assert run([*words, *self._store]) == 0
        out, err = self._capsys.readouterr()
        return out, err

    def fails(self, *words: str) -> str:
        """What a command that cannot be done says."""
        assert run([*words, *self._store]) > 0
        return self._capsys.readouterr().err

    def work(self, work: Callable[[Kernel], Awaitable[T]]) -> T:
        async def opened() -> T:
            async with open_kernel(self.settings) as kernel:
                return await work(kernel)

        return asyncio.run(opened())

    def holder(self, token: str) -> Caller:
        """Whom a token names, by its signature."""

        async def read(kernel: Kernel) -> Caller:
            held = await own_tokens(
                self.settings, signing_keys(self.settings, kernel), kernel
            ).read(token)
            assert held is not None
            return held.caller

        return self.work(read)

    def knows(self, caller: Caller) -> bool:
        """Whether a server would know this caller now."""

        async def confirm(kernel: Kernel) -> bool:
            identities = Identities(kernel, Keeper(kernel).passwords)
            try:
                await identities.confirmed(caller, await current_value(kernel))
            except NotAuthenticated:
                return False
            return True

        return self.work(confirm)


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(tmp_path, capsys)


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Puts text where commands read it, without a terminal."""

    def put(text: str) -> None:
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))

    return put


def test_a_token_is_made_and_revoked(cli: Cli) -> None:
    """By its text or its id; its user is kept from then on."""
    first, second = cli("token", "create", "ann"), cli("token", "create", "ann", "--expires=30d")
    assert (first["user"], first["expires-in"], second["expires-in"]) == ("ann", 3_600, 2_592_000)
    callers = [cli.holder(one["token"]) for one in (first, second)]
    assert [cli.knows(caller) for caller in callers] == [True, True]

    assert cli("token", "revoke", first["token"]) == {"revoked": first["id"]}
    assert [cli.knows(caller) for caller in callers] == [False, True]
    assert cli("token", "revoke", second["id"]) == {"revoked": second["id"]}
    assert [cli.knows(caller) for caller in callers] == [False, False]
    [kept] = cli("user", "list")
    assert kept | {"created": ""} == {
        "name": "ann",
        "enabled": True,
        "has-password": False,
        "secrets": 0,
        "groups": [],
        "created": "",
    }


def test_a_token_goes_alone_to_standard_output(cli: Cli) -> None:
    """So that a script can take it as it is."""
    out, err = cli.says("token", "create", "ann", "--expires", "90m")
    claims = jwt.decode(out.strip(), options={"verify_signature": False})

    assert claims["sub"] == "ann"
    assert err == f"User 'ann' is new.\nIt is good for 90m; its id is {claims['sid']}.\n"


def test_tokens_can_be_read_from_standard_input(cli: Cli, typed: Callable[[str], None]) -> None:
    """Others see what is on a command line."""
    made = cli("token", "create", "ann")
    caller = cli.holder(made["token"])
    typed(f"{made['token']}\n")

    assert cli("token", "revoke", "-") == {"revoked": made["id"]}
    assert not cli.knows(caller)


def test_all_tokens_of_a_user_are_revoked_at_once(cli: Cli) -> None:
    """Whoever has them."""
    callers = [cli.holder(cli("token", "create", "ann")["token"]) for _ in range(2)]

    out, _ = cli.says("token", "revoke", "--user", "ann")

    assert out == "Tokens are revoked: all of user ann.\n"
    assert [cli.knows(caller) for caller in callers] == [False, False]
    assert "User does not exist: bob" in cli.fails("token", "revoke", "--user", "bob")


@pytest.mark.parametrize("text", ["", "0s", "-1d", "5w", "d", "367d", "1.5h"])
def test_times_that_mean_nothing_are_refused(cli: Cli, text: str) -> None:
    """Nothing is made of them."""
    assert "is no time a token can be good" in cli.fails(
        "token", "create", "a", f"--expires={text}"
    )


def test_an_id_that_may_be_nobodys_is_refused_from_now_on(cli: Cli) -> None:
    """Tokens are not kept, so more cannot be said."""
    id = "0" * 2 * SESSION_BYTES
    out, _ = cli.says("token", "revoke", id)

    assert out == f"Token {id} is refused from now on, if there is such a token.\n"


def test_a_user_that_is_there_already_is_not_made_again(cli: Cli) -> None:
    """What to do instead is said."""
    cli("user", "create", "ann", "--no-password")
    said = cli.fails("user", "create", "ann", "--no-password")

    assert "`headgate user password ann --data " in said


def test_what_cannot_be_revoked_is_said(cli: Cli) -> None:
    """Without what was given, which may be somebody's token."""
    cli("token", "create", "ann")
    said = cli.fails("token", "revoke", "some.other.token")
    assert "it was not issued here" in said
    assert "some.other.token" not in said
    for words in ([], ["x", "--user", "ann"]):
        assert "It is not clear what to revoke" in cli.fails("token", "revoke", *words)


def test_a_client_has_two_secrets_at_most(cli: Cli) -> None:
    """A new one puts the oldest out; what is listed are their ids."""
    made = [cli("token", "secret", "create", "engine") for _ in range(3)]
    listed = cli("token", "secret", "list", "engine")

    assert [one["id"] for one in listed] == [made[2]["id"], made[1]["id"]]
    assert not any(one["client-secret"] in str(listed) for one in made)
    cli("token", "secret", "revoke", "engine", made[1]["id"])
    out, _ = cli.says("token", "secret", "list", "engine")
    assert out.splitlines()[1].startswith(made[2]["id"])
    assert "has no secret 7" in cli.fails("token", "secret", "revoke", "engine", "7")
    out, err = cli.says("token", "secret", "create", "other")
    assert (len(out.strip()), "shown this once" in err) == (43, True)


def test_keys_are_rotated(cli: Cli) -> None:
    """Tokens of older keys stay good until these are dropped."""
    caller = cli.holder(cli("token", "create", "ann")["token"])
    assert isinstance(caller.proof, TokenProof)

    assert cli("token", "rotate-keys") == {"rotated": True, "dropped-old": False}
    assert cli.knows(caller)
    assert cli.says("token", "rotate-keys", "--drop-old")[0] == (
        "Tokens are signed with a new key.\n"
    )
    assert not cli.knows(caller)


def test_users_have_passwords_that_are_never_on_the_command_line(
    cli: Cli, typed: Callable[[str], None]
) -> None:
    """They are read from standard input, or asked for."""
    typed(f"{PASSWORD}\n")
    assert cli("user", "create", "ann") == {"name": "ann", "done": "created"}
    assert cli("user", "create", "bot", "--no-password")
    ann = Caller("ann", proof=PasswordProof(digest_of(PASSWORD)))
    assert cli.knows(ann)

    typed("short\n")
    assert "it has 5 characters" in cli.fails("user", "password", "ann")
    typed("another password\n")
    assert cli.says("user", "password", "ann")[0] == "User 'ann' is changed.\n"
    assert not cli.knows(ann)
    assert cli.knows(Caller("ann", proof=PasswordProof(digest_of("another password"))))


def test_a_person_types_a_password_twice(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """At a terminal, where it is not shown."""
    asked: dict[str, object] = {}

    def prompt(text: str, **options: object) -> str:
        asked.update(options, text=text)
        return PASSWORD

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    out, err = cli.says("user", "create", "ann")

    assert (asked["hide_input"], asked["confirmation_prompt"]) == (True, True)
    assert PASSWORD not in out + err


def test_users_are_switched_off_and_dropped(cli: Cli) -> None:
    """A table shows them; who is gone is gone."""
    cli("user", "create", "ann", "--no-password")
    assert cli.says("user", "disable", "ann")[0] == "User 'ann' is disabled.\n"
    assert not cli.knows(Caller("ann"))
    assert cli.says("user", "list")[0].splitlines() == [
        "NAME  ENABLED  PASSWORD  SECRETS  GROUPS",
        "ann   no       no        0        -",
    ]
    assert cli.says("user", "enable", "ann")[0] == "User 'ann' is enabled.\n"
    assert cli.knows(Caller("ann"))
    assert cli.says("user", "drop", "ann", "--yes")[0] == "User 'ann' is dropped.\n"
    assert "User does not exist: ann" in cli.fails("user", "drop", "ann", "--yes")
    assert "There are no kept users" in cli.says("user", "list")[0]


def test_groups_have_members(cli: Cli) -> None:
    """Kept users, put in and taken out."""
    cli("user", "create", "ann", "--no-password")
    cli("group", "create", "ops", "--comment", "on call")
    assert cli.says("group", "members", "ops", "--add=ann")[0] == "Group 'ops' is changed.\n"
    [ops] = cli("group", "list")
    assert (ops["name"], ops["comment"], ops["members"]) == ("ops", "on call", ["ann"])
    assert cli.says("group", "list")[0] == "NAME  MEMBERS\nops   ann\n"
    assert cli("user", "list")[0]["groups"] == ["ops"]

    assert "1 users are in it" in cli.fails("group", "drop", "ops", "--yes")
    assert cli.says("group", "members", "ops")[0] == "ann\n"
    assert cli("group", "members", "ops") == {"name": "ops", "members": ["ann"]}
    assert "`headgate group members ops --data " in cli.fails("group", "create", "ops")
    cli("group", "members", "ops", "--remove=ann")
    assert cli.says("group", "members", "ops")[0] == "Nobody is in it.\n"
    assert "Group does not exist: none" in cli.fails("group", "members", "none")
    cli("group", "drop", "ops", "--yes")
    assert "Group does not exist: ops" in cli.fails("group", "drop", "ops", "--yes")
    assert "There are no kept groups" in cli.says("group", "list")[0]


@pytest.mark.parametrize("words", [["token"], ["token", "secret"], ["user"], ["group"]])
def test_a_command_alone_says_what_there_is(cli: Cli, words: list[str]) -> None:
    """As all commands do."""
    assert run(words) == 0
    out, _ = cli._capsys.readouterr()
    assert out.startswith(f"Usage: headgate {' '.join(words)}")


def test_a_master_key_that_can_be_guessed_is_refused(cli: Cli) -> None:
    """It would seal nothing."""
    said = cli.fails("token", "create", "ann", "--set", "security.master-key=short")
    assert "'security.master-key' cannot be used: the key has less than 32 bytes" in said


@pytest.mark.parametrize("command", [("token", "create"), ("token", "secret", "create")])
def test_a_user_that_a_command_creates_is_said_to_be_new(
    cli: Cli, command: tuple[str, ...]
) -> None:
    """Once: a mistyped name is seen, and one that is there is not mentioned."""
    first, again = cli.says(*command, "tyop")[1], cli.says(*command, "tyop")[1]

    assert "User 'tyop' is new." in first
    assert "is new" not in again
    assert [cli(*command, name)["user-is-new"] for name in ("tyop", "other")] == [False, True]
