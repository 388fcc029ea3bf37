"""The proof that a database keeps the promises of the port: one class for backends to subclass.

A new backend writes `class TestMine(BackendConformance)` and gives three fixtures, in the class or
in a conftest: `backend`, opened; `second`, another opened node on the same database; `another`, a
function that makes further nodes, not opened. All may be one object where there is only one node.
"""

import secrets

import pytest

from headgate.kernel.backend import Backend
from headgate.kernel.records import PointerKey
from headgate.testing.pointer_conformance import CommitConformance, PointerConformance
from headgate.testing.race_conformance import RaceConformance, VisibilityConformance
from headgate.testing.row_conformance import ImmutableRowConformance, VersionedRowConformance
from headgate.testing.scan_conformance import (
    OpeningConformance,
    RealmConformance,
    ScanConformance,
)


class BackendConformance(
    PointerConformance,
    CommitConformance,
    ImmutableRowConformance,
    VersionedRowConformance,
    ScanConformance,
    RealmConformance,
    OpeningConformance,
    RaceConformance,
    VisibilityConformance,
):
    """Every sentence of the port as a test. Each test has realms of its own."""

    @pytest.fixture
    def realm(self) -> str:
        """A realm that nobody else uses; `other_realm` differs in its last character."""
        return f"conformance-{secrets.token_hex(8)}-1"

    @pytest.fixture
    def other_realm(self, realm: str) -> str:
        """Another one."""
        return f"{realm[:-1]}2"

    @pytest.fixture
    async def key(self, backend: Backend, realm: str) -> PointerKey:
        """A pointer that exists and is EMPTY."""
        await backend.create_pointers(realm, ["pointer"])
        return PointerKey(realm, "pointer")
