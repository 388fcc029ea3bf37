"""The examples of Amazon's own documentation, number by number."""

from datetime import UTC, datetime

import pytest

from headgate.storage.sigv4 import UNSIGNED_PAYLOAD, Keys, Scope, sha256, sign

KEYS = Keys("AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY")
MOMENT_MS = int(datetime(2013, 5, 24, tzinfo=UTC).timestamp() * 1000)
SCOPE = Scope("s3", "us-east-1", MOMENT_MS)
URL = "https://examplebucket.s3.amazonaws.com"


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "signature"),
    [
        (
            "GET",
            "/test.txt",
            {"Range": "bytes=0-9"},
            b"",
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
        ),
        (
            "PUT",
            "/test$file.text",
            {"Date": "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY"},
            b"Welcome to Amazon S3.",
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
        ),
        (
            "GET",
            "?lifecycle",
            {},
            b"",
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
        ),
        (
            "GET",
            "?max-keys=2&prefix=J",
            {},
            b"",
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
        ),
    ],
)
def test_signatures_are_those_of_the_documentation(
    method: str, target: str, headers: dict[str, str], body: bytes, signature: str
) -> None:
    """Four requests to S3, with headers, a body and parameters."""
    added = sign(
        KEYS, SCOPE, method=method, url=URL + target, headers=headers, payload=sha256(body)
    )

    assert added["authorization"].endswith(f"Signature={signature}")
    assert added["x-amz-date"] == "20130524T000000Z"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("/a%20b/x%2by", "/a%20b/x%2By"),
        ("/~x", "/%7ex"),
        ("/x=1,2", "/x%3D1%2C2"),
        ("?b=2&a=1", "?a=1&b=2"),
        ("?delete", "?delete="),
        (":443/x", "/x"),
    ],
)
def test_one_request_written_in_two_ways_has_one_signature(one: str, other: str) -> None:
    """Encoding and order are a client's choice; the store decodes before it checks."""
    both = [
        sign(KEYS, SCOPE, method="GET", url=URL + way, headers={}, payload=UNSIGNED_PAYLOAD)
        for way in (one, other)
    ]

    assert both[0] == both[1]


def test_a_session_token_is_sent_and_signed() -> None:
    """Without it temporary keys are worth nothing."""
    keys = KEYS._replace(session_token="token")

    added = sign(keys, SCOPE, method="GET", url=URL, headers={}, payload=UNSIGNED_PAYLOAD)

    assert added["x-amz-security-token"] == "token"
    assert "x-amz-security-token" in added["authorization"]
