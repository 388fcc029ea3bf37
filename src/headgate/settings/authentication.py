"""Settings of authentication: how callers say who they are, and whose word is believed."""

from headgate.limits import CLOCK_SKEW_SECONDS as CLOCK_SKEW_DEFAULT
from headgate.limits import (
    CLOCK_SKEW_SECONDS_MAX,
    TOKEN_SECONDS_MAX,
)
from headgate.limits import SESSION_SECONDS as SESSION_DEFAULT
from headgate.limits import TOKEN_SECONDS as TOKEN_DEFAULT
from headgate.settings.setting import Setting

METHODS = Setting(
    name="authentication.methods",
    type=str,
    default="simple",
    help="How callers say who they are: `simple` (everybody is believed), `basic` (passwords), "
    "`token` (Headgate's own tokens), `oidc` (tokens of identity providers); several are separated "
    "by commas. Gravitino's `oauth` means `oidc` if issuers are set, else `token`.",
    aliases=("gravitino.authenticators",),
)
TOKEN_SECRET = Setting(
    name="token.secret",
    type=str,
    default="",
    default_help="a key made on first start in `keys` of the data directory",
    help="The key that signs tokens of simple authentication. Nodes on different machines need the "
    "same one.",
    secret=True,
)
TOKEN_SECONDS = Setting(
    name="token.seconds",
    type=int,
    default=TOKEN_DEFAULT,
    unit="seconds",
    least=1,
    most=TOKEN_SECONDS_MAX,
    help="How long a token of Headgate's own is good.",
)
SESSION_SECONDS = Setting(
    name="token.session-seconds",
    type=int,
    default=SESSION_DEFAULT,
    unit="seconds",
    least=1,
    most=TOKEN_SECONDS_MAX,
    help="How long a token can be exchanged for newer ones, from the first one on.",
)
OIDC_ISSUERS = Setting(
    name="authentication.oidc.issuers",
    type=str,
    default="",
    default_help="none",
    help="Identity providers that are believed, each as ISSUER=URL with the address of its key set "
    "(JWKS); separated by commas. Addresses in tokens are never followed.",
)
OIDC_AUDIENCE = Setting(
    name="authentication.oidc.audience",
    type=str,
    default="",
    default_help="none, and `oidc` needs one",
    help="Whom tokens of identity providers must be meant for: their claim `aud`.",
    aliases=("gravitino.authenticator.oauth.serviceAudience",),
)
OIDC_CLOCK_SKEW = Setting(
    name="authentication.oidc.clock-skew-seconds",
    type=int,
    default=CLOCK_SKEW_DEFAULT,
    unit="seconds",
    least=0,
    most=CLOCK_SKEW_SECONDS_MAX,
    help="How far the clock of an identity provider may be off.",
    aliases=("gravitino.authenticator.oauth.allowSkewSecs",),
)
OIDC_PRINCIPAL_CLAIM = Setting(
    name="authentication.oidc.principal-claim",
    type=str,
    default="sub",
    help="The claim of a token that is the name of the user.",
    aliases=("gravitino.authenticator.oauth.principalFields",),
)
OIDC_GROUPS_CLAIM = Setting(
    name="authentication.oidc.groups-claim",
    type=str,
    default="groups",
    help="The claim of a token that lists the groups of the user.",
    aliases=("gravitino.authenticator.oauth.groupsFields",),
)
OIDC_ALGORITHMS = Setting(
    name="authentication.oidc.algorithms",
    type=str,
    default="RS256,ES256,PS256,EdDSA",
    help="How tokens of identity providers may be signed; separated by commas.",
)
MASTER_KEY = Setting(
    name="security.master-key",
    type=str,
    default="",
    default_help="for an embedded store, a key made on first start in `keys` of the data directory",
    help="The key that seals secrets in the database. All nodes of a shared database need the same "
    "one.",
    secret=True,
)
MASTER_KEY_FILE = Setting(
    name="security.master-key-file",
    type=str,
    default="",
    default_help="none",
    help="A file that holds the master key instead; only its owner may be allowed to read it.",
)
