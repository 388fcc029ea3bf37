"""The proof that the kernel keeps its promises on a database: one class for backends to subclass.

A new backend writes `class TestMine(KernelConformance)` and gives two fixtures, in the class or
in a conftest: `node` and `other_node`, two opened kernels on one database. A database that loses
answers is welcome: all callers of the suite are those of `headgate.testing.callers`. One whose
writes can land after their answers were lost gives a third, `settle`.
"""

import secrets

import pytest

from headgate.kernel.kernel import Kernel
from headgate.kernel.records import PointerKey
from headgate.testing.callers import create_realm
from headgate.testing.kernel_commits import AtomicityConformance, CommitConformance
from headgate.testing.kernel_crashes import CrashConformance
from headgate.testing.kernel_indexes import IndexConformance
from headgate.testing.kernel_logs import LogConformance
from headgate.testing.kernel_objects import ObjectConformance, Settle
from headgate.testing.kernel_realms import RealmLifeConformance

POINTER = "work"


class KernelConformance(
    CommitConformance,
    AtomicityConformance,
    CrashConformance,
    IndexConformance,
    LogConformance,
    ObjectConformance,
    RealmLifeConformance,
):
    """What the kernel promises its callers, seen from two nodes. Each test has its own realm."""

    @pytest.fixture
    def realm_name(self) -> str:
        """A realm name that nobody else uses."""
        return f"conformance {secrets.token_hex(8)}"

    @pytest.fixture
    def settle(self) -> Settle:
        """Lets all writes land that are still under way: here there are none."""
        return _nothing_to_wait_for

    @pytest.fixture
    async def key(self, node: Kernel, realm_name: str) -> PointerKey:
        """A pointer without a commit, in an ACTIVE realm."""
        realm = await create_realm(node, realm_name, POINTER)
        return PointerKey(realm.id, POINTER)


async def _nothing_to_wait_for() -> None:
    pass
