"""How errors are said in HTTP: one table per protocol, from the error tree to status and type."""

import copy
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Self

import msgspec

from headgate import errors
from headgate.errors import HeadgateError
from headgate.http.request import Response, json_response

RETRY_AFTER_SECONDS = 1


class Problem(NamedTuple):
    """What a client sees of an error besides its message."""

    status: int
    type: str
    retry: bool = False
    """Certainly nothing happened: a client may send the same request again after a while."""
    code: int = 0
    """Its number in a protocol that has such besides the status."""


class ErrorModel(msgspec.Struct, frozen=True):
    """An error as clients read it."""

    message: str
    type: str
    code: int


class ErrorAnswer(msgspec.Struct, frozen=True):
    """The body of every answer that is an error."""

    error: ErrorModel


class Dialect:
    """How one protocol answers errors. A class that is not in its table answers as its parent does,
    and HeadgateError is in it: so every error has an answer."""

    body_type: type[msgspec.Struct] = ErrorAnswer
    """Of the body, for documents."""
    challenges: tuple[str, ...] = ("Bearer",)
    """How a client that nobody knows may say who it is."""

    def __init__(
        self,
        name: str,
        problems: Mapping[type[HeadgateError], Problem],
        *,
        unknown_path: Problem,
        unknown_method: Problem,
        unexpected: Problem,
    ) -> None:
        self.name = name
        self.problems = problems
        self.unknown_path = unknown_path
        self.unknown_method = unknown_method
        self.unexpected = unexpected

    def challenging(self, challenges: tuple[str, ...]) -> Self:
        """The same dialect on a server that takes these."""
        same = copy.copy(self)
        same.challenges = challenges
        return same

    def problem_of(self, cls: type[HeadgateError]) -> Problem:
        """The row of this class, or of the nearest class above it."""
        return next(self.problems[above] for above in cls.__mro__ if above in self.problems)

    def answer(self, error: HeadgateError) -> Response:
        """The response to a request that failed like this."""
        return self.say(self.problem_of(type(error)), str(error))

    def say(self, problem: Problem, message: str) -> Response:
        """A response with this message."""
        response = json_response(problem.status, self.body(problem, message))
        if problem.retry:
            response.headers.append(("retry-after", str(RETRY_AFTER_SECONDS)))
        if problem.status == 401:
            response.headers += [("www-authenticate", one) for one in self.challenges]
        return response

    def body(self, problem: Problem, message: str) -> msgspec.Struct:
        """What a client reads."""
        return ErrorAnswer(ErrorModel(message, problem.type, problem.status))

    def unserved(self, path: str) -> str:  # noqa: ARG002  other protocols look at it
        """What a path is about that the protocol has and nobody serves here; empty if nothing."""
        return ""


_BAD_REQUEST = Problem(400, "BadRequestException")
_NO_WAREHOUSE = Problem(404, "NoSuchWarehouseException")
_EXISTS = Problem(409, "AlreadyExistsException")
_INTERNAL = Problem(500, "InternalServerError")

