"""Which requests are signed; a real server judges the signatures in tests/storage."""

import re

import pytest

from headgate.errors import Forbidden, Unsupported
from headgate.storage.options import S3Options
from headgate.storage.signing import S3Signer
from headgate.storage.sigv4 import sha256
from headgate.testing.manual_clock import ManualClock

OPTIONS = S3Options(region="eu-x-1", access_key_id="id", secret_access_key="hush")
PATH = "https://s3.eu-x-1.amazonaws.com/bucket"
HOST = "https://bucket.s3.eu-x-1.amazonaws.com"
PREFIXES = ["s3://bucket/ns/t1", "s3a://bucket/elsewhere/t1/data"]
DELETE = "<Delete><Object><Key>{}</Key></Object></Delete>"


def signed(
    method: str,
    url: str,
    headers: dict[str, str] | None = None,
    body: str | None = None,
    *,
    options: S3Options = OPTIONS,
    region: str = "eu-x-1",
    write: bool = True,
) -> dict[str, str]:
    signer = S3Signer(options, ManualClock())
    given = headers or {}
    answer, added = signer.sign(
        method,
        url,
        given,
        region=region,
        body=body.encode() if body is not None else None,
        prefixes=PREFIXES,
        write=write,
    )
    assert answer == url
    return added


@pytest.mark.parametrize("base", [PATH, HOST])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/ns/t1/f"),
        ("HEAD", "/ns/t1/metadata/v1.json"),
        ("PUT", "/ns/t1/data/x=a%2520b/f.parquet?x-id=PutObject"),
        ("DELETE", "/ns/t1/f"),
        ("GET", "/elsewhere/t1/data/f?x-id=GetObject&partNumber=1"),
        ("POST", "/ns/t1/f?uploads"),
        ("PUT", "/ns/t1/f?partNumber=1&uploadId=a"),
        ("POST", "/ns/t1/f?uploadId=a"),
        ("DELETE", "/ns/t1/f?uploadId=a"),
        ("GET", "?list-type=2&prefix=ns%2Ft1%2F&delimiter=%2F&encoding-type=url"),
        ("GET", "/?list-type=2&prefix=ns/t1/data"),
        ("GET", "/ns%2Ft1%2Ff"),
    ],
)
def test_what_lies_within_the_table_is_signed(base: str, method: str, target: str) -> None:
    """Whether the bucket is a part of the path or of the host's name."""
    assert "Signature=" in signed(method, base + target)["authorization"]


