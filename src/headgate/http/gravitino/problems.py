"""How Gravitino's protocol says no: a status, a number, and the name of a Java exception.

Clients choose their exception by the number first and the name second. Some know no number above
1010, so those are avoided where a smaller one says the same.
"""

import msgspec

from headgate import errors
from headgate.http.gravitino.unserved import unserved
from headgate.http.problems import Dialect, Problem


class ErrorBody(msgspec.Struct, frozen=True):
    """The body of every answer that is an error."""

    code: int
    type: str
    message: str


class GravitinoDialect(Dialect):
    """The same table, another body."""

    body_type = ErrorBody

    def body(self, problem: Problem, message: str) -> ErrorBody:
        return ErrorBody(problem.code, problem.type, message)

    def unserved(self, path: str) -> str:
        return unserved(path)


def _absent(type: str) -> Problem:
    return Problem(404, type, code=1003)


def _exists(what: str) -> Problem:
    return Problem(409, f"{what}AlreadyExistsException", code=1004)


def _full(what: str) -> Problem:
    return Problem(409, f"NonEmpty{what}Exception", code=1005)


_ILLEGAL = Problem(400, "IllegalArgumentException", code=1001)
_UNSUITED = Problem(409, "IllegalArgumentException", code=1001)
_INTERNAL = Problem(500, "RuntimeException", code=1002)
_LATER = Problem(503, "RuntimeException", retry=True, code=1002)
_NO_METALAKE = _absent("NoSuchMetalakeException")
_NO_CATALOG = _absent("NoSuchCatalogException")
_ABSENT = _absent("NotFoundException")
_OFF = Problem(409, "MetalakeNotInUseException", code=1009)

GRAVITINO = GravitinoDialect(
    "gravitino",
    {
        errors.HeadgateError: _INTERNAL,
        errors.InvalidInput: _ILLEGAL,
        errors.BadName: _ILLEGAL,
        errors.TooLarge: _ILLEGAL,
        errors.BadSetting: _ILLEGAL,
        errors.BadRequest: _ILLEGAL,
        errors.BadMetadata: _ILLEGAL,
        errors.DuplicateDialect: _ILLEGAL,
        errors.IllegalPrivilege: Problem(400, "IllegalPrivilegeException", code=1001),
        errors.IllegalObject: Problem(400, "IllegalMetadataObjectException", code=1001),
        errors.IllegalRole: Problem(400, "IllegalRoleException", code=1001),
        errors.Unprocessable: _ILLEGAL,
        errors.Unsupported: Problem(405, "UnsupportedOperationException", code=1006),
        errors.NotAuthenticated: Problem(401, "UnauthorizedException", code=1011),
        errors.Forbidden: Problem(403, "ForbiddenException", code=1008),
        errors.NotFound: _ABSENT,
        errors.StoreNotFound: _NO_METALAKE,
        errors.RealmNotFound: _NO_METALAKE,
        errors.PointerNotFound: _NO_METALAKE,  # its realm was purged while we looked
        errors.ObjectNotFound: _INTERNAL,
        errors.MetalakeNotFound: _NO_METALAKE,
        errors.CatalogNotFound: _NO_CATALOG,
        errors.NamespaceNotFound: _absent("NoSuchSchemaException"),
        errors.TableNotFound: _absent("NoSuchTableException"),
        errors.ViewNotFound: _absent("NoSuchViewException"),
        errors.FunctionNotFound: _absent("NoSuchFunctionException"),
        errors.UserNotFound: _absent("NoSuchUserException"),
        errors.GroupNotFound: _absent("NoSuchGroupException"),
        errors.RoleNotFound: _absent("NoSuchRoleException"),
        errors.MetadataObjectNotFound: _absent("NoSuchMetadataObjectException"),
        errors.PlanNotFound: _ABSENT,
        errors.PlanTaskNotFound: _ABSENT,
        errors.JobNotFound: _ABSENT,
        errors.FileMissing: _ABSENT,
        errors.AlreadyExists: _exists(""),
        errors.RealmExists: _exists("Metalake"),
        errors.MetalakeExists: _exists("Metalake"),
        errors.CatalogExists: _exists("Catalog"),
        errors.UserExists: _exists("User"),
        errors.GroupExists: _exists("Group"),
        errors.RoleExists: _exists("Role"),
        errors.NamespaceExists: _exists("Schema"),
        errors.TableExists: _exists("Table"),
        errors.ViewExists: _exists("View"),
        errors.Conflict: _UNSUITED,
        errors.IllegalRealmMove: _UNSUITED,
        errors.RealmNotActive: _OFF,
        errors.PointerSealed: _NO_CATALOG,  # it is being dropped
        errors.NamespaceNotEmpty: _full("Schema"),
        errors.CatalogNotEmpty: _full("Catalog"),
        errors.MetalakeNotEmpty: _full("Metalake"),
        errors.MetalakeNotInUse: _OFF,
        errors.CatalogNotInUse: Problem(409, "CatalogNotInUseException", code=1009),
        errors.MetalakeInUse: Problem(409, "MetalakeInUseException", code=1010),
        errors.CatalogInUse: Problem(409, "CatalogInUseException", code=1010),
        errors.LocationTaken: _UNSUITED,  # clients would take 1004 for the name
        errors.RequirementFailed: _UNSUITED,
        errors.LogCut: _ABSENT,
        errors.Corrupt: _INTERNAL,
        errors.CorruptRow: _INTERNAL,
        errors.WrongType: _INTERNAL,
        errors.NewerFormat: _INTERNAL,
        errors.Unavailable: _LATER,
        errors.BackendUnavailable: _LATER,
        errors.DatabaseFull: _LATER,
        errors.DatabaseGone: _LATER,
        errors.StoreRestored: _LATER,
        errors.CommitTimedOut: _LATER,
        errors.NoNodeId: _LATER,
        errors.ClockRefused: _LATER,
        errors.StorageUnavailable: Problem(502, "ConnectionFailedException", retry=True, code=1007),
        errors.StorageAwaited: Problem(502, "ConnectionFailedException", retry=True, code=1007),
        errors.StorageRefused: Problem(502, "ConnectionFailedException", retry=True, code=1007),
        errors.LeaseLost: _LATER,
        errors.WorkerEnded: _LATER,
        errors.RequestTimedOut: Problem(408, "RuntimeException", retry=True, code=1002),
        errors.Closed: _LATER,
        errors.Overloaded: Problem(429, "RuntimeException", retry=True, code=1002),
        errors.PurgeUnfinished: _INTERNAL,
        errors.OutcomeUnknown: _INTERNAL,
    },
    # Not 1003: clients would take it for the absence of what they asked about.
    unknown_path=Problem(404, "UnsupportedOperationException", code=1006),
    unknown_method=Problem(405, "UnsupportedOperationException", code=1006),
    unexpected=_INTERNAL,
)
