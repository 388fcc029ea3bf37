"""How JSON that cannot be read is spoken of."""

import pytest

from headgate.errors import BadMetadata
from headgate.model.json_values import decode


def test_reasons_stand_inside_of_a_sentence() -> None:
    """Their first letter is small, unless the word is written in capitals."""
    with pytest.raises(BadMetadata, match="Cannot parse it: JSON is malformed"):
        decode(b"{x", dict, "it")
    with pytest.raises(BadMetadata, match="Cannot parse it: expected `int`"):
        decode(b"{}", int, "it")
