"""Every error has its answer in every dialect."""

import json

import pytest

from headgate import errors
from headgate.errors import HeadgateError
from headgate.http.problems import ICEBERG, PLAIN, Dialect, Problem, error_classes

CLASSES = list(error_classes())
LEAVES = [cls for cls in CLASSES if not cls.__subclasses__()]


def body(dialect: Dialect, error: HeadgateError) -> dict[str, object]:
    response = dialect.answer(error)
    assert isinstance(response.body, bytes)
    answer: dict[str, dict[str, object]] = json.loads(response.body)
    assert answer["error"]["code"] == response.status
    return answer["error"]


@pytest.mark.parametrize("dialect", [ICEBERG, PLAIN], ids=lambda dialect: dialect.name)
def test_every_error_of_the_tree_is_in_the_table(dialect: Dialect) -> None:
    """A new error needs a decision in each dialect, not an answer by accident."""
    assert [cls for cls in CLASSES if cls not in dialect.problems] == []
    assert len(LEAVES) > 30


@pytest.mark.parametrize("cls", LEAVES, ids=lambda cls: cls.__name__)
def test_only_what_certainly_did_not_happen_may_be_tried_again(cls: type[HeadgateError]) -> None:
    """Retry-After on a commit of unknown outcome would make it happen twice."""
    assert ICEBERG.problem_of(cls).retry == issubclass(cls, errors.Unavailable)
    assert PLAIN.problem_of(cls).retry == issubclass(cls, errors.Unavailable)


@pytest.mark.parametrize("cls", LEAVES, ids=lambda cls: cls.__name__)
def test_a_known_failure_of_a_commit_is_no_server_error_without_retry(
    cls: type[HeadgateError],
) -> None:
    """A 5xx without Retry-After says that a commit may have landed, or that the store broke."""
    problem = ICEBERG.problem_of(cls)
    broken = (errors.Corrupt, errors.NewerFormat, errors.ObjectNotFound)
    landed = (errors.OutcomeUnknown, errors.PurgeUnfinished)

    assert (problem.status >= 500 and not problem.retry) == issubclass(cls, broken + landed)


@pytest.mark.parametrize(
    ("cls", "status", "type"),
    [
        (errors.BadRequest, 400, "BadRequestException"),
        (errors.BadMetadata, 400, "ValidationException"),
        (errors.NotAuthenticated, 401, "NotAuthorizedException"),
        (errors.Forbidden, 403, "ForbiddenException"),
        (errors.CatalogNotFound, 404, "NoSuchWarehouseException"),
        (errors.NamespaceNotFound, 404, "NoSuchNamespaceException"),
        (errors.TableNotFound, 404, "NoSuchTableException"),
        (errors.ViewNotFound, 404, "NoSuchViewException"),
        (errors.FunctionNotFound, 404, "NoSuchFunctionException"),
        (errors.PlanNotFound, 404, "NoSuchPlanIdException"),
        (errors.PlanTaskNotFound, 404, "NoSuchPlanTaskException"),
        (errors.FileMissing, 404, "NotFoundException"),
        (errors.Unsupported, 406, "UnsupportedOperationException"),
        (errors.TableExists, 409, "AlreadyExistsException"),
        (errors.NamespaceNotEmpty, 409, "NamespaceNotEmptyException"),
        (errors.RequirementFailed, 409, "CommitFailedException"),
        (errors.Unprocessable, 422, "UnprocessableEntityException"),
        (errors.Overloaded, 429, "TooManyRequestsException"),
        (errors.OutcomeUnknown, 500, "CommitStateUnknownException"),
        (errors.BackendUnavailable, 503, "ServiceUnavailableException"),
        (errors.PurgeUnfinished, 500, "ServiceFailureException"),
    ],
)
def test_iceberg_clients_see_their_own_types(
    cls: type[HeadgateError], status: int, type: str
) -> None:
    """Clients choose what to do by status and type."""
    error = body(ICEBERG, cls("what", why="why", fix="Fix"))

    assert error == {"message": "what: why. Fix", "type": type, "code": status}


def test_an_error_that_may_be_tried_again_says_when() -> None:
    """Java clients retry a POST only then."""
    response = ICEBERG.answer(errors.Overloaded("busy"))

    assert ("retry-after", "1") in response.headers


def test_who_is_unknown_is_told_how_to_introduce_themselves() -> None:
    """HTTP asks for this header with a 401."""
    response = PLAIN.answer(errors.NotAuthenticated("who?"))

    assert ("www-authenticate", "Bearer") in response.headers


def test_a_class_that_is_not_in_a_table_answers_as_the_nearest_above_it() -> None:
    """A dialect never fails to answer."""
    anything, not_found = Problem(500, "Failure"), Problem(404, "Absent")
    small = Dialect(
        "small",
        {HeadgateError: anything, errors.NotFound: not_found},
        unknown_path=not_found,
        unknown_method=anything,
        unexpected=anything,
    )

    assert small.problem_of(errors.TableNotFound) == not_found
    assert small.problem_of(errors.TableExists) == anything


def test_an_unknown_path_is_not_a_missing_table() -> None:
    """Iceberg clients read each 404 as the absence of what they asked for."""
    assert ICEBERG.unknown_path.status == 400
    assert PLAIN.unknown_path.status == 404
