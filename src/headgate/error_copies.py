"""Errors that several callers get."""

import copy


def for_another_caller(error: Exception) -> Exception:
    """The same error as an object of its own, so that callers do not share a traceback."""
    try:
        same = copy.copy(error)
    except Exception:  # noqa: BLE001  an error that cannot be copied is shared
        return error
    same.__cause__ = error.__cause__
    return same
