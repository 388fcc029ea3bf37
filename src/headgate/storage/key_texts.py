"""Texts that hold keys of S3, as Amazon's programs write and read them."""

from datetime import UTC, datetime
from typing import Literal, NamedTuple

import msgspec

from headgate.storage.sigv4 import Keys

SECTION = "default"
MS_PER_SECOND = 1_000


class PresentKeys(NamedTuple):
    """Keys, and when they end if that is known."""

    keys: Keys
    expires_at_ms: int | None = None

    def expires_by(self, wall_ms: int) -> bool:
        """Whether they are no good any more at that time."""
        return self.expires_at_ms is not None and self.expires_at_ms <= wall_ms


class UnusableText(Exception):
    """No keys are in it; the reason quotes nothing of it."""

    def __init__(self, why: str, fix: str) -> None:
        self.why = why
        self.fix = fix
        super().__init__(why)


class _Process(msgspec.Struct, rename="pascal"):
    """What a credential process says."""

    access_key_id: str
    secret_access_key: str
    session_token: str | None = None
    expiration: datetime | None = None
    version: Literal[1] = 1


def keys_in(text: bytes, fix: str) -> PresentKeys:
    """The keys in JSON of a credential process, or in the default section of a file of shared
    credentials."""
    try:
        plain = text.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise UnusableText("it is no text", fix) from None
    if not plain:
        raise UnusableText("it is empty", fix)
    found = _from_json(plain, fix) if plain.startswith("{") else _from_ini(plain, fix)
    if not (found.keys.access_key_id and found.keys.secret_access_key):
        raise UnusableText("the id of the key or its secret is empty", fix)
    return found


def moment(wall_ms: int | None) -> str:
    """A time as people read it."""
    return datetime.fromtimestamp((wall_ms or 0) / MS_PER_SECOND, UTC).strftime("%FT%TZ")


def _from_json(text: str, fix: str) -> PresentKeys:
    try:
        said = msgspec.json.decode(text, type=_Process)
    except msgspec.DecodeError as error:
        raise UnusableText(f"it is not what a credential process says: {error}", fix) from None
    keys = Keys(said.access_key_id, said.secret_access_key, said.session_token or "")
    if said.expiration is None:
        return PresentKeys(keys)
    ends = said.expiration if said.expiration.tzinfo else said.expiration.replace(tzinfo=UTC)
    return PresentKeys(keys, int(ends.timestamp() * MS_PER_SECOND))


def _from_ini(text: str, fix: str) -> PresentKeys:
    import configparser  # noqa: PLC0415  few need it

    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(text)
    except configparser.Error:  # it quotes lines
        raise UnusableText("it is neither JSON nor sections of names and values", fix) from None
    if not parser.has_section(SECTION):
        raise UnusableText(f"it has no section [{SECTION}]", fix)
    section = parser[SECTION]
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    for name in names[:2]:
        if name not in section:
            raise UnusableText(f"its section [{SECTION}] has no {name}", fix)
    return PresentKeys(Keys(*(section.get(name, "").strip() for name in names)))
