"""`headgate version`: what runs here."""

import platform
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of

import apsw
import click

import headgate
from headgate.cli.output import to_json

PARTS = ("granian", "uvloop", "obstore", "pyiceberg")
OPTIONAL = ("asyncpg",)


@click.command()
@click.option("--json", is_flag=True, help="Print JSON, for scripts.")
def version(*, json: bool) -> None:
    """Print the versions of Headgate and of what it stands on."""
    found = versions()
    if json:
        click.echo(to_json(found))
        return
    for name, text in found.items():
        click.echo(f"{name} {text or 'not installed'}")


def versions() -> dict[str, str | None]:
    """Each part and its version; None for an optional part that is not installed."""
    return {
        "headgate": headgate.__version__,
        "python": platform.python_version(),
        "apsw": apsw.apsw_version(),
        "sqlite": apsw.sqlite_lib_version(),
        **{package: _optional(package) for package in (*PARTS, *OPTIONAL)},
        "platform": platform.platform(),
    }


def _optional(package: str) -> str | None:
    try:
        return version_of(package)
    except PackageNotFoundError:
        return None
