"""Rights as the change log tells them."""

from headgate.catalog.grant_notes import objects_told, rights_told
from headgate.limits import OBJECTS_TOLD_MAX
from tests.unit.catalog.guarded import rights


def test_rights_are_told_with_their_object() -> None:
    """In the words that clients use for them."""
    told = rights_told(rights("schema", "main.a", "use_schema", deny=["create_table"]))

    assert told == {
        "type": "schema",
        "on": "main.a",
        "allow": ["use_schema"],
        "deny": ["create_table"],
    }


def test_of_very_many_objects_the_first_are_told() -> None:
    """And how many more there are; with as many as fit there is nothing more."""
    wanted = [rights("schema", f"main.s{at}", "use_schema") for at in range(OBJECTS_TOLD_MAX + 7)]

    assert objects_told(wanted) == {
        "objects": list(map(rights_told, wanted[:OBJECTS_TOLD_MAX])),
        "more": 7,
    }
    assert "more" not in objects_told(wanted[:OBJECTS_TOLD_MAX])
