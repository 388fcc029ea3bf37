"""Tables and views by all of their names."""

from typing import NamedTuple

ALIAS = "hg"
"""What Spark knows the catalog of a pipeline by."""


class TableName(NamedTuple):
    """A table or a view, and where it is."""

    catalog: str
    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((self.catalog, *self.namespace, self.name))

    @property
    def sql(self) -> str:
        """The same in Spark SQL, whatever characters it has."""
        return ".".join((ALIAS, *map(quoted, (*self.namespace, self.name))))


def quoted(name: str) -> str:
    """A name in Spark SQL."""
    return f"`{name.replace('`', '``')}`"
