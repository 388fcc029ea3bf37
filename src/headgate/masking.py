"""Masking of credentials in URLs: the one rule for messages, logs and shown settings."""

import re

MASK = "***"
_DATABASES = frozenset({"postgres", "postgresql"})
"""Their user names are shown: they say which account is meant, and are no secret."""
_CONTAINERS = frozenset({"abfs", "abfss", "wasb", "wasbs"})
"""Azure's locations have a container before the @, which is no credential."""
_PLACEHOLDER = "USER:PASSWORD"
"""What messages write to show the form of a URL."""
_SCHEME_CHARS_MAX = 20
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*\Z", re.IGNORECASE)
_USER = re.compile(r"[\w.-]+")
# Found from the slashes on, not from the scheme: so the cost stays linear in the text.
_USERINFO = re.compile(r"""://(?P<userinfo>[^\s/?#"<>]*)@""")


def mask_userinfo(text: str) -> str:
    """This text, with the user and password of every URL in it masked."""
    return _USERINFO.sub(_masked, text) if "@" in text else text


def _masked(found: re.Match[str]) -> str:
    before = found.string[max(0, found.start() - _SCHEME_CHARS_MAX) : found.start()]
    scheme = _SCHEME.search(before)
    kind = scheme[0].lower() if scheme else ""
    user, colon, _ = found["userinfo"].partition(":")
    if found["userinfo"] == _PLACEHOLDER or (kind in _CONTAINERS and not colon):
        return found[0]
    if kind in _DATABASES and _USER.fullmatch(user):
        return f"://{user}:{MASK}@" if colon else f"://{user}@"
    return f"://{MASK}@"
