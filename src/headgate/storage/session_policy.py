"""What a client's temporary keys allow: one prefix of one bucket, and nothing beside it."""

import json
import re

from headgate.errors import Forbidden
from headgate.storage.places import Place

POLICY_CHARACTERS_MAX = 2048  # the limit of STS
WILD = re.compile(r"[*?$\\]")  # what a policy, here or elsewhere, does not take literally
READ = ["s3:GetObject"]
WRITE = [
    "s3:GetObject",
    "s3:PutObject",
    "s3:DeleteObject",
    "s3:AbortMultipartUpload",
    "s3:ListMultipartUploadParts",
]


def session_policy(place: Place, *, write: bool, region: str) -> str:
    """The policy for a table's own folder. The slash at its end keeps `t10` out of `t1`."""
    if not place.path:
        raise _refused(place, "it is a whole bucket")
    if WILD.search(place.path):
        raise _refused(place, "`*`, `?`, `$` and `\\` would be patterns in a policy")
    bucket = f"arn:{_partition(region)}:s3:::{place.bucket}"
    policy = json.dumps(
        {
            "Version": "2012-10-17",
            "Statement": [
                {
                    "Effect": "Allow",
                    "Action": WRITE if write else READ,
                    "Resource": f"{bucket}/{place.path}/*",
                },
                {
                    "Effect": "Allow",
                    "Action": "s3:ListBucket",
                    "Resource": bucket,
                    "Condition": {"StringLike": {"s3:prefix": f"{place.path}/*"}},
                },
            ],
        },
        separators=(",", ":"),
    )
    if len(policy) > POLICY_CHARACTERS_MAX:
        raise _refused(place, "it is too long for a policy")
    return policy


def _partition(region: str) -> str:
    if region.startswith("cn-"):
        return "aws-cn"
    return "aws-us-gov" if region.startswith("us-gov-") else "aws"


def _refused(place: Place, why: str) -> Forbidden:
    return Forbidden(f"No credentials can be made for {place.location(place.path)}", why=why)
