"""The steps of `features/drop.feature` that no other feature has."""

from pytest_bdd import parsers, scenarios, then, when

from tests.purge.lake import NAMESPACE, Lake, in_the_end
from tests.purge.listing import files_below

scenarios("drop.feature")


@when(parsers.re(r'(?P<name>\w+) is dropped with DELETE and "(?P<query>.*)"'))
def _drop_with(lake: Lake, name: str, query: str) -> None:
    lake.drop(name, query)


@when(parsers.parse("{name:w} is dropped with purge by way of Gravitino"))
def _drop_by_gravitino(lake: Lake, name: str) -> None:
    lake.ask("DELETE", f"{lake.catalog_path}/schemas/{NAMESPACE}/tables/{name}?purge=true")


@when(parsers.parse("{name:w} is dropped without purge by way of Gravitino"))
def _drop_by_gravitino_alone(lake: Lake, name: str) -> None:
    lake.ask("DELETE", f"{lake.catalog_path}/schemas/{NAMESPACE}/tables/{name}")


@then(parsers.parse("it is answered with {status:d} within {seconds:d} seconds"))
def _answered(lake: Lake, status: int, seconds: int) -> None:
    assert lake.answer.status_code == status
    assert lake.seconds < seconds


@then(parsers.parse("the new table {name:w} shares no file with the old one"))
def _apart(lake: Lake, name: str) -> None:
    old, new = lake.known[f"old {name}"], lake.known[name]
    assert not old.files & new.files
    assert not new.folder.is_relative_to(old.folder)
    assert not old.folder.is_relative_to(new.folder)


@then(parsers.parse("the new table {name:w} has its rows when all else of the old one is deleted"))
def _rows_of_new(lake: Lake, name: str) -> None:
    old, new = lake.known[f"old {name}"], lake.known[name]
    assert in_the_end(lambda: not old.data & files_below(old.folder))
    assert files_below(new.folder) == new.files
    assert lake.ids(name) == new.ids
