"""Names in URLs: every client's way of writing them is read back, and rubbish is refused."""

from urllib.parse import quote, quote_plus, unquote

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from headgate.errors import BadRequest
from headgate.model import wire_names
from headgate.model.names import Levels
from headgate.model.wire_names import UNIT_SEPARATOR

SEPARATORS = [UNIT_SEPARATOR, ":", ";", "$", "|", "~", "_", "→"]

texts = st.text(
    st.characters(exclude_characters=UNIT_SEPARATOR, exclude_categories=["Cs"]), min_size=1
)
namespaces = st.lists(
    texts | st.sampled_from(["a.b", "a/b", "50%", "1+1", "a b", "%3A", "ü"]), min_size=1
).map(tuple)
separators = st.sampled_from(SEPARATORS)


def as_java(levels: Levels, separator: str) -> str:
    """URLEncoder for each level, then joined with what the server advertised, as it is."""
    return wire_names.advertised(separator).join(
        quote_plus(level, safe="*").replace("~", "%7E") for level in levels
    )


def as_pyiceberg(levels: Levels, separator: str) -> str:
    """`quote` for each level, joined with the plain separator; `requests` then escapes that one."""
    path = unquote(wire_names.advertised(separator)).join(quote(level, safe="") for level in levels)
    return quote(path, safe="!#$%&'()*+,/:;=?@[]~")


@given(namespaces, separators)
def test_java_namespaces_come_back(levels: Levels, separator: str) -> None:
    """A namespace that Java wrote is read as it was."""
    assume(not any(separator in level for level in levels))

    assert wire_names.levels_of(as_java(levels, separator), separator) == levels


@given(namespaces, separators)
def test_pyiceberg_namespaces_come_back(levels: Levels, separator: str) -> None:
    """A namespace that pyiceberg wrote is read as it was."""
    assume(not any(separator in level for level in levels))

    assert wire_names.levels_of(as_pyiceberg(levels, separator), separator) == levels


@given(namespaces, separators)
def test_our_own_namespaces_come_back(levels: Levels, separator: str) -> None:
    """A namespace that Headgate wrote is read as it was, also in lower-case hexadecimals."""
    assume(not any(separator in level for level in levels))
    written = wire_names.encoded(levels, separator)

    assert wire_names.levels_of(written, separator) == levels
    assert wire_names.levels_of(written.replace("%3A", "%3a"), separator) == levels


@given(st.lists(texts, min_size=2).map(tuple), separators)
def test_the_default_separator_is_understood_beside_the_advertised_one(
    levels: Levels, separator: str
) -> None:
    """Old clients join with %1F whatever is advertised, and then nothing else separates."""
    assert wire_names.levels_of(as_java(levels, UNIT_SEPARATOR), separator) == levels


@pytest.mark.parametrize("written", ["a:b", "a%3Ab", "a%3ab", "a%1Fb", "a%1fb", "a\x1fb"])
def test_a_separator_may_come_in_any_encoding(written: str) -> None:
    """Plain or escaped, in capitals or not."""
    assert wire_names.levels_of(written, ":") == ("a", "b")


def test_an_empty_text_is_the_catalog_itself() -> None:
    """An empty `parent` is the same as none."""
    assert wire_names.levels_of("", ":") == ()


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("plain", "plain"),
        ("a+b", "a b"),
        ("a%20b", "a b"),
        ("a%2Bb", "a+b"),
        ("a%2Fb", "a/b"),
        ("a%252Fb", "a%2Fb"),
        ("%C3%BC", "ü"),
        ("ü", "ü"),
    ],
)
def test_a_name_is_decoded_once(written: str, name: str) -> None:
    """A plus is a space, an escaped plus a plus, and escapes are of UTF-8."""
    assert wire_names.unquote_segment(written) == name


@pytest.mark.parametrize("written", ["%", "%4", "a%zz", "%-1", "%FF", "%C3", "%ED%A0%80", "\ud800"])
def test_what_is_not_encoded_text_is_refused(written: str) -> None:
    """Broken escapes and bytes that are not UTF-8 are the client's mistake."""
    with pytest.raises(BadRequest, match="Cannot decode the name") as refused:
        wire_names.levels_of(written, ":")

    assert refused.value.why
    assert refused.value.fix


@given(namespaces, separators)
def test_a_parent_that_pyiceberg_encoded_twice_is_found_at_the_second_look(
    levels: Levels, separator: str
) -> None:
    """The query's `parent` is read as it is, or once more if that is no namespace."""
    assume(not any(separator in level for level in levels))
    twice = quote_plus(separator.join(quote(level, safe="") for level in levels))

    first = wire_names.levels_of(twice, separator)

    assert levels in {first, wire_names.unquoted_again(first)}


@pytest.mark.parametrize("level", ["plain", "1+1", "50%", "%FF"])
def test_a_name_that_was_not_encoded_twice_has_no_second_form(level: str) -> None:
    """What cannot be decoded once more, or is the same after it, is looked up once only."""
    assert wire_names.unquoted_again((level,)) is None


@pytest.mark.parametrize(("separator", "advertised"), [(":", "%3A"), ("\x1f", "%1F"), ("$", "%24")])
def test_the_separator_is_advertised_encoded(separator: str, advertised: str) -> None:
    """Java puts what it is told into its URLs as it is."""
    assert wire_names.advertised(separator) == advertised
