"""Settings of the audit: where decisions are recorded, and how many of the harmless ones."""

from headgate.settings.setting import Setting

AUDIT_FILE = Setting(
    name="audit.file",
    type=str,
    default="",
    default_help="`audit.log` in the data directory if authorization is on",
    help="Where decisions about rights are recorded, one JSON object per line: a path, "
    "`-` for standard output, `none` for nowhere.",
)
AUDIT_SAMPLING = Setting(
    name="audit.sampling",
    type=float,
    default=0.01,
    unit="share",
    least=0,
    most=1,
    help="The share of allowed reads that is recorded; refusals and changes always are.",
)
