"""Settings of authorization: whether rights are checked, who may begin, how news are learned."""

from headgate.limits import ACCESS_KNOWN_MAX
from headgate.settings.setting import Setting

AUTHORIZATION_ENABLED = Setting(
    name="authorization.enabled",
    type=bool,
    default=False,
    help="Whether rights are checked; without that everybody may do everything.",
    aliases=("gravitino.authorization.enable",),
)
SERVICE_ADMINS = Setting(
    name="authorization.service-admins",
    type=str,
    default="",
    default_help="nobody",
    help="Users who may make metalakes, and own those without an owner; separated by commas.",
    aliases=("gravitino.authorization.serviceAdmins",),
)
VALIDATION = Setting(
    name="authorization.validation",
    type=str,
    default="per-request",
    choices=("per-request", "poll"),
    help="Whether each request asks the database if what is known has changed, or a poll does: "
    "then most requests read nothing, and may see late what was taken away.",
)
POLL_INTERVAL = Setting(
    name="authorization.poll-interval-ms",
    type=int,
    default=5_000,
    unit="milliseconds",
    least=10,
    most=3_600_000,
    help="How late at most, if `authorization.validation` is `poll`.",
)
INVALIDATION = Setting(
    name="authorization.invalidation",
    type=str,
    default="fine",
    choices=("fine", "coarse"),
    help="Whether a change of rights lets those be worked out again that it concerns, "
    "or all of the metalake.",
)
ACCESS_CACHE_ENTRIES = Setting(
    name="authorization.cache-entries",
    type=int,
    default=ACCESS_KNOWN_MAX,
    unit="entries",
    least=1,
    help="Of how many callers and roles it is remembered what they may do.",
)
ACCESS_CACHE_SECONDS = Setting(
    name="authorization.cache-ttl-seconds",
    type=int,
    default=0,
    unit="seconds",
    least=0,
    help="When rights are worked out again though nothing has changed, as a safety net; "
    "0 means never.",
)
