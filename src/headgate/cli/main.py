"""The `headgate` command itself: its sub-commands, and how failures reach people and scripts."""

import contextlib
import logging
import os
import re
import sys
from collections.abc import Sequence

import click

import headgate
from headgate.cli.catalog import catalog
from headgate.cli.demo import demo
from headgate.cli.doctor import doctor
from headgate.cli.jobs import jobs
from headgate.cli.location import location
from headgate.cli.log import log
from headgate.cli.maintenance import maintenance
from headgate.cli.output import printable, to_json
from headgate.cli.pipeline import pipeline
from headgate.cli.realm import realm
from headgate.cli.serve import NotStarted, serve
from headgate.cli.settings import settings
from headgate.cli.suggestions import for_same_store
from headgate.cli.token import token
from headgate.cli.user import group, user
from headgate.cli.version import version
from headgate.cli.work import work
from headgate.errors import HeadgateError, InvalidInput

DONE, FAILED, BAD_USAGE = 0, 1, 2

logger = logging.getLogger(__name__)


@click.group(
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(headgate.__version__, prog_name="headgate", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """A lakehouse catalog on one compare-and-swap kernel."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    catalog,
    demo,
    doctor,
    group,
    jobs,
    location,
    log,
    maintenance,
    pipeline,
    realm,
    serve,
    settings,
    token,
    user,
    version,
    work,
):
    cli.add_command(_command)


def main() -> None:
    """Run the command line of this process and end it: 0 done, 1 failed, 2 bad usage."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; the exit code. Failures are one line, or one object with --json."""
    if sys.stdout is None:  # it was closed by whoever started us
        _report(HeadgateError("there is no standard output", fix="Do not close it"), arguments)
        return FAILED
    try:
        code = cli.main(list(arguments), prog_name="headgate", standalone_mode=False)
        sys.stdout.flush()
    except NotStarted as error:
        _report(error.reason, arguments)
        return BAD_USAGE
    except HeadgateError as error:
        _report(error, arguments)
        return BAD_USAGE if isinstance(error, InvalidInput) else FAILED
    except click.ClickException as error:
        _report(_as_ours(error), arguments)
        return error.exit_code
    except click.Abort:
        click.echo("headgate: interrupted", err=True)
        return FAILED
    except BrokenPipeError:  # the reader has seen enough, as in `headgate log | head`
        _drop_output()
        return DONE
    except Exception as error:  # noqa: BLE001  whatever it is, people and scripts get one line
        _report(_unexpected(error), arguments)
        return FAILED
    return code if isinstance(code, int) else DONE


def _as_ours(error: click.ClickException) -> HeadgateError:
    context = error.ctx if isinstance(error, click.UsageError) else None
    fix = f"Try `{context.command_path} --help`" if context else ""
    message = error.format_message().strip().removesuffix(".")
    message = re.sub("://.*", "://***", message, flags=re.DOTALL)  # a password may follow
    first = message[:1] if message[1:2].isupper() else message[:1].lower()
    return InvalidInput(first + message[1:], fix=fix)


def _unexpected(error: Exception) -> HeadgateError:
    logger.debug("unexpected error", exc_info=error)
    if isinstance(error, OSError):
        _drop_output()
        return HeadgateError(
            "input or output failed",
            why=error.strerror or type(error).__name__,
            fix="Check where the output goes; the command itself may have been done",
        )
    return HeadgateError(  # without its words: they may quote a password
        f"unexpected {type(error).__name__}", fix="`--set log.level=debug` shows where"
    )


def _drop_output() -> None:
    """Let what is still to be printed go nowhere; else Python fails on it when it ends."""
    with contextlib.suppress(OSError):  # not a file of the system, as in tests
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(error: HeadgateError, arguments: Sequence[str]) -> None:
    def said(text: str) -> str:
        return printable(for_same_store(text, arguments))

    if "--json" in arguments:
        message = said(f"{error.what}: {error.why}" if error.why else error.what)
        body = {"type": type(error).__name__, "message": message, "fix": said(error.fix)}
        click.echo(to_json({"error": body}), err=True)
    else:
        click.echo(f"headgate: error: {said(str(error))}", err=True)
