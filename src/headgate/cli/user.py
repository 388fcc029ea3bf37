"""`headgate user` and `headgate group`: users and groups that Headgate keeps, for all metalakes."""

import shlex
import sys
from contextlib import AsyncExitStack

import click

from headgate.authentication import open_passwords
from headgate.catalog.identity_groups import (
    change_members,
    create_group,
    drop_group,
    get_group,
    list_groups,
)
from headgate.catalog.identity_users import (
    create_user,
    drop_user,
    list_users,
    set_enabled,
    set_password,
)
from headgate.catalog.passwords import check_password
from headgate.cli.confirmation import confirm, yes_option
from headgate.cli.opening import with_kernel
from headgate.cli.options import Run, shared
from headgate.cli.output import iso, printable, table, to_json
from headgate.errors import GroupNotFound, UserNotFound
from headgate.kernel.kernel import Kernel


@click.group(invoke_without_command=True)
@click.pass_context
def user(context: click.Context) -> None:
    """List, create, enable, disable and drop kept users, and set their passwords."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@user.command("list")
@shared
def list_(run: Run) -> None:
    """List all kept users."""
    found = with_kernel(run, list_users, writable=False)
    if run.json:
        click.echo(
            to_json(
                [
                    {
                        "name": one.name,
                        "enabled": one.enabled,
                        "has-password": one.has_password,
                        "secrets": len(one.secrets),
                        "groups": one.groups,
                        "created": iso(one.created_ms),
                    }
                    for one in found
                ]
            )
        )
    elif found:
        rows = [
            (
                printable(one.name),
                _yes(one.enabled),
                _yes(one.has_password),
                str(len(one.secrets)),
                printable(", ".join(one.groups)) or "-",
            )
            for one in found
        ]
        click.echo(table(("NAME", "ENABLED", "PASSWORD", "SECRETS", "GROUPS"), rows))
    else:
        click.echo("There are no kept users; `headgate user create NAME` makes one.")


@user.command()
@click.argument("name")
@click.option("--no-password", is_flag=True, help="It comes with tokens only.")
@shared
def create(run: Run, *, name: str, no_password: bool) -> None:
    """Keep a new user; its password is asked for, or read from standard input."""
    text = "" if no_password else _password()

    async def make(kernel: Kernel) -> None:
        async with AsyncExitStack() as stack:
            await create_user(kernel, open_passwords(stack), name, text)

    with_kernel(run, make, writable=True)
    _answer(run, name, "created")


@user.command()
@click.argument("name")
@shared
def password(run: Run, name: str) -> None:
    """Set another password, asked for or read from standard input; old tokens are worthless."""
    text = _password()

    async def change(kernel: Kernel) -> None:
        async with AsyncExitStack() as stack:
            await set_password(kernel, open_passwords(stack), name, text)

    with_kernel(run, change, writable=True)
    _answer(run, name, "changed")


@user.command()
@click.argument("name")
@shared
def enable(run: Run, name: str) -> None:
    """Let a disabled user in again."""
    with_kernel(run, lambda kernel: set_enabled(kernel, name, enabled=True), writable=True)
    _answer(run, name, "enabled")


@user.command()
@click.argument("name")
@shared
def disable(run: Run, name: str) -> None:
    """Refuse a user everywhere, with its next request."""
    with_kernel(run, lambda kernel: set_enabled(kernel, name, enabled=False), writable=True)
    _answer(run, name, "disabled")


@user.command()
@click.argument("name")
@yes_option
@shared
def drop(run: Run, *, name: str, yes: bool) -> None:
    """Forget a user: its password, secrets, tokens and groups."""
    question = f"Forget user {printable(name)!r}, its password, secrets, tokens and groups?"
    confirm(question, f"user drop {shlex.quote(name)}", yes=yes)
    if not with_kernel(run, lambda kernel: drop_user(kernel, name), writable=True):
        raise UserNotFound(f"User does not exist: {name}", fix="`headgate user list` shows all")
    _answer(run, name, "dropped")


@click.group(invoke_without_command=True)
@click.pass_context
def group(context: click.Context) -> None:
    """List, create and drop kept groups, and change who is in them."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


@group.command("list")
@shared
def list_all(run: Run) -> None:
    """List all kept groups and who is in them."""
    found = with_kernel(run, list_groups, writable=False)
    if run.json:
        click.echo(
            to_json(
                [
                    {
                        "name": one.name,
                        "comment": one.comment,
                        "members": one.members,
                        "created": iso(one.created_ms),
                    }
                    for one in found
                ]
            )
        )
    elif found:
        rows = [(printable(one.name), printable(", ".join(one.members)) or "-") for one in found]
        click.echo(table(("NAME", "MEMBERS"), rows))
    else:
        click.echo("There are no kept groups; `headgate group create NAME` makes one.")


@group.command("create")
@click.argument("name")
@click.option("--comment", default="", help="What it is for.")
@shared
def create_one(run: Run, *, name: str, comment: str) -> None:
    """Keep a new group, with nobody in it."""
    with_kernel(run, lambda kernel: create_group(kernel, name, comment), writable=True)
    _answer(run, name, "created", "Group")


@group.command("drop")
@click.argument("name")
@click.option("--force", is_flag=True, help="Also if somebody is in it.")
@yes_option
@shared
def drop_one(run: Run, *, name: str, force: bool, yes: bool) -> None:
    """Forget a group."""
    command = f"group drop {shlex.quote(name)}{' --force' if force else ''}"
    confirm(f"Forget group {printable(name)!r}?", command, yes=yes)
    if not with_kernel(run, lambda kernel: drop_group(kernel, name, force=force), writable=True):
        raise GroupNotFound(f"Group does not exist: {name}", fix="`headgate group list` shows all")
    _answer(run, name, "dropped", "Group")


@group.command()
@click.argument("name")
@click.option("--add", metavar="USER", multiple=True, help="Put this kept user in; repeatable.")
@click.option("--remove", metavar="USER", multiple=True, help="Take this one out; repeatable.")
@shared
def members(run: Run, *, name: str, add: tuple[str, ...], remove: tuple[str, ...]) -> None:
    """Change who is in a group; without options, show it."""
    if not (add or remove):
        found = with_kernel(run, lambda kernel: get_group(kernel, name), writable=False)
        shown = to_json({"name": name, "members": found.members})
        click.echo(shown if run.json else printable("\n".join(found.members) or "Nobody is in it."))
        return
    with_kernel(
        run, lambda kernel: change_members(kernel, name, add=add, remove=remove), writable=True
    )
    _answer(run, name, "changed", "Group")


def _password() -> str:
    """Never from the command line, which others can see."""
    if sys.stdin.isatty():
        text = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    else:
        text = sys.stdin.readline().rstrip("\r\n")
    check_password(text)
    return text


def _yes(is_so: bool) -> str:  # noqa: FBT001  a cell of a table
    return "yes" if is_so else "no"


def _answer(run: Run, name: str, done: str, kind: str = "User") -> None:
    if run.json:
        click.echo(to_json({"name": name, "done": done}))
    else:
        click.echo(f"{kind} {printable(name)!r} is {done}.")
