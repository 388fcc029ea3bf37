"""The table of rules: what each asks, and that no more and no less is enough."""

from itertools import product

import pytest

from headgate.access import rules
from headgate.access.decisions import (
    Access,
    Scope,
    Weight,
    permits,
    permits_all_below,
    sieve,
    weigh,
)
from headgate.access.objects import ObjectType as T
from headgate.access.privileges import BINDS, Privilege, names_of, privilege_of
from headgate.access.rules import RULES, Clause, Rule, Standing
from headgate.errors import BadRequest

CLAUSES = [(rule, clause) for rule in RULES.values() for clause in rule.clauses]
NAMED = [f"{rule.action}-{at}" for rule in RULES.values() for at in range(len(rule.clauses))]


def least(clause: Clause) -> Weight:
    """What a caller needs for a clause, and no bit more."""
    owned = clause.owner & -clause.owner  # one kind of several
    return Weight(owned, clause.rights, 0)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.action)
def test_nobody_may_do_anything_just_so(rule: Rule) -> None:
    """Not even somebody to whom everything is denied, or who is known and has nothing."""
    assert not permits(rule, Weight())
    assert not permits(rule, Weight(0, 0, (1 << 40) - 1))
    assert not permits(rule, Weight(0, (1 << 40) - 1, (1 << 40) - 1))


@pytest.mark.parametrize(("rule", "clause"), CLAUSES, ids=NAMED)
def test_each_clause_is_enough(rule: Rule, clause: Clause) -> None:
    """With exactly what it asks for."""
    assert permits(rule, least(clause), clause.standing)


@pytest.mark.parametrize(("rule", "clause"), CLAUSES, ids=NAMED)
def test_a_clause_needs_all_of_it(rule: Rule, clause: Clause) -> None:
    """Each right it names can be taken away, by not giving it or by denying it."""
    alone = rule._replace(clauses=(clause,))
    for right in Privilege:
        if right & clause.rights:
            without = least(clause)._replace(allowed=clause.rights & ~right)
            assert not permits(alone, without, clause.standing)
            denied = least(clause)._replace(denied=int(right))
            assert not permits(alone, denied, clause.standing)
    if clause.owner:
        assert not permits(alone, least(clause)._replace(owned=0), clause.standing)
    if clause.standing:
        assert not permits(alone, least(clause))


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.action)
def test_the_owner_of_a_metalake_may_do_all_that_is_of_a_metalake(rule: Rule) -> None:
    """Whatever is denied to it; what is of none is not for it."""
    weight = Weight(int(T.METALAKE), 0, (1 << 40) - 1)
    assert permits(rule, weight, int(Standing.MEMBER)) == bool(rule.on)


@pytest.mark.parametrize("rule", RULES.values(), ids=lambda rule: rule.action)
def test_every_right_of_a_rule_can_be_given_where_it_counts(rule: Rule) -> None:
    """On the object that the rule is about, or above it: else nobody could ever have it."""
    above = T.METALAKE | T.CATALOG | T.SCHEMA | rule.on
    for right in Privilege:
        if right & rule.rights:
            assert BINDS[right] & above


def test_rights_bind_where_the_reference_says() -> None:
    """All 32, and each somewhere."""
    assert len(Privilege) == len(BINDS) == 32
    assert BINDS[Privilege.SELECT_TABLE] == T.METALAKE | T.CATALOG | T.SCHEMA | T.TABLE
    assert BINDS[Privilege.MANAGE_USERS] == T.METALAKE
    assert BINDS[Privilege.APPLY_TAG] == T.METALAKE | T.TAG


def test_rights_are_read_in_any_case_and_by_former_names() -> None:
    """And written in lower case."""
    assert privilege_of("Use_Catalog") is Privilege.USE_CATALOG
    assert privilege_of("create_model") is Privilege.REGISTER_MODEL
    assert names_of(Privilege.USE_SCHEMA | Privilege.USE_CATALOG) == ["use_catalog", "use_schema"]
    with pytest.raises(BadRequest, match="there is none of this name"):
        privilege_of("FLY")


def test_a_right_that_is_misspelt_is_answered_with_the_nearest_ones() -> None:
    """And what is like none with where all of them are."""
    with pytest.raises(BadRequest, match=r"Did you mean USE_CATALOG or CREATE_CATALOG\?"):
        privilege_of("use_catalogue")
    with pytest.raises(BadRequest, match=r"docs/reference/rights\.md lists them all"):
        privilege_of("xyz")


CATALOG, OUTER, INNER, TABLE = (
    Scope(T.CATALOG, 1, 100),
    Scope(T.SCHEMA, 2, 101),
    Scope(T.SCHEMA, 3, 102),
    Scope(T.TABLE, 4, 103),
)
WAY = (CATALOG, OUTER, INNER, TABLE)