@pytest.mark.parametrize("base", [PATH, HOST])
@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/ns/t10/f"),
        ("GET", "/ns/t1"),
        ("GET", "/ns/t1/"),
        ("GET", "/ns/t2/f"),
        ("GET", "/elsewhere/t1/f"),
        ("GET", "/NS/t1/f"),
        ("GET", "/ns/t1/../t2/f"),
        ("GET", "/ns/t1/%2e%2e/t2/f"),
        ("GET", "/ns/t1/%2E./t2/f"),
        ("GET", "/ns/t1/..%2Ft2/f"),
        ("GET", "/ns/t1/%252e%252e/t2/f"),
        ("GET", "/ns/t1/./f"),
        ("GET", "/ns/t1//f"),
        ("GET", "//ns/t1/f"),
        ("GET", "/ns%5Ct1/f"),
        ("GET", "/ns\\t1/f"),
        ("GET", "/ns/t1/f%"),
        ("GET", "/ns/t1/f%zz"),
        ("GET", "/ns/t1/%ff"),
        ("GET", "/ns/t1/a+b"),
        ("GET", "/ns/t1/a b"),
        ("GET", "/ns/t1/ä"),
        ("GET", "/ns/t1/f\n"),
        ("GET", "/ns/t1/f#x"),
        ("GET", "/ns/t1/f?acl"),
        ("PUT", "/ns/t1/f?acl"),
        ("PUT", "/ns/t1/f?tagging"),
        ("PUT", "/ns/t1/f?retention"),
        ("GET", "/ns/t1/f?torrent"),
        ("GET", "/ns/t1/f?X-Amz-Credential=x"),
        ("GET", "/ns/t1/f?x-id=1&x-id=2"),
        ("GET", "/ns/t1/f?x-id=1;acl"),
        ("DELETE", "/ns/t1/f?versionId=1"),
        ("POST", "/ns/t1/f"),
        ("POST", "/ns/t1/f?select&select-type=2"),
        ("OPTIONS", "/ns/t1/f"),
        ("PATCH", "/ns/t1/f"),
        ("get", "/ns/t1/f"),
        ("GET", ""),
        ("GET", "/"),
        ("HEAD", ""),
        ("PUT", ""),
        ("DELETE", ""),
        ("GET", "?list-type=2"),
        ("GET", "?list-type=2&prefix="),
        ("GET", "?list-type=2&prefix=ns"),
        ("GET", "?list-type=2&prefix=ns/t1"),
        ("GET", "?list-type=2&prefix=ns/t10/"),
        ("GET", "?list-type=2&prefix=ns/t1/../"),
        ("GET", "?prefix=ns/t1/&prefix=ns/"),
        ("GET", "?versions&prefix=ns/t1/"),
        ("GET", "?uploads&prefix=ns/t1/"),
        ("GET", "?policy"),
        ("POST", "?delete"),
        ("POST", "?delete&acl"),
    ],
)
def test_everything_else_is_refused(base: str, method: str, target: str) -> None:
    """Siblings, whatever lies above, tricks with dots and encodings, and all sub-resources."""
    with pytest.raises(Forbidden):
        signed(method, base + target)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.com/bucket/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com.evil.com/bucket/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com/other/ns/t1/f",
        "https://other.s3.eu-x-1.amazonaws.com/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com@evil.com/bucket/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com:8443/bucket/ns/t1/f",
        "https://sts.eu-x-1.amazonaws.com/bucket/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com//bucket/ns/t1/f",
        "https://s3.eu-x-1.amazonaws.com/buck%65t/ns/t1/f",
        "ftp://s3.eu-x-1.amazonaws.com/bucket/ns/t1/f",
        "https://[s3/bucket/ns/t1/f",
        "s3://bucket/ns/t1/f",
        "/bucket/ns/t1/f",
        "",
    ],
)
def test_only_the_tables_own_store_is_signed_for(url: str) -> None:
    """Another host, another bucket, or another service."""
    with pytest.raises(Forbidden):
        signed("GET", url)


def test_an_endpoint_of_the_operator_has_no_other_names() -> None:
    """Amazon's hosts are not those of another store."""
    options = S3Options(endpoint="http://minio:9000", region="eu-x-1", access_key_id="id")

    assert signed("GET", "http://minio:9000/bucket/ns/t1/f", options=options)
    assert signed("GET", "http://bucket.minio:9000/ns/t1/f", options=options)
    for url in (f"{PATH}/ns/t1/f", "http://minio/bucket/ns/t1/f"):
        with pytest.raises(Forbidden):
            signed("GET", url, options=options)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("PUT", "/ns/t1/f", None),
        ("DELETE", "/ns/t1/f", None),
        ("POST", "/ns/t1/f?uploads", None),
        ("POST", "?delete", DELETE.format("ns/t1/f")),
    ],
)
def test_a_reader_gets_no_signature_to_write(method: str, target: str, body: str | None) -> None:
    """Reading it does."""
    assert signed("GET", f"{PATH}/ns/t1/f", write=False)
    with pytest.raises(Forbidden, match="read only"):
        signed(method, PATH + target, body=body, write=False)


def test_a_deletion_is_signed_with_its_body() -> None:
    """What was looked at cannot be exchanged afterwards."""
    body = DELETE.format("ns/t1/a</Key></Object><Object><Key>ns/t1/b")

    added = signed("POST", f"{PATH}?delete", body=body)

    assert added["x-amz-content-sha256"] == sha256(body.encode())


