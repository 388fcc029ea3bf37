"""Settings of authorization: whether rights are checked, and who may begin."""

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
