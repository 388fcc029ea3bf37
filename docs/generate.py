"""Writes the reference pages from the code: `python -m docs.generate [--check]`.

With --check nothing is written; pages that would change are named, and the exit code is 1.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import click

from docs.access_page import access_page
from docs.http_pages import endpoints_page, limits_page, metrics_page
from headgate import errors
from headgate.cli.main import cli
from headgate.http.problems import ICEBERG, PLAIN
from headgate.settings.setting import Setting
from headgate.settings.table import FAMILIES

REFERENCE = Path(__file__).parent / "reference"
SHARED = ("data", "backend", "config", "sets", "json")
OF_SERVER = {"server", "token", "user", "password", "json", "debug"}
OF_SPARK = {"master", "remote", "conf"}


def settings_page() -> Iterator[str]:
    """Every setting, family by family."""
    yield from (
        "# Settings",
        "",
        "Every setting can be given in five places; a later one wins over an earlier one:",
        "",
        "1. the default,",
        "2. a config file in TOML (`--config FILE`), with tables or dotted names,",
        "3. the environment,",
        "4. `--set NAME=VALUE`, which may be repeated,",
        "5. a flag of its own, where there is one (`--data`, `--backend`, `--port`, …).",
        "",
        "An unknown name is refused with the nearest known one.",
        "`headgate settings` prints all values and where each comes from, secrets masked.",
    )
    for family, settings in FAMILIES.items():
        yield from ("", f"## {family}")
        for setting in settings:
            yield from ("", f"### `{setting.name}`", "", setting.help, "", *setting_facts(setting))


def setting_facts(setting: Setting[object]) -> Iterator[str]:
    """The lines below a setting's help."""
    default = setting.default_help or f"`{setting.default_shown}`"
    yield f"- Value: {setting.expected}"
    yield f"- Default: {default}"
    yield f"- Environment: `{setting.variable}`"
    if setting.aliases:
        yield f"- Also known as: {', '.join(f'`{alias}`' for alias in setting.aliases)}"


def errors_page() -> Iterator[str]:
    """The error tree, then each class."""
    tree = (errors.__doc__ or "").partition("\n\n")[2].strip()
    yield from (
        "# Errors",
        "",
        "All errors are kinds of `HeadgateError` in `headgate.errors`.",
        "Each says what happened (`what`), why (`why`) and what to do (`fix`).",
        "The command line ends with exit code 2 for `InvalidInput` and its kinds, else with 1.",
        "",
        (
            'Over HTTP the body is `{"error": {"message", "type", "code"}}`, '
            "and each protocol has its own types."
        ),
        "Clients of Iceberg turn these types into their exceptions.",
        (
            "*Again* marks errors after which certainly nothing has changed: "
            "the same request may be sent again, and `Retry-After` says when."
        ),
        "",
        "```text",
        tree,
        "```",
    )
    for error in error_classes(errors.HeadgateError):
        parent = error.__mro__[1].__name__
        kind = f"- A kind of: `{parent}`" if parent != "Exception" else "- The root of the tree."
        yield from ("", f"## `{error.__name__}`", "", error.__doc__ or "", "", kind)
        for name, dialect in (("Iceberg REST", ICEBERG), ("Headgate's own paths", PLAIN)):
            problem = dialect.problem_of(error)
            again = ", *again*" if problem.retry else ""
            yield f"- {name}: {problem.status} `{problem.type}`{again}"


def error_classes(cls: type[errors.HeadgateError]) -> Iterator[type[errors.HeadgateError]]:
    """This class and all its kinds, depth first."""
    yield cls
    for child in cls.__subclasses__():
        yield from error_classes(child)


