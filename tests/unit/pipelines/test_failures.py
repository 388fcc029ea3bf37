"""What Spark says, in one line."""

import pytest
from pyspark.errors import AnalysisException, PySparkRuntimeError

from headgate.errors import (
    Conflict,
    Forbidden,
    HeadgateError,
    StorageUnavailable,
    TableNotFound,
    Unavailable,
    Unsupported,
)
from headgate.pipelines.failures import WORDS_CHARS_MAX, as_ours, spoken, translated, words_of

EXECUTOR = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent \
failure: Lost task 0.0 in stage 1.0 (TID 1) (localhost executor driver): \
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
{}

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
\tat java.base/java.lang.Thread.run(Thread.java:1)
"""
JAVA = """org.apache.spark.SparkException: Writing job aborted
\tat org.apache.spark.Here.there(Here.scala:1)
Caused by: org.apache.iceberg.exceptions.{}
\tat org.apache.iceberg.There.here(There.java:1)
"""


def test_what_an_executor_raised_keeps_its_kind() -> None:
    """One of ours comes back as it was, without a trace."""
    told = spoken(EXECUTOR.format("headgate.errors.StorageUnavailable: s3://b: no answer. Wait"))

    assert isinstance(told, StorageUnavailable)
    assert str(told) == "s3://b: no answer. Wait"


def test_any_other_error_of_an_executor_is_named() -> None:
    """By the last line of its trace."""
    told = spoken(EXECUTOR.format("ValueError: 3 is not 4"))

    assert (told.what, told.why) == ("Spark failed", "ValueError: 3 is not 4")


def test_executors_without_headgate_are_told_of() -> None:
    """Functions come to them by name, so what is installed here must be installed there."""
    told = spoken(EXECUTOR.format("ModuleNotFoundError: No module named 'headgate'"))

    assert isinstance(told, Unsupported)
    assert (told.what, told.why) == (
        "executors cannot run this pipeline",
        "their Python has no module headgate",
    )
    assert "headgate[spark]" in told.fix


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("ForbiddenException: Forbidden: no right", Forbidden),
        ("NoSuchTableException: Table does not exist: a.b", TableNotFound),
        ("CommitFailedException: Requirement failed", Conflict),
        ("ServiceUnavailableException: later", Unavailable),
    ],
)
def test_errors_of_iceberg_keep_their_kind(text: str, kind: type[HeadgateError]) -> None:
    """What the server said comes out of Spark as it went in."""
    told = spoken(JAVA.format(text))

    assert type(told) is kind
    assert str(told) == text.partition(": ")[2]


def test_what_spark_does_not_find_is_not_found() -> None:
    """It has names of its own for that."""
    told = spoken("[TABLE_OR_VIEW_NOT_FOUND] The table or view a.b cannot be found.\n at line 1")

    assert type(told) is TableNotFound
    assert str(told) == "The table or view a.b cannot be found"


def test_the_innermost_cause_says_most() -> None:
    """Without the packages of its class."""
    assert words_of(JAVA.format("ValidationException: no")) == "ValidationException: no"
    assert words_of("\n  first \nsecond") == "first"
    assert words_of("") == "it does not say why"
    assert len(words_of("x" * 5000)) == WORDS_CHARS_MAX + 1


def test_a_program_that_ended_says_why() -> None:
    """As Spark writes it when it cannot start."""
    log = (
        'WARNING: x\nException in thread "main" org.apache.spark.SparkException: no YARN\n\tat a.b'
    )

    assert words_of(log) == "SparkException: no YARN"


def test_errors_of_pyspark_are_translated() -> None:
    """Those that it raises itself."""
    with (
        pytest.raises(HeadgateError, match=r"^Spark failed: \[X\] no such column\. --debug"),
        translated(),
    ):
        raise AnalysisException("[X] no such column\n line 2")


def test_a_jvm_that_is_gone_is_told() -> None:
    """py4j only says that nobody answers."""
    assert isinstance(as_ours(ConnectionRefusedError("refused")), Unavailable)


def test_other_errors_pass() -> None:
    """Ours, and mistakes of our own."""
    for error in (Forbidden("no"), ZeroDivisionError()):
        with pytest.raises(type(error)) as raised, translated():
            raise error
        assert raised.value is error
    assert as_ours(PySparkRuntimeError("x")) is not None
