"""Amounts in texts: sizes and times as people read them, and numbers of any length."""

_UNITS = ("bytes", "kB", "MB", "GB", "TB", "PB")
_STEP = 1_000
INT64_MAX = (1 << 63) - 1


def size(count: int) -> str:
    """So many bytes, in three or four digits."""
    amount, unit = float(count), 0
    while amount >= _STEP and unit < len(_UNITS) - 1:
        amount, unit = amount / _STEP, unit + 1
    return f"{count} bytes" if unit == 0 else f"{amount:.1f} {_UNITS[unit]}"


def duration(ms: int) -> str:
    """So much time, to the second."""
    minutes, seconds = divmod(max(ms, 0) // 1_000, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def whole_number(digits: str, most: int) -> int | None:
    """The number that decimal digits write; None if they are no digits, or if it is over `most`.

    Python refuses to convert texts of more than 4,300 digits, and is slow before that.
    """
    significant = digits.lstrip("0") or "0"
    if not digits.isdecimal() or len(significant) > len(str(most)):
        return None
    number = int(significant)
    return number if number <= most else None
