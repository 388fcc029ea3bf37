"""What is said to requests that reach nobody."""

from headgate.http.refusals import no_route


def test_a_uri_that_ends_with_the_version_is_explained() -> None:
    """The client adds it once more; other paths have no hint."""
    said = no_route("GET", "/iceberg/v1/v1/config")

    assert said.endswith(
        "/iceberg/v1/v1/config: the client adds /v1 itself; end the uri with /iceberg"
    )
    assert no_route("GET", "/nothing") == "No route for request: GET /nothing"