ICEBERG = Dialect(
    "iceberg",
    {
        errors.HeadgateError: _INTERNAL,
        errors.InvalidInput: _BAD_REQUEST,
        errors.BadName: _BAD_REQUEST,
        errors.TooLarge: _BAD_REQUEST,  # clients show the message of a 400, and not that of a 413
        errors.BadSetting: _BAD_REQUEST,
        errors.BadRequest: _BAD_REQUEST,
        errors.BadMetadata: Problem(400, "ValidationException"),
        errors.DuplicateDialect: Problem(
            400, "IllegalArgumentException"
        ),  # clients know it by that
        errors.IllegalPrivilege: _BAD_REQUEST,
        errors.IllegalObject: _BAD_REQUEST,
        errors.IllegalRole: _BAD_REQUEST,
        errors.Unprocessable: Problem(422, "UnprocessableEntityException"),
        errors.Unsupported: Problem(406, "UnsupportedOperationException"),
        errors.NotAuthenticated: Problem(401, "NotAuthorizedException"),
        errors.Forbidden: Problem(403, "ForbiddenException"),
        errors.NotFound: Problem(404, "NotFoundException"),
        errors.StoreNotFound: _NO_WAREHOUSE,
        errors.RealmNotFound: _NO_WAREHOUSE,
        errors.PointerNotFound: _NO_WAREHOUSE,  # its realm was purged while we looked
        errors.ObjectNotFound: _INTERNAL,
        errors.MetalakeNotFound: _NO_WAREHOUSE,
        errors.CatalogNotFound: _NO_WAREHOUSE,
        errors.NamespaceNotFound: Problem(404, "NoSuchNamespaceException"),
        errors.TableNotFound: Problem(404, "NoSuchTableException"),
        errors.ViewNotFound: Problem(404, "NoSuchViewException"),
        errors.FunctionNotFound: Problem(404, "NoSuchFunctionException"),
        errors.UserNotFound: Problem(404, "NotFoundException"),
        errors.GroupNotFound: Problem(404, "NotFoundException"),
        errors.RoleNotFound: Problem(404, "NotFoundException"),
        errors.MetadataObjectNotFound: Problem(404, "NotFoundException"),
        errors.PlanNotFound: Problem(404, "NoSuchPlanIdException"),
        errors.PlanTaskNotFound: Problem(404, "NoSuchPlanTaskException"),
        errors.JobNotFound: Problem(404, "NotFoundException"),
        errors.FileMissing: Problem(404, "NotFoundException"),
        errors.AlreadyExists: _EXISTS,
        errors.RealmExists: _EXISTS,
        errors.MetalakeExists: _EXISTS,
        errors.CatalogExists: _EXISTS,
        errors.UserExists: _EXISTS,
        errors.GroupExists: _EXISTS,
        errors.RoleExists: _EXISTS,
        errors.NamespaceExists: _EXISTS,
        errors.TableExists: _EXISTS,
        errors.ViewExists: _EXISTS,
        errors.Conflict: Problem(409, "CommitFailedException"),
        errors.IllegalRealmMove: Problem(409, "CommitFailedException"),
        errors.RealmNotActive: Problem(403, "ForbiddenException"),  # a 409 would be tried again
        errors.PointerSealed: _NO_WAREHOUSE,  # the catalog is being dropped
        errors.NamespaceNotEmpty: Problem(409, "NamespaceNotEmptyException"),
        errors.CatalogNotEmpty: Problem(409, "CommitFailedException"),
        errors.MetalakeNotEmpty: Problem(409, "CommitFailedException"),
        errors.MetalakeNotInUse: Problem(403, "ForbiddenException"),  # a 409 would be tried again
        errors.CatalogNotInUse: Problem(403, "ForbiddenException"),
        errors.MetalakeInUse: Problem(409, "CommitFailedException"),
        errors.CatalogInUse: Problem(409, "CommitFailedException"),
        errors.LocationTaken: _EXISTS,
        errors.RequirementFailed: Problem(409, "CommitFailedException"),
        errors.LogCut: Problem(410, "NotFoundException"),
        errors.Corrupt: _INTERNAL,
        errors.CorruptRow: _INTERNAL,
        errors.WrongType: _INTERNAL,
        errors.NewerFormat: _INTERNAL,
        errors.Unavailable: Problem(503, "ServiceUnavailableException", retry=True),
        errors.BackendUnavailable: Problem(503, "ServiceUnavailableException", retry=True),
        errors.DatabaseFull: Problem(503, "ServiceUnavailableException", retry=True),
        errors.DatabaseGone: Problem(503, "ServiceUnavailableException", retry=True),
        errors.StoreRestored: Problem(503, "ServiceUnavailableException", retry=True),
        errors.CommitTimedOut: Problem(503, "ServiceUnavailableException", retry=True),
        errors.NoNodeId: Problem(503, "ServiceUnavailableException", retry=True),
        errors.ClockRefused: Problem(503, "ServiceUnavailableException", retry=True),
        errors.StorageUnavailable: Problem(503, "ServiceUnavailableException", retry=True),
        errors.StorageAwaited: Problem(503, "ServiceUnavailableException", retry=True),
        errors.StorageRefused: Problem(503, "ServiceUnavailableException", retry=True),
        errors.LeaseLost: Problem(503, "ServiceUnavailableException", retry=True),
        errors.WorkerEnded: Problem(503, "ServiceUnavailableException", retry=True),
        errors.RequestTimedOut: Problem(408, "RequestTimeoutException", retry=True),
        errors.Closed: Problem(503, "ServiceUnavailableException", retry=True),
        errors.Overloaded: Problem(429, "TooManyRequestsException", retry=True),
        errors.PurgeUnfinished: Problem(500, "ServiceFailureException"),  # Java repeats a 503
        errors.OutcomeUnknown: Problem(500, "CommitStateUnknownException"),
    },
    # Clients read any 404 as "no such table" or whatever they asked for, and HEAD as "it does not
    # exist". A path that nobody knows is neither. So 400, as the reference server answers.
    unknown_path=_BAD_REQUEST,
    unknown_method=Problem(405, "UnsupportedOperationException"),
    unexpected=_INTERNAL,
)

_STATUSES: dict[type[HeadgateError], tuple[int, bool]] = {
    errors.HeadgateError: (500, False),
    errors.InvalidInput: (400, False),
    errors.TooLarge: (413, False),
    errors.Unprocessable: (422, False),
    errors.Unsupported: (406, False),
    errors.NotAuthenticated: (401, False),
    errors.Forbidden: (403, False),
    errors.NotFound: (404, False),
    errors.ObjectNotFound: (500, False),
    errors.AlreadyExists: (409, False),
    errors.Conflict: (409, False),
    errors.LogCut: (410, False),
    errors.Unavailable: (503, True),
    errors.Overloaded: (429, True),
    errors.RequestTimedOut: (408, True),
    errors.PurgeUnfinished: (500, False),
}


def error_classes(cls: type[HeadgateError] = HeadgateError) -> Iterator[type[HeadgateError]]:
    """The error tree, from the root down."""
    yield cls
    for child in cls.__subclasses__():
        yield from error_classes(child)


def _plain(cls: type[HeadgateError]) -> Problem:
    status, retry = next(_STATUSES[above] for above in cls.__mro__ if above in _STATUSES)
    return Problem(status, cls.__name__, retry)


PLAIN = Dialect(
    "plain",
    {cls: _plain(cls) for cls in error_classes()},
    unknown_path=Problem(404, "PathNotFound"),
    unknown_method=Problem(405, "MethodNotAllowed"),
    unexpected=Problem(500, "InternalError"),
)
"""Headgate's own: the type is the error's name in the tree."""
