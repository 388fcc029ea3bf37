"""`headgate pipeline sweep`: the sweep of the store on Spark."""

import functools
from collections.abc import Callable
from typing import Any

import click

from headgate.background import maintenance_terms
from headgate.catalog.calls import OPERATOR
from headgate.cli.options import Run, shared
from headgate.cli.pipeline_options import DEBUG, SPARK_OPTIONS, interrupted
from headgate.cli.summaries import show
from headgate.errors import BadSetting
from headgate.maintenance.extent import Wanted
from headgate.maintenance.running import SPARK, Order
from headgate.maintenance.views import State
from headgate.pipelines import sweep as pipeline
from headgate.pipelines.prerequisites import is_local
from headgate.pipelines.reporting import Report
from headgate.pipelines.session import SparkOptions
from headgate.pipelines.storage import pairs
from headgate.pipelines.sweep import Store
from headgate.settings.store import BACKEND
from headgate.wiring import database_file, open_kernel, place_of, server_name

SHARES = 16


def _with_spark(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of Spark; nothing of Iceberg is needed, so no jar."""

    @functools.wraps(command)
    def with_options(
        run: Run,
        *,
        master: str,
        remote: str,
        conf: tuple[str, ...],
        debug: bool,
        **own: Any,  # noqa: ANN401  the options of any command
    ) -> None:
        spark = SparkOptions(master=master, remote=remote, conf=pairs(conf, "--conf"), debug=debug)
        with interrupted():
            command(run, spark, **own)

    decorated: Callable[..., None] = with_options
    for option in reversed((*SPARK_OPTIONS, DEBUG)):
        decorated = option(decorated)
    return decorated


@click.command()
@click.option("--sweep", "sweeps", metavar="REALM", multiple=True, help="Only this realm.")
@click.option("--purge", metavar="REALM", multiple=True, help="Only this realm: it is PURGING.")
@click.option("--dry-run", is_flag=True, help="Only count what would be deleted.")
@click.option(
    "--shares",
    metavar="N",
    type=click.IntRange(min=1),
    default=SHARES,
    help=f"Into how many shares the rows are divided; {SHARES} if not given.",
)
@shared
@_with_spark
def sweep(
    run: Run,
    spark: SparkOptions,
    *,
    sweeps: tuple[str, ...],
    purge: tuple[str, ...],
    dry_run: bool,
    shares: int,
) -> None:
    """Delete from the store what nothing refers to any more, on Spark.

    The same as `headgate maintenance run`, for databases too large for one process: --backend names
    the store, which every executor opens itself. It may be killed and run again. Exit code 0 if all
    was swept, 1 if something had to be left alone.
    """
    _check_reachable(run, spark)
    order = Order(
        by=OPERATOR,
        holder=server_name(),
        wanted=Wanted(frozenset(sweeps), frozenset(purge)),
        engine=SPARK,
        grace_ms=maintenance_terms(run.settings).grace_ms,
        is_dry=dry_run,
    )
    opening = functools.partial(open_kernel, run.settings, create=False)
    store = Store(opening, place_of(run.settings))
    report = Report(is_quiet=run.json, show=functools.partial(show, json=run.json))
    summary = pipeline.run(order, store, spark, report, shares)
    report.end(summary)
    if summary.state is not State.DONE:
        click.get_current_context().exit(1)


def _check_reachable(run: Run, spark: SparkOptions) -> None:
    """Refuse a store that executors cannot open."""
    if run.settings[BACKEND] == "memory:":
        raise BadSetting(
            "the backend memory: cannot be swept by Spark",
            why="memory: lives only inside of a server",
            fix="Name a store with --data DIR or --backend URL",
        )
    if database_file(run.settings) is not None and (spark.remote or not is_local(spark.master)):
        raise BadSetting(
            "a store in a file cannot be swept by a cluster",
            why="executors on other machines do not see the file",
            fix="Leave --master and --remote out, or use a database server",
        )
