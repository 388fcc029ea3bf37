"""Handlers that add or remove many users at once. Each has its own outcome."""

from collections.abc import Sequence

import msgspec

from headgate.access import rules
from headgate.catalog import principals
from headgate.catalog.principals import USER, Principal, absent
from headgate.errors import BadRequest, HeadgateError
from headgate.http.gravitino.access import WHERE_RIGHTS_ARE_CHECKED, guarded_metalake
from headgate.http.gravitino.principals import AddUser, MetalakeUser, new_of, user_of
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.gravitino.route_parts import write
from headgate.http.gravitino.service import Gravitino
from headgate.http.gravitino.shapes import Answer, Payload, Shape
from headgate.http.request import Request, Response, decode, json_response
from headgate.limits import BULK_USERS_MAX

BULK_USERS = "/bulk/metalakes/{metalake}/users"


class AddUsers(Payload, frozen=True):
    """Users that are to be added."""

    users: list[AddUser]


class RemoveUsers(Payload, frozen=True):
    """Names of users that are to be removed."""

    names: list[str]


class BulkError(Shape, frozen=True):
    """Why it did not work with one of them."""

    index: int
    name: str
    code: int
    type: str
    message: str


class BulkSummary(Shape, frozen=True):
    """With how many it did and did not."""

    total: int
    succeeded: int
    failed: int


class UsersAdded(Answer, frozen=True):
    """What became of users that were to be added."""

    users: list[MetalakeUser]
    errors: list[BulkError]
    summary: BulkSummary


class UsersRemoved(Answer, frozen=True):
    """What became of users that were to be removed."""

    names: list[str]
    errors: list[BulkError]
    summary: BulkSummary


async def add_users(service: Gravitino, request: Request) -> Response:
    """Let many use a metalake."""
    metalake = await guarded_metalake(service, request)
    wanted = decode(request, AddUsers).users
    _check_number(len(wanted))
    done = await principals.add_users(metalake, list(map(new_of, wanted)))
    errors = _errors([user.name for user in wanted], done)
    added = [user_of(one) for one in done if isinstance(one, Principal)]
    summary = _summary(done, errors)
    return json_response(200, UsersAdded(users=added, errors=errors, summary=summary))


async def remove_users(service: Gravitino, request: Request) -> Response:
    """Take many out of a metalake."""
    metalake = await guarded_metalake(service, request)
    names = decode(request, RemoveUsers).names
    _check_number(len(names))
    if len(set(names)) < len(names):
        raise BadRequest("Invalid names", why="one is there twice", fix="Name each user once")
    done = [
        absent(metalake, USER, name) if outcome is False else outcome
        for name, outcome in zip(names, await principals.remove_users(metalake, names), strict=True)
    ]
    errors = _errors(names, done)
    removed = [name for name, one in zip(names, done, strict=True) if one is True]
    summary = _summary(done, errors)
    return json_response(200, UsersRemoved(names=removed, errors=errors, summary=summary))


def _check_number(number: int) -> None:
    if not 1 <= number <= BULK_USERS_MAX:
        raise BadRequest(
            "Cannot change these users",
            why=f"there are {number:,}, and one request takes 1 to {BULK_USERS_MAX:,}",
            fix="Send several requests",
        )


def _errors(names: Sequence[str], done: Sequence[object]) -> list[BulkError]:
    return [
        _error(index, name, one)
        for index, (name, one) in enumerate(zip(names, done, strict=True))
        if isinstance(one, HeadgateError)
    ]


def _error(index: int, name: str, error: HeadgateError) -> BulkError:
    problem = GRAVITINO.problem_of(type(error))
    return BulkError(
        index=index, name=name, code=problem.code, type=problem.type, message=str(error)
    )


def _summary(done: Sequence[object], errors: Sequence[msgspec.Struct]) -> BulkSummary:
    total, failed = len(done), len(errors)
    return BulkSummary(total=total, succeeded=total - failed, failed=failed)


ROUTES = (
    write(
        "POST",
        f"{BULK_USERS}/add",
        add_users,
        "bulkAddUsers",
        "Add many users to a metalake",
        request=AddUsers,
        response=UsersAdded,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.CHANGE_USERS,
    ),
    write(
        "POST",
        f"{BULK_USERS}/remove",
        remove_users,
        "bulkRemoveUsers",
        "Remove many users from a metalake",
        request=RemoveUsers,
        response=UsersRemoved,
        errors=WHERE_RIGHTS_ARE_CHECKED,
        rule=rules.CHANGE_USERS,
    ),
)
