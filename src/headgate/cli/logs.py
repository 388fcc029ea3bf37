"""Where log messages go and what they look like: standard error, as lines of text or of JSON."""

import logging
import re
import sys

from headgate.catalog.events import logger as event_logger
from headgate.cli.output import iso, to_json
from headgate.http.access_log import logger as access_logger
from headgate.masking import mask_userinfo

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def set_up(level: str, form: str, *, access: bool = False, events: bool = False) -> None:
    """Log messages of this level and above, in this form; an earlier set-up is replaced.

    Requests are logged if `access` is true, and events if `events` is, whatever the level.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines() if form == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    access_logger.setLevel(logging.INFO if access else logging.WARNING)
    event_logger.setLevel(logging.INFO if events else logging.NOTSET)


class TextLines(logging.Formatter):
    """`TIME level logger: message`, and a traceback below if there is one.

    A message is one line, whatever a client has written into it: nobody forges another.
    """

    def format(self, record: logging.LogRecord) -> str:
        time = iso(int(record.created * 1000))
        message = _CONTROL.sub(_escaped, record.getMessage())
        line = f"{time} {record.levelname} {record.name}: {message}"
        whole = f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
        return mask_userinfo(whole)


class JsonLines(logging.Formatter):
    """One object per line: time, level, logger, message, the record's `fields`, and the error.

    A request is told by its fields alone: its message would only say them again.
    """

    def format(self, record: logging.LogRecord) -> str:
        is_request = record.name == access_logger.name
        line: dict[str, object] = {
            "time": iso(int(record.created * 1000)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": "request" if is_request else mask_userinfo(record.getMessage()),
        }
        line |= getattr(record, "fields", {})
        if record.exc_info:
            line["error"] = mask_userinfo(self.formatException(record.exc_info))
        return to_json(line)


def _escaped(found: re.Match[str]) -> str:
    return ascii(found[0])[1:-1]