def cli_page() -> Iterator[str]:
    """Every command with its own options, and the shared ones once."""
    yield from (
        "# The command line",
        "",
        "`headgate` is one command with sub-commands; `python -m headgate` is the same.",
        "",
        "- Answers go to standard output, errors and log messages to standard error.",
        "- `--json` prints one JSON value, or one per line where answers have no end.",
        '- A failure is one line; with `--json` it is `{"error": {"type", "message", "fix"}}`.',
        "- Exit codes: 0 done, 1 failed, 2 bad usage or bad setting.",
        "",
        "## Shared options",
        "",
        "Commands marked *shared options* take these too.",
        "",
    )
    first = next(command for _, command in commands("headgate", cli) if takes(command, SHARED))
    yield from (option_line(option) for option in first.params if option.name in SHARED)
    yield from pipelines_options()
    for path, command in commands("headgate", cli):
        arguments = [one.name.upper() for one in command.params if is_argument(one) and one.name]
        yield from ("", f"## `{' '.join([path, *arguments])}`", "")
        yield sentences(command.help or "")
        yield from own_options(command)


def pipelines_options() -> Iterator[str]:
    """What commands below `headgate pipeline` share, those of the server first."""
    command = next(
        one for path, one in commands("headgate", cli) if takes(one, OF_SERVER | OF_SPARK)
    )
    yield from (
        "",
        "## Options of pipelines",
        "",
        "Commands marked *options of pipelines* take these too;",
        "those marked *options of pipelines without Spark* only the first part.",
        (
            "`HEADGATE_TOKEN`, `HEADGATE_USER` and `HEADGATE_PASSWORD` say who you are "
            "where nobody else reads it."
        ),
    )
    for names in (OF_SERVER, OF_SPARK):
        yield ""
        yield from (option_line(option) for option in command.params if option.name in names)


def sentences(text: str) -> str:
    """This text with one sentence per line; its paragraphs stay."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    joined = [" ".join(paragraph.split()) for paragraph in paragraphs]
    return "\n\n".join(re.sub(r"(?<=\.) (?=[A-Z])", "\n", paragraph) for paragraph in joined)


def own_options(command: click.Command) -> Iterator[str]:
    """What a command takes besides the shared options."""
    told: set[str] = set()
    mark = ""
    for names, words in (
        (set(SHARED), "shared options"),
        (OF_SERVER | OF_SPARK, "options of pipelines"),
        (OF_SERVER, "options of pipelines without Spark"),
    ):
        if not mark and takes(command, names):
            told, mark = names, words
    own = [one for one in command.params if not is_argument(one) and one.name not in told]
    if own or mark:
        yield ""
    yield from map(option_line, own)
    if mark:
        yield f"- *{mark}*"


def commands(path: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    """All commands below this one that do something, in order."""
    for name, command in sorted(group.commands.items()):
        if isinstance(command, click.Group) and command.params:
            yield f"{path} {name}", command
        if isinstance(command, click.Group):
            yield from commands(f"{path} {name}", command)
        else:
            yield f"{path} {name}", command


def option_line(option: click.Parameter) -> str:
    """An option, its value and its help."""
    value = f" {option.metavar}" if option.metavar else ""
    help_text = option.help if isinstance(option, click.Option) else ""
    return f"- `{', '.join(option.opts)}{value}`: {help_text}"


def is_argument(parameter: click.Parameter) -> bool:
    """True for a word that is given by its place."""
    return isinstance(parameter, click.Argument)


def takes(command: click.Command, names: Iterable[str]) -> bool:
    """True if a command has all these options."""
    return {option.name for option in command.params}.issuperset(names)


PAGES = {
    "settings.md": settings_page,
    "errors.md": errors_page,
    "cli.md": cli_page,
    "endpoints.md": endpoints_page,
    "rights.md": access_page,
    "limits.md": limits_page,
    "metrics.md": metrics_page,
}


def main() -> int:
    """Write or check all pages."""
    check = sys.argv[1:] == ["--check"]
    told = "is stale: run python -m docs.generate" if check else "is written"
    stale = False
    for name, page in PAGES.items():
        path = REFERENCE / name
        text = "\n".join(page()) + "\n"
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale = True
        print(f"docs/reference/{name} {told}")
        if not check:
            path.write_text(text, "utf-8")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
