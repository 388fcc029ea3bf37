"""Where the catalogs of an import may lie, from the settings: nowhere among the server's own files,
and over HTTP only where callers may create catalogs."""

from functools import partial

from headgate.catalog.catalog_places import CatalogPlaces
from headgate.catalog.left_places import looking_into
from headgate.catalog.ports import Storage
from headgate.errors import BadRequest
from headgate.portage.locations import LocationChecks
from headgate.server_settings import bootstrap_catalog, catalog_places, real_location
from headgate.settings.catalogs import CATALOGS_ALLOWED_LOCATIONS
from headgate.settings.own_files import check_apart
from headgate.settings.setting import Settings


def operator_checks(settings: Settings, storage: Storage) -> LocationChecks:
    """Checks of an import by an operator: any location that is not the server's own."""
    return LocationChecks(partial(check_apart, settings), looking_into(storage), real_location)


def requested_checks(settings: Settings, storage: Storage) -> LocationChecks:
    """Checks of an import over HTTP: as for catalogs that callers create, and the locations of the
    first catalog are allowed as well."""
    places = catalog_places(settings)
    first = bootstrap_catalog(settings)
    allowed = places._replace(allowed=(*places.allowed, *first.locations))

    def check(location: str) -> None:
        check_apart(settings, location)
        _check_allowed(allowed, location)

    return LocationChecks(check, looking_into(storage), real_location)


def _check_allowed(places: CatalogPlaces, location: str) -> None:
    try:
        places.chosen(location)
    except BadRequest as error:
        raise BadRequest(
            error.what,
            why=error.why,
            fix=f"Add it to the setting {CATALOGS_ALLOWED_LOCATIONS.name} of the server, or import "
            "with `headgate realm import`, which opens the store itself",
        ) from error
