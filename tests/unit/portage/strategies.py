"""Rows of exports, made by chance."""

from hypothesis import strategies as st

from headgate.portage.rows import Carried, Row

OBJECTS = st.builds(
    Carried,
    st.integers(1, (1 << 63) - 1),
    st.sampled_from(["table", "view", "purge-job"]),
    st.binary(max_size=40),
    st.booleans(),
)
ROWS = st.builds(
    Row,
    st.sampled_from(["root", "grants", "cat/17/heads/main"]),
    st.sampled_from(["", "names", "purge-due"]),
    st.binary(max_size=20),
    st.binary(max_size=20),
    st.lists(OBJECTS, max_size=3).map(tuple),
)
