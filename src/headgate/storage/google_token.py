"""Access tokens of a Google service account, signed with its own key.

obstore could do this by itself, but then a token in the server's environment would win.
"""

import base64
import json
from datetime import UTC, datetime
from functools import partial
from typing import Any

from headgate.clock import Clock, present_ms
from headgate.errors import BadSetting

LIFE_SECONDS = 3600
SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
PARTS = ("client_email", "private_key", "private_key_id")


class ServiceAccount:
    """Called by obstore whenever its token has run out."""

    def __init__(self, key: str, clock: Clock) -> None:
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415  30 ms
        from cryptography.hazmat.primitives.asymmetric import padding  # noqa: PLC0415  few need it

        try:
            given = json.loads(key)
            self._email, private, self._id = (str(given[part]) for part in PARTS)
            loaded: Any = serialization.load_pem_private_key(private.encode(), None)
        except (ValueError, KeyError, TypeError):
            raise BadSetting(
                "Invalid service account key",
                why="it is no JSON object with " + ", ".join(PARTS),
                fix="Use the file that Google Cloud made for the account, unchanged.",
            ) from None
        self._sign = partial(loaded.sign, padding=padding.PKCS1v15(), algorithm=hashes.SHA256())
        self._clock = clock

    def __call__(self) -> dict[str, Any]:
        now = present_ms(self._clock) // 1000
        claims = {
            "iss": self._email,
            "sub": self._email,
            "scope": SCOPE,
            "iat": now,
            "exp": now + LIFE_SECONDS,
        }
        text = f"{_part({'alg': 'RS256', 'typ': 'JWT', 'kid': self._id})}.{_part(claims)}"
        return {
            "token": f"{text}.{_encoded(self._sign(text.encode()))}",
            "expires_at": datetime.fromtimestamp(now + LIFE_SECONDS, UTC),
        }


def _part(value: dict[str, Any]) -> str:
    return _encoded(json.dumps(value, separators=(",", ":")).encode())


def _encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
