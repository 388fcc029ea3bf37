"""What may be shown of URLs in settings."""

import pytest

from headgate.settings.urls import mask


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://u:PW@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:PW@h:5433/d", "postgresql://u:***@h:5433/d"),
        ("postgres://u:PW@[::1]:5432/d", "postgres://u:***@[::1]:5432/d"),
        ("postgresql://u%40v:PW@h/d", "postgresql://***@h/d"),
        ("postgresql://:PW@h/d", "postgresql://***@h/d"),
        ("postgresql://u@h/d?password=PW&x=1", "postgresql://u@h/d"),
        ("postgresql://h:5432/d", "postgresql://h/d"),
        ("postgresql://u:12345/d", "postgresql://u/d"),
        ("postgresql://u:P@SS/word@h:1/d", "postgresql:***"),
        ("postgresql://user:PW/db", "postgresql:***"),
        ("postgresql:user:PW@h/db", "postgresql:***"),
        ("postgresql://us/er:PW@h/db", "postgresql:***"),
        ("postgresql://u:1?PW@h/db", "postgresql:***"),
        ("postgresql://u:1#PW@h/db", "postgresql:***"),
        ("postgresql://u:P\nW@h/db", "postgresql:***"),
        ("sqlite:///a@b.db", "sqlite:///a@b.db"),
        ("sqlite://u:PW@h/x", "sqlite:***"),
        ("sqlite:///u:PW@h/x", "sqlite:***"),
        ("oracle://u:PW@h/x", "oracle:***"),
        ("http://minio:9000", "http://minio:9000"),
        ("https://[::1]:9000/path/", "https://[::1]:9000/path/"),
        ("https://u:PW@h:9000/path", "https://***@h:9000/path"),
        ("https://PW@h", "https://***@h"),
        ("HTTPS://u:PW@h", "HTTPS://***@h"),
        ("https://h/path?sig=PW", "https://h/path"),
        ("https://h#PW", "https://h"),
        ("https://u:P@W@h", "https:***"),
        ("https://u:P/W@h", "https:***"),
        ("https://u:P?W@h", "https:***"),
        ("https://u:P W@h", "https:***"),
        ("sc://h:15002/;token=PW", "sc:***"),
        ("host=h password=PW", "***"),
        ("host=h password=P:W", "***"),
        ("memory:", "memory:"),
        ("", ""),
    ],
)
def test_passwords_are_masked(url: str, masked: str) -> None:
    """A URL is shown without password and query; one that is not well formed as its scheme only."""
    assert mask(url) == masked