@pytest.mark.parametrize(
    "body",
    [
        None,
        "",
        "no XML",
        "<Delete/>",
        "<Other><Object><Key>ns/t1/f</Key></Object></Other>",
        DELETE.format("ns/t10/f"),
        DELETE.format("ns/t1/../t2/f"),
        DELETE.format("ns/t1/"),
        DELETE.format(""),
        DELETE.format(" ns/t1/f"),
        DELETE.format("ns/t1/f</Key></Object><Object><Key>other/f"),
        DELETE.format("ns/t1/f</Key><Key>other/f"),
        DELETE.format("ns/t1/f</Key><VersionId>1</VersionId><Key>"),
        DELETE.format("ns/t1/f<x>other</x>"),
        DELETE.format("ns/t1/<!-- x -->f"),
        DELETE.format("ns/t1/<![CDATA[f]]>"),
        '<!DOCTYPE x [<!ENTITY e "f">]>' + DELETE.format("ns/t1/&e;"),
        "<Delete><Other/></Delete>",
        DELETE.format("ns/t1/f") + " " * 2_000_000,
    ],
)
def test_a_deletion_names_keys_of_the_table_and_nothing_else(body: str | None) -> None:
    """Every key is looked at; what two parsers could read in two ways is refused."""
    with pytest.raises(Forbidden):
        signed("POST", f"{PATH}?delete", body=body)


def test_a_hash_that_is_not_that_of_the_deletion_is_refused() -> None:
    """`UNSIGNED-PAYLOAD` would let the body be exchanged."""
    with pytest.raises(Forbidden, match="hash"):
        signed(
            "POST",
            f"{PATH}?delete",
            {"X-Amz-Content-SHA256": "UNSIGNED-PAYLOAD"},
            DELETE.format("ns/t1/f"),
        )


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Amz-Copy-Source": "/bucket/ns/t2/f"},
        {"x-amz-copy-source": "other/ns/t1/f"},
        {"x-amz-copy-source": "bucket/ns/t1/..%2Ft2/f"},
        {"x-amz-copy-source": "bucket/ns/t1/f?versionId=1"},
        {"x-amz-copy-source": "bucket/ns/t1/a+b"},
        {"x-amz-copy-source": "arn:aws:s3:eu-x-1:1:accesspoint/p/object/ns/t1/f"},
        {"x-amz-acl": "public-read"},
        {"x-amz-grant-read": "everyone"},
        {"x-amz-website-redirect-location": "https://evil.com"},
        {"x-amz-bypass-governance-retention": "true"},
        {"x-amz-object-lock-mode": "COMPLIANCE"},
        {"x-amz-security-token": "other"},
        {"x-amz-meta-x": "a\nx-amz-acl: public-read"},
        {"x-amz-content-sha256": "nonsense"},
    ],
)
def test_headers_do_not_lead_out_either(headers: dict[str, str]) -> None:
    """A copy is a read of its source, and rights are not given away."""
    with pytest.raises(Forbidden):
        signed("PUT", f"{PATH}/ns/t1/f", headers)


def test_amazons_headers_are_signed_and_others_are_not() -> None:
    """So one signature serves for all ranges of a file, and nothing is added to it."""
    added = signed(
        "PUT",
        f"{PATH}/ns/t1/f",
        {
            "Range": "bytes=0-9",
            "User-Agent": "x",
            "X-Amz-Date": "a client's",
            "X-Amz-Copy-Source": "/bucket/ns/t1/g%20h",
            "x-amz-acl": "bucket-owner-full-control",
            "Content-MD5": "x",
            "x-amz-content-sha256": sha256(b""),
        },
    )

    names = re.search(r"SignedHeaders=([^,]+)", added["authorization"])
    assert names
    assert names[1].split(";") == [
        "content-md5",
        "host",
        "x-amz-acl",
        "x-amz-content-sha256",
        "x-amz-copy-source",
        "x-amz-date",
    ]
    assert added["x-amz-content-sha256"] == sha256(b"")


def test_another_region_is_refused() -> None:
    """The signature would be good for nothing, and says so at once."""
    with pytest.raises(Forbidden, match="eu-x-1"):
        signed("GET", f"{PATH}/ns/t1/f", region="us-east-1")


def test_without_keys_nothing_can_be_signed() -> None:
    """And the environment is not asked for any."""
    with pytest.raises(Unsupported):
        S3Signer(S3Options(), ManualClock())
