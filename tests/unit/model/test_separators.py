"""The logical separator: what may be one, and what names may not contain it."""

import pytest

from headgate.errors import BadName, BadSetting, Conflict
from headgate.model import separators
from headgate.model.separators import Governance

BOTH = list(Governance)


@pytest.mark.parametrize("governance", BOTH)
@pytest.mark.parametrize("separator", separators.RESTRICTED)
def test_the_listed_separators_are_always_allowed(separator: str, governance: Governance) -> None:
    """What the errors recommend can be used."""
    separators.check_separator(separator, governance)


def test_the_default_is_the_first_recommendation() -> None:
    """Whoever configures nothing gets a separator that is on the list."""
    assert separators.RESTRICTED[0] == separators.DEFAULT == ":"


@pytest.mark.parametrize("separator", ["^", "→", "_", ","])
def test_other_characters_need_a_free_choice(separator: str) -> None:
    """`restricted` refuses what is not on its list, `unrestricted` does not."""
    separators.check_separator(separator, Governance.UNRESTRICTED)

    with pytest.raises(BadSetting, match="restricted"):
        separators.check_separator(separator, Governance.RESTRICTED)


@pytest.mark.parametrize("governance", BOTH)
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "exactly one"),
        ("::", "exactly one"),
        (".", "physical"),
        ("/", "paths"),
        ("%", "escape"),
        ("+", "space"),
        ("?", "query"),
        ("#", "fragment"),
        ("\\", "slash"),
        ("x", "letters"),
        ("2", "digits"),
        ("\n", "control"),
        ("\x1f", "control"),
        ("\x85", "control"),
        (" ", "blank"),
        ("\u2028", "seen"),
        ("\ud800", "seen"),
    ],
)
def test_a_separator_that_would_be_misread_is_refused(
    text: str, why: str, governance: Governance
) -> None:
    """The error names the separator, the reason and alternatives."""
    with pytest.raises(BadSetting, match=why) as refused:
        separators.check_separator(text, governance)

    assert repr(text) in refused.value.what
    assert refused.value.fix == "Try ':', ';', '$', '|', '~', '@' or '!'"


def test_a_level_of_a_nested_catalog_does_not_contain_the_separator() -> None:
    """The error names the separator and what to do; dots are allowed."""
    separators.check_level_in_nested("a.b", ":")

    with pytest.raises(BadName, match=r"contains ':'.*one by one"):
        separators.check_level_in_nested("a:b", ":")


def test_where_nothing_is_nested_governance_decides() -> None:
    """The separator is plain text in a flat catalog, unless it is reserved."""
    separators.check_name_in_flat("a:b", ":", Governance.UNRESTRICTED)
    separators.check_name_in_flat("a.b", ":", Governance.RESTRICTED)

    with pytest.raises(
        BadName, match=r"reserved for nested.*schema\.separator-governance=unrestricted"
    ):
        separators.check_name_in_flat("a:b", ":", Governance.RESTRICTED)


def test_nesting_is_refused_while_names_clash() -> None:
    """The clashes are listed with what to do; other separators are recommended."""
    separators.check_names_for_nesting(["a", "b.c", "d;e"], ":")

    with pytest.raises(Conflict) as refused:
        separators.check_names_for_nesting(["z:y", "a", "b:c"], ":")

    assert refused.value.what == "Cannot enable nested schemas with the separator ':'"
    assert refused.value.why == "2 schema names contain it: 'b:c', 'z:y'"
    assert refused.value.fix.startswith(
        "Rename these schemas, or choose another separator. Try ';'"
    )


def test_a_long_list_of_clashes_is_cut() -> None:
    """The first twenty are named and the rest is counted."""
    with pytest.raises(Conflict) as refused:
        separators.check_names_for_nesting((f"{number:03}:x" for number in range(100)), ":")

    assert refused.value.why.startswith("100 schema names contain it: '000:x', ")
    assert refused.value.why.endswith(", '019:x' and 80 more")
