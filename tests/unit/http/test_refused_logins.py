"""Refused logins in the audit: what is said of them, and how much."""

import base64
from collections.abc import AsyncIterator

import pytest

from headgate.access.auditing import Decision
from headgate.catalog.calls import ANYBODY, Caller
from headgate.catalog.identities import refused
from headgate.errors import NotAuthenticated
from headgate.http.refused_logins import SEVERAL, RefusedLogins, printable
from headgate.http.request import Request
from headgate.limits import (
    LOGIN_KINDS_MAX,
    LOGIN_KINDS_PER_ADDRESS_MAX,
    LOGIN_NAME_CHARS_MAX,
)
from headgate.testing.manual_clock import ManualClock


class Audit:
    """Keeps decisions in a list."""

    def __init__(self) -> None:
        self.decisions: list[Decision] = []

    def decided(self, decision: Decision) -> None:
        self.decisions.append(decision)

    def said(self) -> list[tuple[str, str, str, int]]:
        """Address, name, reason and number of each line."""
        return [(one.address, one.principal, one.why, one.times) for one in self.decisions]


@pytest.fixture
def audit() -> Audit:
    return Audit()


@pytest.fixture
async def logins(audit: Audit) -> AsyncIterator[RefusedLogins]:
    logins = RefusedLogins(audit, ManualClock())
    yield logins
    logins.close()


def request(name: str = "", address: str = "192.0.2.1", caller: Caller = ANYBODY) -> Request:
    """A request of a name with a password; without any credentials if it has none."""
    headers = {}
    if name:
        basic = base64.b64encode(f"{name}:a-secret".encode()).decode()
        headers["authorization"] = f"Basic {basic}"
    return Request("GET", "/", headers=headers, id="r-1", address=address, caller=caller)


async def test_a_refused_login_is_recorded_with_its_name_address_and_reason(
    audit: Audit, logins: RefusedLogins
) -> None:
    """And without its password."""
    logins.refused(request("ann"), refused("password"))

    assert audit.decisions == [
        Decision(
            ManualClock().wall_ms(),
            "r-1",
            "ann",
            "login",
            "",
            (),
            allowed=False,
            why="password",
            address="192.0.2.1",
        )
    ]
    assert audit.decisions[0].matters


async def test_a_token_names_whom_it_was_issued_for(audit: Audit, logins: RefusedLogins) -> None:
    """If its signature was right; else nobody."""
    asked = request(caller=Caller("ann"))
    asked.headers["authorization"] = "Bearer a.b.c"
    logins.refused(asked, refused("revoked token"))
    asked.caller = ANYBODY
    logins.refused(asked, NotAuthenticated("Not authorized"))

    assert audit.said() == [
        ("192.0.2.1", "ann", "revoked token", 1),
        ("192.0.2.1", "", "credentials", 1),
    ]


async def test_who_shows_no_credentials_tried_nothing(audit: Audit, logins: RefusedLogins) -> None:
    """Clients find out in that way that they need some."""
    logins.refused(request(), refused("credentials"))

    assert audit.decisions == []


async def test_repetitions_are_recorded_by_their_number(
    audit: Audit, logins: RefusedLogins
) -> None:
    """At the end of a period; the next one begins anew."""
    for _ in range(1_000):
        logins.refused(request("ann"), refused("password"))
    during = audit.said()
    logins.close()
    logins.refused(request("ann"), refused("password"))

    assert during == [("192.0.2.1", "ann", "password", 1)]
    assert audit.said() == [
        ("192.0.2.1", "ann", "password", 1),
        ("192.0.2.1", "ann", "password", 999),
        ("192.0.2.1", "ann", "password", 1),
    ]


async def test_many_names_of_one_address_are_a_few_lines(
    audit: Audit, logins: RefusedLogins
) -> None:
    """All of them are counted, and another address is recorded as before."""
    for number in range(500):
        logins.refused(request(f"name {number}"), refused("unknown user"))
    logins.refused(request("ann", "192.0.2.2"), refused("password"))
    logins.close()

    said = audit.said()
    assert len(said) == LOGIN_KINDS_PER_ADDRESS_MAX + 3
    assert ("192.0.2.2", "ann", "password", 1) in said
    assert [one for one in said if one[2] == SEVERAL] == [
        ("192.0.2.1", "", SEVERAL, 1),
        ("192.0.2.1", "", SEVERAL, 500 - LOGIN_KINDS_PER_ADDRESS_MAX - 1),
    ]
    assert sum(one[3] for one in said) == 501


async def test_many_addresses_are_so_many_lines(audit: Audit, logins: RefusedLogins) -> None:
    """Whatever they try."""
    for number in range(LOGIN_KINDS_MAX * 3):
        logins.refused(request("ann", f"10.0.{number // 250}.{number % 250}"), refused("password"))
    logins.close()

    assert len(audit.decisions) == LOGIN_KINDS_MAX + 2
    assert sum(one[3] for one in audit.said()) == LOGIN_KINDS_MAX * 3


def test_a_name_is_short_and_printable() -> None:
    """Whatever was sent as one."""
    assert printable("ann") == "ann"
    assert printable("e\nv\u202ee\x1b") == "e\\nv\\u202ee\\x1b"
    assert len(printable("x" * 10_000)) == LOGIN_NAME_CHARS_MAX
