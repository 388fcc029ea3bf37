"""What can be owned and what rights are given on."""

from enum import IntFlag


class ObjectType(IntFlag):
    """A kind of object. Flags, so that a set of kinds is a number."""

    METALAKE = 1 << 0
    CATALOG = 1 << 1
    SCHEMA = 1 << 2
    TABLE = 1 << 3
    VIEW = 1 << 4
    FILESET = 1 << 5
    TOPIC = 1 << 6
    MODEL = 1 << 7
    FUNCTION = 1 << 8
    ROLE = 1 << 9
    TAG = 1 << 10
    POLICY = 1 << 11
    JOB_TEMPLATE = 1 << 12
    JOB = 1 << 13
    COLUMN = 1 << 14


IN_SCHEMA = (
    ObjectType.TABLE
    | ObjectType.VIEW
    | ObjectType.FILESET
    | ObjectType.TOPIC
    | ObjectType.MODEL
    | ObjectType.FUNCTION
)
"""What lies in a schema."""
