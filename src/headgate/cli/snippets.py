"""How clients are told to reach a server, ready to be copied; secrets are left to be filled in."""

from collections.abc import Collection
from typing import NamedTuple

from headgate.authentication import BASIC, OIDC, SIMPLE, TOKEN
from headgate.catalog.calls import CatalogName

_TOKENS = "{url}/iceberg/v1/oauth/tokens"
_FORM = """\
pyiceberg   load_catalog("headgate", type="rest", uri="{url}/iceberg"{python})
Spark       spark.sql.catalog.headgate=org.apache.iceberg.spark.SparkCatalog
            spark.sql.catalog.headgate.type=rest
            spark.sql.catalog.headgate.uri={url}/iceberg
{spark}DuckDB      {duckdb}
Polars      pl.scan_iceberg(load_catalog("headgate", type="rest",
            uri="{url}/iceberg"{python})
            .load_table("namespace.table"))
Gravitino   GravitinoClient(uri="{url}", metalake_name="{metalake}"{gravitino})
{hint}"""
_ATTACH = """ATTACH '{catalog}' AS headgate (TYPE iceberg, ENDPOINT '{url}/iceberg',
            """
_SPARK = "            spark.sql.catalog.headgate."


class _Way(NamedTuple):
    """What each client needs to say who it is."""

    python: str = ""
    spark: str = ""
    duckdb: str = _ATTACH + "AUTHORIZATION_TYPE none)"
    gravitino: str = ""
    hint: str = ""


_BY_SECRET = _Way(
    python=f""",
            credential="USER:SECRET", **{{{{"oauth2-server-uri": "{_TOKENS}"}}}}""",
    spark=f"{_SPARK}credential=USER:SECRET\n{_SPARK}oauth2-server-uri={_TOKENS}\n",
    duckdb=f"""CREATE SECRET headgate (TYPE iceberg, CLIENT_ID 'USER',
            CLIENT_SECRET 'SECRET', OAUTH2_SERVER_URI '{_TOKENS}');
            {_ATTACH}SECRET headgate)""",
    gravitino=""",
            auth_data_provider=DefaultOAuth2TokenProvider("{url}", "USER:SECRET",
            scope="catalog", path="iceberg/v1/oauth/tokens")""",
    hint="            SECRET is what `headgate token secret create USER` shows.\n",
)
_BY_PROVIDER = _Way(
    python=', token="TOKEN"',
    spark=f"{_SPARK}token=TOKEN\n",
    duckdb=f"""CREATE SECRET headgate (TYPE iceberg, TOKEN 'TOKEN');
            {_ATTACH}SECRET headgate)""",
    gravitino=""",
            auth_data_provider=DefaultOAuth2TokenProvider("https://PROVIDER", "USER:SECRET",
            scope="SCOPE", path="PATH")""",
    hint="            TOKEN is one that the identity provider issued for this server.\n",
)
_BY_PASSWORD = _Way(
    python=""",
            auth={{"type": "basic", "basic": {{"username": "USER", "password": "PASSWORD"}}}}""",
    spark=f"{_SPARK}rest.auth.type=basic\n{_SPARK}rest.auth.basic.username=USER\n"
    f"{_SPARK}rest.auth.basic.password=PASSWORD\n",
    duckdb="has no passwords: add token to authentication.methods",
    gravitino=""",
            auth_data_provider=BasicAuthProvider("USER", "PASSWORD")""",
    hint="            `headgate user create USER` makes a user and asks for its password.\n",
)


def snippets(url: str, name: CatalogName, methods: Collection[str] = (SIMPLE,)) -> str:
    """For each client what to write, by one of the ways that this server takes."""
    way = _way(methods)
    if BASIC in methods:
        way = way._replace(gravitino=_BY_PASSWORD.gravitino)
    known = {"url": url, **name._asdict()}
    return _FORM.format(
        **known, **{key: text.format(**known) for key, text in way._asdict().items()}
    )


def _way(methods: Collection[str]) -> _Way:
    ways = {TOKEN: _BY_SECRET, OIDC: _BY_PROVIDER, BASIC: _BY_PASSWORD}
    return next((way for method, way in ways.items() if method in methods), _Way())
