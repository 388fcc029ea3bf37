"""Every error has its answer in Gravitino's words."""

import json

import pytest

from headgate import errors
from headgate.errors import HeadgateError
from headgate.http.gravitino.problems import GRAVITINO
from headgate.http.problems import error_classes

CLASSES = list(error_classes())


def test_every_error_of_the_tree_is_in_the_table() -> None:
    """A new error needs a decision, not an answer by accident."""
    assert [cls for cls in CLASSES if cls not in GRAVITINO.problems] == []


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_an_answer_has_a_number_that_all_clients_know(cls: type[HeadgateError]) -> None:
    """Python's fails on numbers above 1010; who is unknown never gets as far as its handlers."""
    problem = GRAVITINO.problem_of(cls)

    assert problem.code in range(1001, 1011) or cls is errors.NotAuthenticated
    assert problem.retry == issubclass(cls, errors.Unavailable)


@pytest.mark.parametrize(
    ("cls", "status", "code", "type"),
    [
        (errors.BadRequest, 400, 1001, "IllegalArgumentException"),
        (errors.IllegalPrivilege, 400, 1001, "IllegalPrivilegeException"),
        (errors.IllegalObject, 400, 1001, "IllegalMetadataObjectException"),
        (errors.IllegalRole, 400, 1001, "IllegalRoleException"),
        (errors.Corrupt, 500, 1002, "RuntimeException"),
        (errors.MetalakeNotFound, 404, 1003, "NoSuchMetalakeException"),
        (errors.CatalogNotFound, 404, 1003, "NoSuchCatalogException"),
        (errors.NamespaceNotFound, 404, 1003, "NoSuchSchemaException"),
        (errors.TableNotFound, 404, 1003, "NoSuchTableException"),
        (errors.ViewNotFound, 404, 1003, "NoSuchViewException"),
        (errors.UserNotFound, 404, 1003, "NoSuchUserException"),
        (errors.GroupNotFound, 404, 1003, "NoSuchGroupException"),
        (errors.RoleNotFound, 404, 1003, "NoSuchRoleException"),
        (errors.MetadataObjectNotFound, 404, 1003, "NoSuchMetadataObjectException"),
        (errors.MetalakeExists, 409, 1004, "MetalakeAlreadyExistsException"),
        (errors.NamespaceExists, 409, 1004, "SchemaAlreadyExistsException"),
        (errors.RoleExists, 409, 1004, "RoleAlreadyExistsException"),
        (errors.NamespaceNotEmpty, 409, 1005, "NonEmptySchemaException"),
        (errors.CatalogNotEmpty, 409, 1005, "NonEmptyCatalogException"),
        (errors.MetalakeNotEmpty, 409, 1005, "NonEmptyMetalakeException"),
        (errors.Unsupported, 405, 1006, "UnsupportedOperationException"),
        (errors.StorageUnavailable, 502, 1007, "ConnectionFailedException"),
        (errors.Forbidden, 403, 1008, "ForbiddenException"),
        (errors.RealmNotActive, 409, 1009, "MetalakeNotInUseException"),
        (errors.CatalogNotInUse, 409, 1009, "CatalogNotInUseException"),
        (errors.MetalakeInUse, 409, 1010, "MetalakeInUseException"),
        (errors.CatalogInUse, 409, 1010, "CatalogInUseException"),
        (errors.NotAuthenticated, 401, 1011, "UnauthorizedException"),
    ],
)
def test_clients_see_their_own_types(
    cls: type[HeadgateError], status: int, code: int, type: str
) -> None:
    """They choose their exception by number and type; there is no stack to be shown."""
    response = GRAVITINO.answer(cls("what", why="why", fix="Fix"))

    assert response.status == status
    assert isinstance(response.body, bytes)
    assert json.loads(response.body) == {"code": code, "type": type, "message": "what: why. Fix"}
