"""`headgate token`: tokens and client secrets of Headgate's own, made and taken away."""

import re
import sys
from binascii import unhexlify

import click

from headgate.authentication import own_tokens, signing_keys
from headgate.catalog.identity_users import (
    NewSecret,
    create_secret,
    get_user,
    revoke_secret,
    revoke_tokens,
    vouch_for,
)
from headgate.catalog.proofs import TokenProof
from headgate.catalog.signing_keys import revoke_session
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.errors import BadRequest, NotAuthenticated, UserNotFound
from headgate.http.authentication.own_tokens import SESSION_BYTES, Issued
from headgate.kernel.kernel import Kernel
from headgate.limits import TOKEN_SECONDS_MAX
from headgate.server_settings import random_bytes

UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400}
_DURATION = re.compile(r"(\d{1,9})([smhd]?)")
_SESSION = re.compile(rf"[0-9a-f]{{{2 * SESSION_BYTES}}}")


@click.group(invoke_without_command=True)
@click.pass_context
def token(context: click.Context) -> None:
    """Create and revoke tokens, secrets of clients, and the keys that sign tokens."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@token.command()
@click.argument("user")
@click.option("--expires", metavar="TIME", help="How long it is good: 90m, 12h, 30d.")
@shared
def create(run: Run, *, user: str, expires: str | None) -> None:
    """Create a token for USER. A user that is not there is created."""
    seconds = None if expires is None else _seconds(expires)

    async def make(kernel: Kernel) -> tuple[bool, Issued]:
        keys = signing_keys(run.settings, kernel)
        await keys.ensure()
        is_new = await _is_new(kernel, user)
        client = await vouch_for(kernel, user)
        return is_new, await own_tokens(run.settings, keys, kernel).issue(client, seconds)

    is_new, made = with_kernel(run, make, writable=True)
    if run.json:
        about = {"user": user, "token": made.token, "id": made.session, "expires-in": made.seconds}
        click.echo(to_json({**about, "user-is-new": is_new}))
    else:
        click.echo(made.token)
        _say_new(user, is_new=is_new)
        lasting = f"It is good for {_lasting(made.seconds)}; its id is {made.session}."
        click.echo(lasting, err=True)


@token.command()
@click.argument("token", metavar="TOKEN_OR_ID", default="")
@click.option("--user", help="All tokens of this user instead.")
@shared
def revoke(run: Run, *, token: str, user: str | None) -> None:
    """Make a token worthless on all nodes, with all that it was exchanged for; - reads it."""
    if bool(token) == bool(user):
        raise BadRequest(
            "It is not clear what to revoke", fix="Give a token or its id, or --user NAME"
        )
    text = sys.stdin.readline().strip() if token == "-" else token  # noqa: S105  standard input

    async def take(kernel: Kernel) -> str:
        if user:
            await revoke_tokens(kernel, user)
            return f"all of user {user}"
        return await _revoke(run, kernel, text)

    gone = with_kernel(run, take, writable=True)
    if run.json:
        click.echo(to_json({"revoked": gone}))
    elif gone == text:  # tokens are not kept, so nobody knows whether an id is one's
        click.echo(f"Token {gone} is refused from now on, if there is such a token.")
    else:
        click.echo(f"Tokens are revoked: {printable(gone)}.")


async def _revoke(run: Run, kernel: Kernel, text: str) -> str:
    """The id of what was revoked."""
    until_ms = kernel.clock.wall_ms() + TOKEN_SECONDS_MAX * 1000
    if _SESSION.fullmatch(text):
        await revoke_session(kernel, unhexlify(text), until_ms)
        return text
    tokens = own_tokens(run.settings, signing_keys(run.settings, kernel), kernel)
    try:
        held = await tokens.read(text, whole_session=True)
    except NotAuthenticated:
        return "none, it has expired"
    if held is None or not isinstance(held.caller.proof, TokenProof):
        raise BadRequest(
            "The token cannot be revoked",
            why="it was not issued here",
            fix="Give a token of this store, or its id",
        )
    await revoke_session(kernel, held.caller.proof.session, held.ends_ms)
    return held.caller.proof.session.hex()


@token.command("rotate-keys")
@click.option("--drop-old", is_flag=True, help="Make all tokens of older keys worthless.")
@shared
def rotate_keys(run: Run, *, drop_old: bool) -> None:
    """Sign tokens with a new key from now on."""

    async def rotate(kernel: Kernel) -> None:
        await signing_keys(run.settings, kernel).rotate(drop_old=drop_old)

    with_kernel(run, rotate, writable=True)
    if run.json:
        click.echo(to_json({"rotated": True, "dropped-old": drop_old}))
    else:
        click.echo("Tokens are signed with a new key.")


@token.group(invoke_without_command=True)
@click.pass_context
def secret(context: click.Context) -> None:
    """Create, list and revoke the secrets of a client."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@secret.command("create")
