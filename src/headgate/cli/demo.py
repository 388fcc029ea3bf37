"""`headgate demo`: a server with a sample lake in a temporary directory, and a tour of it."""

import ast
import contextlib
import inspect
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import click

from headgate.catalog.calls import ANYBODY, CatalogName
from headgate.cli import logs
from headgate.cli.options import environment
from headgate.cli.output import table, to_json
from headgate.cli.snippets import snippets
from headgate.errors import HeadgateError, Unavailable, Unsupported
from headgate.settings.authorization import AUTHORIZATION_ENABLED, SERVICE_ADMINS
from headgate.settings.server import LOG_ACCESS, LOG_LEVEL

READY = re.compile(r"^headgate ready on (\S+)$")
STOP_SECONDS_MAX = 15.0
USUAL_URL = "http://127.0.0.1:8181"

NEXT = """\
Next
    headgate serve          your own lake, on port 8181
    headgate doctor         is everything as it should be
    headgate log --follow   what is committed, as it happens
    docs/tutorial.md        the same in ten minutes, then Spark and DuckDB
"""


@click.command()
@click.option("--keep", is_flag=True, help="Leave the server running until Ctrl-C.")
@click.option("--json", is_flag=True, help="Print each step as an object on a line of its own.")
def demo(*, keep: bool, json: bool) -> None:
    """Show a sample lake: real tables, made and changed in a temporary directory.

    Nothing of it is left at the end. It takes less than a minute.
    """
    logs.set_up("error", "text")
    tour = _load_tour()
    show = _show_json if json else _show
    with (
        _interruptible(),
        tempfile.TemporaryDirectory(prefix="headgate-demo-") as folder,
        _server(Path(folder)) as url,
    ):
        if not json:
            click.echo(f"A server runs on {url}; its data lies in {folder}.")
            click.echo(f'catalog = load_catalog("headgate", type="rest", uri="{url}/iceberg")')
        with contextlib.closing(tour.connect(url)) as catalog, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # those of the client are not about us
            for number, (title, step) in enumerate(tour.STEPS.items(), 1):
                show(number, title, step, _taken(title, step, catalog))
        _say_the_end(url, folder, keep=keep, json=json)
        if keep:
            with contextlib.suppress(KeyboardInterrupt):
                signal.pause()


def code_of(step: Callable[..., object]) -> str:
    """What is written in a step, without what only makes a function of it."""
    source = textwrap.dedent(inspect.getsource(step))
    [function] = ast.parse(source).body
    assert isinstance(function, ast.FunctionDef)
    first, last = function.body[1], function.body[-1]  # behind the docstring
    lines = source.splitlines()[first.lineno - 1 :]
    at = last.lineno - first.lineno
    lines[at] = lines[at].replace("return ", "", 1)
    return textwrap.dedent("\n".join(lines))


def readable(result: object) -> str:
    """What came of a step, for people."""
    value = plain(result)
    if isinstance(value, list) and value and all(isinstance(row, dict) for row in value):
        rows = [["" if cell is None else str(cell) for cell in row.values()] for row in value]
        return table(list(value[0]), rows)
    if isinstance(result, Mapping):
        width = max(map(len, result))
        return "\n".join(f"{name:<{width}}  {text}" for name, text in result.items())
    return str(result)


def plain(result: object) -> Any:  # noqa: ANN401  anything that JSON has
    """What came of a step, for programs: rows of a table as objects, a table itself as text."""
    if hasattr(result, "to_pylist"):
        return result.to_pylist()
    return result if isinstance(result, list | dict) else str(result)


def _taken(title: str, step: Callable[..., object], catalog: object) -> object:
    """What comes of a step."""
    try:
        return step(catalog)
    except Exception as error:
        raise HeadgateError(
            f"the step {title!r} failed",
            why=f"{type(error).__name__}: {error}",
            fix="`headgate doctor` looks at this machine; `headgate version` names the versions",
        ) from error


def _show(number: int, title: str, step: Callable[..., object], result: object) -> None:
    click.echo("\n" + click.style(f"{number}. {title}", bold=True))
    click.echo(f"{step.__doc__}\n")
    click.echo(click.style(textwrap.indent(code_of(step), "    "), fg="cyan"))
    click.echo()
    click.echo(textwrap.indent(readable(result), "  → ", lambda _: True))


def _show_json(number: int, title: str, step: Callable[..., object], result: object) -> None:
    about = {"step": number, "title": title, "about": step.__doc__, "code": code_of(step)}
    click.echo(to_json(about | {"result": plain(result)}))


def _say_the_end(url: str, folder: str, *, keep: bool, json: bool) -> None:
    if json:
        click.echo(to_json({"url": url, "data": folder, "kept": keep}))
        return
    click.echo(f"\nThat was the tour. Clients reach {'this server' if keep else 'a server'} so:\n")
    click.echo(snippets(url if keep else USUAL_URL, CatalogName("default", "main")))
    click.echo(NEXT)
    if keep:
        click.echo(f"The server runs on {url} until you press Ctrl-C.")
    else:
        click.echo("The server is stopped and its data deleted; --keep leaves it running.")


def _load_tour() -> Any:  # noqa: ANN401  a module
    try:
        return import_module("headgate.cli.tour")
    except ImportError as error:
        raise Unsupported(
            "the demo cannot run",
            why=f"{error.name or 'pyarrow'} is not installed",
            fix="Run pip install 'headgate[demo]', or '.[demo]' in a clone",
        ) from error


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does: everything is cleaned up."""

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextlib.contextmanager
def _server(folder: Path) -> Iterator[str]:
    """A server of its own, as `headgate serve` starts it; its URL. Settings do not reach it."""
    command = [sys.executable, "-m", "headgate", "serve", "--port", "0"]
    sets = (
        f"{LOG_ACCESS.name}=false",
        f"{LOG_LEVEL.name}=error",  # that anybody may do everything is meant here
        f"{AUTHORIZATION_ENABLED.name}=true",
        f"{SERVICE_ADMINS.name}={ANYBODY.name}",  # so the tour may do everything
    )
    command += ["--data", str(folder), *(word for one in sets for word in ("--set", one))]
    own = {name: text for name, text in environment().items() if name[:9] != "HEADGATE_"}
    process = subprocess.Popen(  # noqa: S603  ourselves
        command, env=own, stdout=subprocess.PIPE, text=True, start_new_session=True
    )  # a session of its own: Ctrl-C is for us, and we stop it
    assert process.stdout is not None
    try:
        found = (READY.match(line) for line in process.stdout)
        ready = next((match for match in found if match), None)
        if ready is None:
            raise Unavailable(
                "the server of the demo did not start",
                why=f"it ended with {process.wait()}",
                fix="The lines above say more; `headgate doctor` looks at this machine",
            )
        yield ready[1]
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
