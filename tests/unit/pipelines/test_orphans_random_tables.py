"""Random tables: nothing that is referred to is ever called an orphan, and every orphan is."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.pipelines.orphans_lake import SPELLINGS, Lake, Step

STEPS = st.lists(
    st.builds(
        Step,
        added=st.integers(0, 3),
        removed=st.integers(0, 2),
        is_kept=st.booleans(),
        has_statistics=st.booleans(),
    ),
    max_size=5,
)
TABLES = st.lists(
    st.tuples(st.sampled_from([1, 2, 3]), STEPS, st.sampled_from(SPELLINGS)), max_size=3
)
FOLDERS = ("t0/data", "t0/metadata", "t1", "nobody/a b/%20", "")
ORPHANS = st.sets(st.tuples(st.sampled_from(FOLDERS), st.text("a.é%=+ ", min_size=3, max_size=6)))


@given(TABLES, ORPHANS)
def test_what_is_found_is_exactly_what_nobody_refers_to(
    tables: list[tuple[int, list[Step], str]], orphans: set[tuple[str, str]]
) -> None:
    """Snapshots on branches and tags, statistics, metadata logs, expired snapshots whose files are
    still there, and entries of deleted files; paths in any spelling."""
    with TemporaryDirectory() as folder:
        lake = Lake(Path(folder))
        for number, (version, steps, spelling) in enumerate(tables):
            lake.add(f"t{number}", version, steps, spelling)
        for place, name in orphans:
            if name.strip("."):
                lake.write(lake.folder / place / f"orphan-{name}")

        found = lake.orphans()

        assert not found & lake.referred
        assert found == lake.files() - lake.referred
