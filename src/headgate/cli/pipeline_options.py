"""The options that all pipelines share, and what they are turned into."""

import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import click

from headgate.cli import logs, options
from headgate.cli.summaries import show
from headgate.errors import BadSetting, HeadgateError
from headgate.limits import PORT
from headgate.masking import mask_userinfo
from headgate.pipelines.interruption import interruptible
from headgate.pipelines.reporting import ERASE_LINE, Report
from headgate.pipelines.server import Server
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.storage import pairs, storage_options

SERVER = f"http://127.0.0.1:{PORT}"
Option = Callable[..., Any]
TOKEN, USER, PASSWORD = "HEADGATE_TOKEN", "HEADGATE_USER", "HEADGATE_PASSWORD"


class PipelineRun(NamedTuple):
    """What one run of a pipeline is told by the shared options."""

    server: Server
    spark: SparkOptions
    report: Report
    metalake: str
    """Empty: the server's default."""
    catalog: str
    """Empty: all that the caller may use."""
    storage: dict[str, str]
    json: bool

    def needs_catalog(self) -> str:
        """The catalog, for pipelines that cannot do without."""
        if not self.catalog:
            raise BadSetting("no catalog is named", fix="Name one with --catalog")
        return self.catalog


def pipeline_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the shared options; it is called with a `PipelineRun` and its own options."""
    return _with_options(
        command,
        (*SERVER_OPTIONS, *LAKE_OPTIONS, *SPARK_OPTIONS, *ICEBERG_OPTIONS, *ENDING_OPTIONS),
    )


def pipeline_with(*some: Option) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The same for one whose Spark needs not know Iceberg; of the lake it has use for these."""
    shared = (*SERVER_OPTIONS, *some, *SPARK_OPTIONS, *ENDING_OPTIONS)
    return functools.partial(_with_options, shared=shared)


def server_options(command: Callable[..., None]) -> Callable[..., None]:
    """The same for one that needs no Spark."""
    return _with_options(command, (*SERVER_OPTIONS, *LAKE_OPTIONS, *ENDING_OPTIONS))


def _with_options(command: Callable[..., None], shared: tuple[Option, ...]) -> Callable[..., None]:
    @functools.wraps(command)
    def with_run(*, debug: bool, **given: Any) -> None:  # noqa: ANN401  the options of any command
        logs.set_up("debug" if debug else "warning", "text")
        try:
            with interrupted():
                command(_run(given, debug=debug), **given)
        except HeadgateError:
            if debug:
                click.echo(mask_userinfo(traceback.format_exc()), err=True)
            raise

    decorated: Callable[..., None] = with_run
    for option in reversed(shared):
        decorated = option(decorated)
    return decorated


@contextmanager
def interrupted() -> Iterator[None]:
    """What is broken off by a signal ends as other commands do then."""
    try:
        with interruptible():
            yield
    except KeyboardInterrupt:
        if sys.stderr.isatty():
            click.echo(ERASE_LINE, err=True, nl=False)  # a bar, and what the terminal says of keys
        raise click.Abort from None


def _run(given: dict[str, Any], *, debug: bool) -> PipelineRun:
    """What the shared options say; they are taken away from the others."""
    storage = pairs(given.pop("storage", ()), "--storage")
    storage_options(storage)  # what is wrong in it is said before anything starts
    spark = SparkOptions(
        master=given.pop("master", "local[*]"),
        remote=given.pop("remote", ""),
        conf=pairs(given.pop("conf", ()), "--conf"),
        jar=given.pop("jar", ""),
        repository=given.pop("repository", ""),
        storage=storage,
        debug=debug,
    )
    json = given.pop("json")
    report = Report(is_quiet=json, show=functools.partial(show, json=json))
    metalake, catalog = given.pop("metalake", ""), given.pop("catalog", "")
    server = _server(given, metalake)
    return PipelineRun(server, spark, report, metalake, catalog, storage, json)


def _server(given: dict[str, Any], metalake: str) -> Server:
    """Options win over the environment, which is where secrets belong."""
    environ = options.environment()
    token, user, password = given.pop("token"), given.pop("user"), given.pop("password")
    if not (token or user):
        token, user = environ.get(TOKEN, ""), environ.get(USER, "")
    return Server(
        given.pop("server"),
        token=token or "",
        user=user or "",
        password=password or environ.get(PASSWORD, ""),
        metalake=metalake,
    )


SERVER_OPTIONS = (
    click.option("--server", metavar="URL", default=SERVER, help=f"The server; {SERVER}."),
    click.option("--token", metavar="TOKEN", help=f"Who you are; better: {TOKEN}."),
    click.option("--user", metavar="NAME", help=f"The same with a password; or {USER}."),
    click.option("--password", metavar="TEXT", help=f"Its password; better: {PASSWORD}."),
)
METALAKE = click.option(
    "--metalake", metavar="NAME", default="", help="The server's default, if not given."
)
CATALOG = click.option("--catalog", metavar="NAME", default="", help="The catalog to work on.")
STORAGE = click.option(
    "--storage",
    metavar="KEY=VALUE",
    multiple=True,
    help="How files are reached, as s3.endpoint; may be repeated. "
    "If not given, as the server hands it out.",
)
LAKE_OPTIONS = (METALAKE, CATALOG, STORAGE)
SPARK_OPTIONS = (
    click.option(
        "--master",
        metavar="MASTER",
        default="local[*]",
        help="Where Spark runs: local[*], spark://HOST:PORT, yarn, k8s://…; local[*] if not given.",
    ),
    click.option(
        "--remote", metavar="URL", default="", help="A server of Spark Connect: sc://HOST:PORT."
    ),
    click.option(
        "--conf", metavar="KEY=VALUE", multiple=True, help="A property of Spark; may be repeated."
    ),
)
ICEBERG_OPTIONS = (
    click.option(
        "--jar",
        metavar="JARS",
        default="",
        help="Iceberg's runtime for Spark: paths or Maven coordinates; found or downloaded else.",
    ),
    click.option(
        "--repository", metavar="URL", default="", help="A Maven repository to download it from."
    ),
)
DEBUG = click.option("--debug", is_flag=True, help="Show all that Spark says.")
ENDING_OPTIONS = (
    click.option("--json", is_flag=True, help="Print JSON, for scripts, and no progress."),
    DEBUG,
)
