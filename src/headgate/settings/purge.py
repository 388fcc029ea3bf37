"""Settings of purges: what becomes of the files of dropped tables."""

import re

from headgate.settings.setting import PREFIX, Raw, Setting

_GRAVITINO = "gravitino.iceberg-rest."
_ALIASES = {f"{_GRAVITINO}purger.": "purger.", "purger.jdbc-async.": "purger.async."}
_BUILT_IN = ("async", "jdbc-async", "synchronous", "spark")
SPARK_CONF = "purger.spark.conf."
"""What follows is a property of Spark."""
_PROPERTY = re.compile(
    r"purger\.(?P<owner>[a-z0-9]+(?:-[a-z0-9]+)*)\.(?P<key>[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*)"
)
_VARIABLE = re.compile(rf"{PREFIX}PURGER_(?P<owner>[A-Z0-9]+)_(?P<key>[A-Z0-9_]+)")

PURGER = Setting(
    name="purger",
    type=str,
    default="async",
    help="Who deletes the files of a table that is dropped with purge: `async` (the drop is "
    "answered at once, workers delete), `spark` (the same, and Spark deletes those of large "
    "tables), `synchronous` (the drop is answered when they are gone), the name of an installed "
    "purger, or the import path of one, as `module:Class`. Its own properties are the settings "
    "`purger.NAME.*`.",
    aliases=("purger.name", f"{_GRAVITINO}purger"),
)


class PurgerProperty(Setting[str]):
    """A setting that is handed to a third party's purger: only that knows what it means."""

    @property
    def owner(self) -> str:
        """The name of that purger."""
        return self.name.split(".")[1]

    @property
    def key(self) -> str:
        """What it calls it."""
        return self.name.split(".", 2)[2]

    def parse(self, raw: Raw) -> str:
        """The text of it; whether it can be used is not known here."""
        return super().parse(str(raw).lower() if isinstance(raw, bool) else raw)


def purger_property(name: str) -> PurgerProperty | None:
    """The setting of this name for a third party's purger; None if it is no such name."""
    found = _PROPERTY.fullmatch(name)
    if found is None or (found["owner"] in _BUILT_IN and not name.startswith(SPARK_CONF)):
        return None
    return PurgerProperty(
        name=name,
        type=str,
        default="",
        default_help="none",
        help=f"Handed to the purger `{found['owner']}` as `{found['key']}`.",
        secret=True,  # it may be one
    )


def property_of_variable(variable: str) -> PurgerProperty | None:
    """The same by its environment variable: the purger's name is its first word."""
    found = _VARIABLE.fullmatch(variable)
    if found is None:
        return None
    return purger_property(f"purger.{found['owner']}.{found['key'].replace('_', '-')}".lower())


def usual_name(name: str) -> str:
    """The name below `purger.` of a setting that is named below one of its aliases."""
    for alias, prefix in _ALIASES.items():
        if name.startswith(alias):
            name = prefix + name.removeprefix(alias)
    return name
