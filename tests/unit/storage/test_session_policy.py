import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import Forbidden
from headgate.storage.places import Place, parse
from headgate.storage.session_policy import session_policy


def statements(
    location: str, *, write: bool, region: str = "eu-central-1"
) -> list[dict[str, object]]:
    policy = json.loads(session_policy(parse(location), write=write, region=region))
    found: list[dict[str, object]] = policy["Statement"]
    return found


def test_a_policy_ends_at_the_slash_of_the_table() -> None:
    """Objects and lists alike, so `t10` is no part of `t1`."""
    objects, lists = statements("s3a://bucket/ns/t1/", write=True)

    assert objects["Resource"] == "arn:aws:s3:::bucket/ns/t1/*"
    assert lists["Resource"] == "arn:aws:s3:::bucket"
    assert lists["Condition"] == {"StringLike": {"s3:prefix": "ns/t1/*"}}


def test_a_reader_may_get_and_list() -> None:
    """And nothing else."""
    objects, lists = statements("s3://bucket/t", write=False)

    assert (objects["Action"], lists["Action"]) == (["s3:GetObject"], "s3:ListBucket")


@pytest.mark.parametrize(
    ("region", "arn"),
    [("cn-north-1", "arn:aws-cn:s3"), ("us-gov-west-1", "arn:aws-us-gov:s3"), ("x", "arn:aws:s3")],
)
def test_each_part_of_amazon_has_its_own_names(region: str, arn: str) -> None:
    """China and the government's regions are worlds of their own."""
    [objects, _] = statements("s3://bucket/t", write=True, region=region)

    assert str(objects["Resource"]).startswith(arn)


@pytest.mark.parametrize("path", ["*", "a*/t", "t?", "${aws:username}", "a\\b", "", "x" * 1100])
def test_what_a_policy_would_not_take_literally_is_refused(path: str) -> None:
    """A pattern would reach other tables; a whole bucket has all of them."""
    place = Place("s3", "s3://bucket/", "bucket", "", path)

    with pytest.raises(Forbidden):
        session_policy(place, write=True, region="x")


@given(st.text(min_size=1, max_size=30))
def test_any_other_name_is_a_literal(path: str) -> None:
    """Quotes and braces stay inside of their string: the policy says what it always says."""
    try:
        policy = session_policy(
            Place("s3", "s3://bucket/", "bucket", "", path), write=True, region="x"
        )
    except Forbidden:
        assert set(path) & set("*?$\\")
        return

    objects, lists = json.loads(policy)["Statement"]
    assert objects["Resource"] == f"arn:aws:s3:::bucket/{path}/*"
    assert lists["Condition"] == {"StringLike": {"s3:prefix": f"{path}/*"}}