@click.argument("client")
@shared
def create_one(run: Run, client: str) -> None:
    """Create a secret for CLIENT, which is shown once. The one before stays good.

    CLIENT is a user; one that is not there is created.
    """

    async def make(kernel: Kernel) -> tuple[bool, NewSecret]:
        is_new = await _is_new(kernel, client)
        return is_new, await create_secret(kernel, random_bytes, client)

    is_new, made = with_kernel(run, make, writable=True)
    if run.json:
        about = {"client-id": client, "client-secret": made.secret, "id": str(made.id)}
        click.echo(to_json({**about, "user-is-new": is_new}))
    else:
        click.echo(made.secret)
        _say_new(client, is_new=is_new)
        click.echo(f"It is shown this once; its id is {made.id}.", err=True)


@secret.command("list")
@click.argument("client")
@shared
def list_(run: Run, client: str) -> None:
    """List the secrets of CLIENT: their ids, not what they are."""
    found = with_kernel(run, lambda kernel: get_user(kernel, client), writable=False)
    if run.json:
        click.echo(to_json([{"id": str(id), "created": iso(made)} for id, made in found.secrets]))
    elif found.secrets:
        click.echo(table(("ID", "CREATED"), [(str(id), iso(made)) for id, made in found.secrets]))
    else:
        click.echo("There are none; `headgate token secret create CLIENT` makes one.")


@secret.command("revoke")
@click.argument("client")
@click.argument("id", type=int)
@shared
def revoke_one(run: Run, *, client: str, id: int) -> None:
    """Make a secret of CLIENT worthless, and all tokens that were issued for it."""
    with_kernel(run, lambda kernel: revoke_secret(kernel, client, id), writable=True)
    if run.json:
        click.echo(to_json({"client-id": client, "revoked": str(id)}))
    else:
        click.echo(f"Secret {id} of {printable(client)!r} is revoked.")


async def _is_new(kernel: Kernel, name: str) -> bool:
    """Whether a command for this user is about to create it."""
    try:
        await get_user(kernel, name)
    except UserNotFound:
        return True
    return False


def _say_new(name: str, *, is_new: bool) -> None:
    if is_new:
        click.echo(f"User {printable(name)!r} is new.", err=True)


def _seconds(text: str) -> int:
    match = _DURATION.fullmatch(text)
    seconds = int(match[1]) * UNITS[match[2] or "s"] if match else 0
    if not 0 < seconds <= TOKEN_SECONDS_MAX:
        raise BadRequest(
            f"{printable(text)!r} is no time a token can be good",
            why="it is not between 1s and 366d",
            fix="Write a number and s, m, h or d, as in 30d",
        )
    return seconds


def _lasting(seconds: int) -> str:
    unit = next((unit for unit in "dhm" if seconds % UNITS[unit] == 0), "s")
    return f"{seconds // UNITS[unit]}{unit}"
