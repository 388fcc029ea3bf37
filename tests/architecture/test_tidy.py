"""The house style, executed: each rule is a test named as a sentence."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate import errors
from headgate.kernel.backend import Backend

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "headgate"
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 70
PORT_VERBS_MAX = 15
DRAWERS = {"base", "common", "helpers", "manager", "misc", "util", "utils"}
SUITES = {"test_{}.py": "BackendConformance", "test_kernel_{}.py": "KernelSuite"}
LEFTOVER = re.compile(r"\b(FIX[M]E|TO[D]O|X[X]X)\b")
MACHINE_PATH = re.compile(r"(?<![\w.])/(root|home|Users|work|private)/\w")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(*patterns: str) -> list[Path]:
    return sorted(
        path
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if path.is_file()
        and not any(part.startswith(".") for part in path.parts[len(ROOT.parts) :])
    )


SOURCES = files("src/**/*.py")
PYTHON = files("src/**/*.py", "tests/**/*.py", "benchmarks/**/*.py", "docs/**/*.py")
MARKDOWN = files("*.md", "docs/**/*.md", "src/**/*.md", "tests/**/*.md", "benchmarks/**/*.md")
TEXTS = [*PYTHON, *MARKDOWN, *files("*.toml", "test", "features/*.feature", "src/**/*.sql")]


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


def functions(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def where(path: Path, node: ast.stmt | None = None) -> str:
    place = path.relative_to(ROOT).as_posix()
    return f"{place}:{node.lineno}" if node else place


def imports_own_package(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.level > 0 or (node.module or "").partition(".")[0] == "headgate"
    return isinstance(node, ast.Import) and any(
        name.name.partition(".")[0] == "headgate" for name in node.names
    )


def is_logic(node: ast.stmt) -> bool:
    """True for all but a docstring, imports and the assignment of `__all__` or `__version__`."""
    if isinstance(node, ast.Assign):
        return not all(isinstance(name, ast.Name) and name.id[:2] == "__" for name in node.targets)
    if isinstance(node, ast.Expr):
        return not isinstance(node.value, ast.Constant)
    return not isinstance(node, ast.Import | ast.ImportFrom)


def runs_suite(path: Path, suite: str) -> bool:
    """Whether a test class in this file derives from the suite, also by way of others."""
    derived = {suite}
    for node in parse(path).body if path.exists() else []:
        if isinstance(node, ast.ClassDef) and derived & {ast.unparse(base) for base in node.bases}:
            derived.add(node.name)
    return any(name.startswith("Test") for name in derived)


def titles(path: Path) -> int:
    prose = re.sub(r"^(`{3,}).*?^\1", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return len(re.findall(r"^# ", prose, re.MULTILINE))


def error_classes(cls: type[Exception] = errors.HeadgateError) -> Iterator[type[Exception]]:
    if cls.__module__.startswith("headgate."):
        yield cls
    for child in cls.__subclasses__():
        yield from error_classes(child)


def test_no_file_is_longer_than_its_budget() -> None:
    """A file that needs more than 400 lines owns more than one thing."""
    long = [where(path) for path in PYTHON if len(path.read_bytes().splitlines()) > FILE_LINES_MAX]

    assert long == []


def test_no_function_is_longer_than_its_budget() -> None:
    """A function fits on one screen: 70 lines with its decorators and docstring."""
    long = [
        where(path, node)
        for path in PYTHON
        for node in functions(parse(path))
        if (node.end_lineno or node.lineno) - node.lineno >= FUNCTION_LINES_MAX
    ]

    assert long == []


def test_every_module_is_named_after_what_it_owns() -> None:
    """There is no drawer for things without a home."""
    assert [
        where(path) for path in PYTHON if path.stem in DRAWERS or path.parent.name in DRAWERS
    ] == []


def test_package_files_hold_no_logic() -> None:
    """An `__init__.py` has a docstring, imports and `__all__` at most."""
    packages = [path for path in SOURCES if path.name == "__init__.py"]

    assert [
        where(path, node) for path in packages for node in parse(path).body if is_logic(node)
    ] == []


def test_every_module_says_what_it_owns() -> None:
    """Each module of the package begins with a docstring."""
    assert [where(path) for path in SOURCES if not ast.get_docstring(parse(path))] == []


def test_no_function_imports_its_own_package() -> None:
    """Imports stand at the top, so that the import contracts tell the whole truth."""
    hidden = {
        where(path, node)
        for path in SOURCES
        for function in functions(parse(path))
        for node in ast.walk(function)
        if isinstance(node, ast.stmt) and imports_own_package(node)
    }

    assert hidden == set()


def test_nothing_is_left_for_later() -> None:
    """What is not done is an issue, not a comment."""
    assert [where(path) for path in TEXTS if LEFTOVER.search(path.read_text("utf-8"))] == []


def test_no_file_names_a_place_on_one_machine() -> None:
    """Nothing refers to a home or working directory of whoever wrote it."""
    assert [where(path) for path in TEXTS if MACHINE_PATH.search(path.read_text("utf-8"))] == []


def test_every_error_is_defined_in_the_one_tree() -> None:
    """No module but `errors` defines a kind of HeadgateError."""
    assert [cls for cls in error_classes() if cls.__module__ != errors.__name__] == []


def test_every_backend_passes_the_conformance_suite() -> None:
    """Each adapter in `backends/` runs the suite of the port and, below a kernel, the kernel's."""
    adapters = {path.stem for path in (SRC / "backends").iterdir() if not path.stem.startswith("_")}
    missing = {
        file.format(name)
        for name in adapters
        for file, suite in SUITES.items()
        if not runs_suite(ROOT / "tests" / "conformance" / file.format(name), suite)
    }

    assert missing == set()


def test_a_file_without_the_suite_is_found_out(tmp_path: Path) -> None:
    """Some class with some base does not count, nor does a file that is not there."""
    (tmp_path / "other.py").write_text("class TestX(Something): ...")
    (tmp_path / "good.py").write_text("class Mine(Suite): ...\nclass TestX(Mine): ...")

    found = [runs_suite(tmp_path / name, "Suite") for name in ("other.py", "no.py", "good.py")]
    assert found == [False, False, True]


@pytest.mark.parametrize("path", MARKDOWN, ids=where)
def test_a_page_has_exactly_one_title(path: Path) -> None:
    """Every markdown file has one first-level heading."""
    assert titles(path) == 1


def test_every_test_states_its_guarantee() -> None:
    """Each test, also those of the shipped suites, has a docstring."""
    tests = [*files("tests/**/*.py"), *files("src/headgate/testing/**/*.py")]
    silent = [
        where(path, node)
        for path in tests
        for node in functions(parse(path))
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert silent == []


def test_the_port_is_narrow() -> None:
    """A backend is asked for at most fifteen verbs."""
    verbs = [name for name, verb in vars(Backend).items() if callable(verb) and name[0] != "_"]

    assert len(verbs) <= PORT_VERBS_MAX
