"""What the pages show is accepted: commands, settings, links. What they do is tested elsewhere."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from headgate.cli.main import cli
from headgate.settings.loading import load

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.glob("**/*.md"), *ROOT.glob("examples/**/*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def blocks(path: Path, language: str) -> list[str]:
    return [text for kind, text in BLOCK.findall(path.read_text("utf-8")) if kind == language]


def anchors(path: Path) -> set[str]:
    """The names of a page's headings, as links write them."""
    titles = HEADING.findall(path.read_text("utf-8"))
    kept = (re.sub(r"[^\w\s-]", "", title.lower()) for title in titles)
    return {title.strip().replace(" ", "-") for title in kept}


def commands(path: Path) -> list[list[str]]:
    """The `headgate` commands of a page, with long lines joined and pipes cut off."""
    lines = "".join(blocks(path, "bash")).replace("\\\n", " ").splitlines()
    found = [shlex.split(line, comments=True) for line in lines]
    return [words[1:] for words in found if words[:1] == ["headgate"]]


def check(arguments: list[str]) -> list[str]:
    """Parse a command line without running it; the settings it gives."""
    command: click.Command = cli
    while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        name, *arguments = arguments
        command = command.commands[name]
    context = command.make_context(command.name, arguments)
    return list(context.params.get("sets", ()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_link_leads_somewhere(path: Path) -> None:
    """Pages, files and headings that are linked to exist."""
    dead = []
    for link in LINK.findall(BLOCK.sub("", path.read_text("utf-8"))):
        if link.startswith("https://"):
            continue
        file, _, heading = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (heading and heading not in anchors(target)):
            dead.append(link)

    assert dead == []


def test_every_page_can_be_found() -> None:
    """The index links to all pages below it."""
    index = DOCS / "index.md"
    linked = {(DOCS / link).resolve() for link in LINK.findall(index.read_text("utf-8"))}

    assert set(DOCS.glob("**/*.md")) - {index} - linked == set()


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_command_is_accepted(path: Path) -> None:
    """Commands, options and settings that are shown exist."""
    for arguments in commands(path):
        load(sets=check(arguments))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_config_file_is_accepted(path: Path) -> None:
    """Settings in config files that are shown exist and have usable values."""
    for text in blocks(path, "toml"):
        load(file=text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_every_program_is_python(path: Path) -> None:
    """No snippet has a mistake that an editor would mark."""
    for text in blocks(path, "python"):
        ast.parse(text)


def test_a_mistake_on_a_page_is_found(tmp_path: Path) -> None:
    """The checks above can fail."""
    page = tmp_path / "page.md"
    page.write_text("```bash\nheadgate serve --prot 1\nheadgate nothing\n```\n", "utf-8")

    first, second = commands(page)
    with pytest.raises(click.UsageError):
        check(first)
    with pytest.raises(KeyError):
        check(second)
