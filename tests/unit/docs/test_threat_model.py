"""Each promise of the threat model is linked to a test that is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "explanation" / "threat-model.md"
PROOF = re.compile(r"\[`(?P<name>\w+)(?P<suffix>\.py)?`\]\(\.\./\.\./(?P<file>tests/[\w/]+\.py)\)")


def promises() -> list[str]:
    """The rows of all tables below the heading of promises."""
    text = PAGE.read_text("utf-8").partition("## What is promised")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    return [row for row in rows if row != "| promise | proof |"]


def is_there(proof: re.Match[str]) -> bool:
    """Whether a link leads to a test, or to a file of tests."""
    file = ROOT / proof["file"]
    if proof["suffix"]:
        return file.name == f"{proof['name']}.py" and "def test_" in file.read_text("utf-8")
    return re.search(rf"\bdef {proof['name']}\(", file.read_text("utf-8")) is not None


def test_every_promise_has_a_test_that_is_there() -> None:
    """No row is without a proof, and no proof leads nowhere."""
    proofs = {row: list(PROOF.finditer(row)) for row in promises()}

    assert len(proofs) > 30
    assert [row for row, found in proofs.items() if not found] == []
    assert [one[0] for found in proofs.values() for one in found if not is_there(one)] == []