def access(*principals: int, **grants: tuple[int, int]) -> Access:
    """Of a caller with these ids, and with grants on objects by their names here."""
    ids = {"catalog": 1, "outer": 2, "inner": 3, "table": 4, "elsewhere": 9}
    denied = 0
    for _, deny in grants.values():
        denied |= deny
    return Access(
        principals[0] if principals else 0,
        frozenset(principals),
        frozenset(),
        {ids[name]: pair for name, pair in grants.items()},
        Weight(),
        denied=denied,
    )


def test_a_right_on_any_level_counts_below() -> None:
    """First scope wins: it does not matter which."""
    for level in ("catalog", "outer", "inner", "table"):
        caller = access(7, **{level: (int(Privilege.SELECT_TABLE), 0)})
        assert weigh(caller, WAY).allowed == Privilege.SELECT_TABLE
    assert weigh(access(7, table=(1, 0)), WAY[:-1]).allowed == 0


def test_a_denial_on_any_level_beats_every_right() -> None:
    """Above as well as below."""
    every = int(Privilege.USE_CATALOG | Privilege.USE_SCHEMA | Privilege.SELECT_TABLE)
    for level in ("catalog", "outer", "inner", "table"):
        grants = {"outer": (every, 0)} | {
            level: (every if level == "outer" else 0, int(Privilege.SELECT_TABLE))
        }
        caller = access(7, catalog=(every, 0)) if level != "catalog" else access(7)
        merged = caller._replace(grants={**caller.grants, **access(7, **grants).grants})
        assert not permits(rules.LOAD_TABLE, weigh(merged, WAY))


def test_owning_counts_below_and_denials_do_not_take_it() -> None:
    """The owner of a catalog may drop a table that is not its own, whatever is denied to it."""
    caller = access(100, catalog=(0, (1 << 40) - 1))
    assert permits(rules.DROP_TABLE, weigh(caller, WAY))


def test_the_owner_of_a_schema_needs_the_use_of_its_catalog() -> None:
    """As the reference has it."""
    assert not permits(rules.DROP_TABLE, weigh(access(101), WAY))
    caller = access(101, catalog=(int(Privilege.USE_CATALOG), 0))
    assert permits(rules.DROP_TABLE, weigh(caller, WAY))


def test_what_has_no_owner_is_nobodys() -> None:
    """An owner of 0 is none."""
    assert weigh(access(7), [Scope(T.CATALOG, 1, 0)]).owned == 0


def test_a_list_needs_no_look_at_each_entry_if_nothing_is_denied() -> None:
    """A denial somewhere means that each has to be looked at."""
    every = int(Privilege.USE_CATALOG | Privilege.USE_SCHEMA | Privilege.SELECT_TABLE)
    caller = access(7, catalog=(every, 0))
    above = weigh(caller, WAY[:-1])
    assert permits_all_below(rules.LOAD_TABLE, caller, above)

    elsewhere = access(7, catalog=(every, 0), elsewhere=(0, int(Privilege.SELECT_TABLE)))
    assert not permits_all_below(rules.LOAD_TABLE, elsewhere, weigh(elsewhere, WAY[:-1]))

    unrelated = access(7, catalog=(every, 0), elsewhere=(0, int(Privilege.CREATE_TABLE)))
    assert permits_all_below(rules.LOAD_TABLE, unrelated, weigh(unrelated, WAY[:-1]))


@pytest.mark.parametrize("rule", [rules.LOAD_TABLE, rules.LOAD_VIEW, rules.LOAD_SCHEMA])
def test_a_sieve_lets_through_what_the_rule_permits_of_each(rule: Rule) -> None:
    """Whoever owns an entry, whatever is granted on it, and whichever came before it."""
    select = int(Privilege.SELECT_TABLE | Privilege.SELECT_VIEW | Privilege.USE_SCHEMA)
    granted = [None, (0, 0), (select, 0), (0, select), (select, select)]
    kinds = list(product([0, 7, 8], granted)) * 2
    entries = [Scope(rule.on, 1_000 + at, owner) for at, (owner, _) in enumerate(kinds)]
    own = {1_000 + at: grant for at, (_, grant) in enumerate(kinds) if grant is not None}
    for above in ((0, 0), (int(Privilege.USE_CATALOG), 0), (select, 0), (select, select)):
        caller = access(7, catalog=(int(Privilege.USE_CATALOG), 0), outer=above)
        caller = caller._replace(grants={**caller.grants, **own}, denied=select)
        weight = weigh(caller, WAY[:-1])
        is_seen = sieve(rule, caller, weight)

        assert is_seen is not None
        for entry in (*entries, *reversed(entries)):
            assert is_seen(entry) == permits(rule, weigh(caller, [entry], weight), caller.standing)
