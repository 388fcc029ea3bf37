"""What a refusal says would be enough: it is, and it is said of every rule."""

import pytest

from headgate.access import rules
from headgate.access.decisions import Weight, permits
from headgate.access.needs import needs
from headgate.access.privileges import privilege_of
from headgate.access.rules import RULES, Rule

WORDS = {
    rules.CREATE_METALAKE: "to be a service admin",
    rules.READ_CHANGES: "to own the metalake, or to be a service admin",
    rules.CHANGE_USERS: "MANAGE_USERS, or to own the metalake",
    rules.LOAD_CATALOG: "USE_CATALOG, or to own it",
    rules.DROP_TABLE: "to own it with USE_CATALOG and USE_SCHEMA",
    rules.LOAD_TABLE: "USE_CATALOG, USE_SCHEMA and SELECT_TABLE, or to own it with USE_CATALOG "
    "and USE_SCHEMA",
    rules.SET_OWNER: "to own it",
}


@pytest.mark.parametrize(("rule", "words"), WORDS.items(), ids=lambda one: str(one)[:20])
def test_what_a_rule_needs_is_said_in_few_words(rule: Rule, words: str) -> None:
    """Rights first, then what has to be owned, then who one has to be."""
    assert needs(rule) == words


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.action)
def test_the_rights_that_are_named_are_enough(rule: Rule) -> None:
    """Those before the first `or`; what has no such rights says what else is needed."""
    first = needs(rule).split(", or ")[0]
    if first.startswith("to "):
        assert not any(one.rights and not one.owner for one in rule.clauses)
        return
    rights = 0
    for word in first.replace(" and ", ", ").split(", "):
        rights |= privilege_of(word)

    assert permits(rule, Weight(0, rights, 0))
