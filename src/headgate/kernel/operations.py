"""Operation ids: a commit that is sent again gets the answer of the first.

An index of the head maps time bucket + operation id to the recorded result, so the record is part
of the commit it is about, on every node and after every crash. Expired buckets are dropped a few at
a time.
"""

from headgate.errors import InvalidInput, TooLarge
from headgate.kernel.tree import Tree
from headgate.limits import (
    OPERATION_BUCKET_MS,
    OPERATION_BYTES_MAX,
    OPERATION_LIFETIME_MS,
    OPERATION_RESULT_BYTES_MAX,
    OPERATIONS_EXPIRED_PER_COMMIT,
)

INDEX = "operations"
BUCKET_BYTES = 8
_BUCKETS = OPERATION_LIFETIME_MS // OPERATION_BUCKET_MS + 1


def check(operation: bytes) -> None:
    """An operation id is 1 to 128 bytes."""
    if not isinstance(operation, bytes):
        raise InvalidInput(
            "the operation id cannot be used",
            why=f"it is a {type(operation).__name__}",
            fix="An operation id is bytes, such as those of a UUID",
        )
    if not 1 <= len(operation) <= OPERATION_BYTES_MAX:
        raise InvalidInput(
            "the operation id cannot be used",
            why=f"it has {len(operation)} bytes, allowed are 1 to {OPERATION_BYTES_MAX}",
            fix="Use a UUID",
        )


def find(tree: Tree, operation: bytes, now_ms: int) -> bytes | None:
    """The result this operation was answered with, None if it is new."""
    newest = now_ms // OPERATION_BUCKET_MS + 1  # another node's clock may be a little ahead
    for bucket in range(newest, newest - _BUCKETS - 1, -1):
        result = tree.get(_key(bucket, operation))
        if result is not None:
            return result
    return _find_later(tree, operation, newest + 1)


def _find_later(tree: Tree, operation: bytes, bucket: int) -> bytes | None:
    """The result that a clock which was ahead has filed in this bucket or a later one."""
    while True:
        later = next(iter(tree.scan(_key(bucket, b""))), None)
        if later is None:
            return None
        bucket = int.from_bytes(later[0][:BUCKET_BYTES], "big")
        result = tree.get(_key(bucket, operation))
        if result is not None:
            return result
        bucket += 1


def record(tree: Tree, operation: bytes, result: object, now_ms: int) -> None:
    """Remember what this operation was answered with."""
    if not isinstance(result, bytes):
        raise InvalidInput(
            "the operation cannot be recorded",
            why=f"its attempt returned a {type(result).__name__}",
            fix="An attempt with an operation id returns bytes",
        )
    if len(result) > OPERATION_RESULT_BYTES_MAX:
        raise TooLarge(
            "the operation cannot be recorded",
            why=f"its result has {len(result):,} bytes, allowed are {OPERATION_RESULT_BYTES_MAX:,}",
            fix="Return an id instead of the content",
        )
    tree.put(_key(now_ms // OPERATION_BUCKET_MS, operation), result)


def expire(tree: Tree, now_ms: int) -> None:
    """Drop a few records that are past their lifetime."""
    oldest_kept = _key(now_ms // OPERATION_BUCKET_MS - _BUCKETS + 1, b"")
    expired: list[bytes] = []
    for key, _ in tree.scan(b"", oldest_kept):
        if len(expired) == OPERATIONS_EXPIRED_PER_COMMIT:
            break
        expired.append(key)
    for key in expired:
        tree.remove(key)


def _key(bucket: int, operation: bytes) -> bytes:
    return bucket.to_bytes(BUCKET_BYTES, "big") + operation
