"""All operations of Gravitino's protocol, those of each resource from its own file."""

from headgate.http.gravitino.bulk_users import ROUTES as BULK_USERS
from headgate.http.gravitino.catalogs import ROUTES as CATALOGS
from headgate.http.gravitino.groups import ROUTES as GROUPS
from headgate.http.gravitino.idp import ROUTES as IDP
from headgate.http.gravitino.metalakes import ROUTES as METALAKES
from headgate.http.gravitino.owners import ROUTES as OWNERS
from headgate.http.gravitino.permissions import ROUTES as PERMISSIONS
from headgate.http.gravitino.roles import ROUTES as ROLES
from headgate.http.gravitino.schemas import ROUTES as SCHEMAS
from headgate.http.gravitino.server_info import ROOT_ROUTES
from headgate.http.gravitino.server_info import ROUTES as SERVER_INFO
from headgate.http.gravitino.tables import ROUTES as TABLES
from headgate.http.gravitino.users import ROUTES as USERS
from headgate.http.gravitino.versions import versioned
from headgate.http.gravitino.views import ROUTES as VIEWS

__all__ = ["ROOT_ROUTES", "ROUTES"]

_ACCESS = (*USERS, *BULK_USERS, *GROUPS, *ROLES, *PERMISSIONS, *OWNERS)
_CONTENT = (*METALAKES, *CATALOGS, *SCHEMAS, *TABLES, *VIEWS)

ROUTES = tuple(map(versioned, (*SERVER_INFO, *IDP, *_CONTENT, *_ACCESS)))
"""Below /api."""
