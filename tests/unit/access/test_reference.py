"""The table of rules against what Gravitino asks for, written down a second time.

Other tests take the rules from the table itself, so they would not notice one that is too wide.
"""

from collections.abc import Iterator

from headgate.access.objects import ObjectType
from headgate.access.privileges import names_of
from headgate.access.rules import RULES, Clause, Standing

ABOVE = "metalake | catalog | schema use_catalog"
USED = "use_catalog use_schema"
ANYTHING = ("table", "view", "fileset", "topic", "model", "function")


def inside(*ways: str) -> str:
    """What is in a schema: its owners, or these who may use it."""
    return " | ".join((ABOVE, *(f"{way} {USED}" for way in ways)))


REFERENCE = {
    "createMetalake": "service_admin",
    "loadMetalake": "member",
    "alterMetalake": "metalake",
    "dropMetalake": "metalake",
    "createCatalog": "metalake | create_catalog",
    "loadCatalog": "metalake | catalog | use_catalog",
    "alterCatalog": "metalake | catalog",
    "dropCatalog": "metalake | catalog",
    "createSchema": "metalake | catalog | schema | use_catalog create_schema",
    "loadSchema": f"{ABOVE} | {USED}",
    "alterSchema": ABOVE,
    "dropSchema": ABOVE,
    "createTable": inside("create_table"),
    "loadTable": inside("table", "select_table", "modify_table"),
    "alterTable": inside("table", "modify_table"),
    "dropTable": inside("table"),
    "createView": inside("create_view"),
    "loadView": inside("view", "select_view"),
    "alterView": inside("view"),
    "dropView": inside("view"),
    "createTopic": inside("create_topic"),
    "loadTopic": inside("topic", "consume_topic", "produce_topic"),
    "alterTopic": inside("topic", "produce_topic"),
    "dropTopic": inside("topic"),
    "createFileset": inside("create_fileset"),
    "loadFileset": inside("fileset", "read_fileset", "write_fileset"),
    "alterFileset": inside("fileset", "write_fileset"),
    "dropFileset": inside("fileset"),
    "registerModel": inside("register_model"),
    "loadModel": inside("model", "use_model"),
    "linkModelVersion": inside("model", "use_model link_model_version"),
    "alterModel": inside("model"),
    "dropModel": inside("model"),
    "registerFunction": inside("register_function"),
    "loadFunction": inside("function", "execute_function", "modify_function"),
    "alterFunction": inside("function", "modify_function"),
    "dropFunction": inside("function"),
    "changeUsers": "metalake | manage_users",
    "loadUser": "metalake | manage_users | self",
    "changeGroups": "metalake | manage_groups",
    "loadGroup": "metalake | manage_groups | self",
    "createRole": "metalake | create_role",
    "loadRole": "metalake | role | manage_grants | self",
    "dropRole": "metalake | role",
    "assignRoles": "metalake | manage_grants",
    "setOwner": f"{inside(*ANYTHING)} | role",
    "grantOnCatalog": "metalake | catalog | manage_grants",
    "grantOnSchema": f"{ABOVE} | manage_grants use_catalog",
    "grantInSchema": inside(*ANYTHING, "manage_grants"),
}
OWN = {
    "alterIdentities": "service_admin",
    "readSettings": "service_admin",
    "readChanges": "metalake | service_admin",
    "readReferences": "metalake | catalog",
    "readJobs": "metalake | catalog | table use_catalog use_schema | service_admin",
    "undropTable": "metalake | catalog | table use_catalog use_schema | service_admin",
    "manageJobs": "metalake | catalog | service_admin",
    "workOnJobs": "service_admin",
    "readMaintenance": "service_admin",
    "manageMaintenance": "service_admin",
    "exportMetalake": "service_admin",
    "importMetalake": "service_admin",
    "missTableOrView": inside(
        "create_table", "create_view", "select_table", "modify_table", "select_view"
    ),
}
"""What Gravitino does not have."""


def words_of(clause: Clause) -> Iterator[frozenset[str]]:
    """A clause in the words above, once for each kind of object that may be owned for it."""
    standing = [str(one.name).lower() for one in Standing if one & clause.standing]
    others = {*names_of(clause.rights), *standing}
    owned = [str(kind.name).lower() for kind in ObjectType if kind & clause.owner]
    for kind in owned or [""]:
        yield frozenset({*others, *([kind] if kind else [])})


def test_every_rule_asks_for_what_the_reference_says() -> None:
    """Neither for more nor for less."""
    expected = {
        action: {frozenset(way.split()) for way in text.split("|")}
        for action, text in {**REFERENCE, **OWN}.items()
    }
    actual = {
        rule.action: {words for clause in rule.clauses for words in words_of(clause)}
        for rule in RULES.values()
    }

    assert actual == expected
