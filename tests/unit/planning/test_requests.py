"""What clients ask to be planned."""

import pytest

from headgate.planning.requests import parse


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b"{}", b"true"),
        (b'{"filter": null}', b"true"),
        (b'{"filter": true}', b"true"),
        (b'{"filter": {"type": "true"}}', b'{"type": "true"}'),
    ],
)
def test_no_filter_means_all_rows(body: bytes, wanted: bytes) -> None:
    """However a client says that it has none; others are passed on as they came."""
    assert parse(body).wanted_rows == wanted
