"""All operations of Gravitino's protocol, those of each resource from its own file."""

from headgate.http.gravitino.catalogs import ROUTES as CATALOGS
from headgate.http.gravitino.idp import ROUTES as IDP
from headgate.http.gravitino.metalakes import ROUTES as METALAKES
from headgate.http.gravitino.server_info import ROOT_ROUTES
from headgate.http.gravitino.server_info import ROUTES as SERVER_INFO
from headgate.http.gravitino.tables import ROUTES as TABLES
from headgate.http.gravitino.versions import versioned
from headgate.http.gravitino.views import ROUTES as VIEWS

__all__ = ["ROOT_ROUTES", "ROUTES"]

ROUTES = tuple(map(versioned, (*SERVER_INFO, *IDP, *METALAKES, *CATALOGS, *TABLES, *VIEWS)))
"""Below /api."""
