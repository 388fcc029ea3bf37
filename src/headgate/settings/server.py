"""Settings of the server: where it listens, how much it does at a time, what it logs."""

from headgate.limits import (
    BODY_BYTES_MAX,
    BODY_BYTES_MIN,
    CHECKPOINT_SECONDS,
    CHECKPOINT_SECONDS_MIN,
    LOG_RETENTION_DAYS,
    LOG_RETENTION_DAYS_MAX,
    PLANNING_PROCESSES_MAX,
    PORT,
    PORT_MAX,
    PROCESSES_MAX,
    REQUEST_SECONDS_MAX,
    REQUEST_SECONDS_MIN,
    REQUESTS_MAX,
    SWEEP_SECONDS_MAX,
    TIMEOUT_SECONDS_MAX,
)
from headgate.limits import PLANNING_PROCESSES as PLANNING_PROCESSES_DEFAULT
from headgate.settings.setting import Setting

HTTP_HOST = Setting(
    name="http.host",
    type=str,
    default="127.0.0.1",
    help="The name or address to listen on.",
    aliases=("gravitino.server.webserver.host",),
)
HTTP_PUBLIC_URL = Setting(
    name="http.public-url",
    type=str,
    default="",
    default_help="http:// and the host that a request names",
    help="The address that clients are told to come back to: what a proxy in front of the server "
    "is called, as https://lake.example.com.",
    url=True,
)
HTTP_TRUSTED_PROXIES = Setting(
    name="http.trusted-proxies",
    type=str,
    default="",
    default_help="none",
    help="The addresses or networks of proxies in front of the server, separated by commas. "
    "Limits per address are for the clients that these name in `X-Forwarded-For`; the header is "
    "not read if it comes from elsewhere.",
)
HTTP_PORT = Setting(
    name="http.port",
    type=int,
    default=PORT,
    least=0,
    most=PORT_MAX,
    help="The port to listen on; 0 is any free one.",
    aliases=("gravitino.server.webserver.httpPort",),
)
HTTP_PROCESSES = Setting(
    name="http.processes",
    type=int,
    default=1,
    unit="processes",
    least=1,
    most=PROCESSES_MAX,
    help="How many processes serve: one for SQLite, one for each core for a database server.",
)
HTTP_REQUESTS_MAX = Setting(
    name="http.requests-max",
    type=int,
    default=REQUESTS_MAX,
    unit="requests",
    least=1,
    help="How many requests a process serves at a time, three quarters of them for one principal; "
    "others are told to come back later.",
)
HTTP_REQUEST_SECONDS = Setting(
    name="http.request-seconds-max",
    type=float,
    default=REQUEST_SECONDS_MAX,
    unit="seconds",
    least=REQUEST_SECONDS_MIN,
    most=TIMEOUT_SECONDS_MAX,
    help="How long a request may take, authentication included, before it is given up.",
)
HTTP_BODY_BYTES = Setting(
    name="http.body-bytes-max",
    type=int,
    default=BODY_BYTES_MAX,
    unit="bytes",
    least=BODY_BYTES_MIN,
    most=BODY_BYTES_MAX,
    help="How large the body of a request may be; most kinds of requests may have less.",
)
READ_ONLY = Setting(
    name="read-only",
    type=bool,
    default=False,
    help="Whether every request that would change something is refused. The store may then lie on "
    "a disk that is mounted read-only.",
)
PLANNING_PROCESSES = Setting(
    name="planning.processes",
    type=int,
    default=PLANNING_PROCESSES_DEFAULT,
    unit="processes",
    least=1,
    most=PLANNING_PROCESSES_MAX,
    help="How many processes of their own plan scans of one principal. Up to two more start while "
    "these are busy: one for other principals, and one for other metalakes.",
)
LOG_LEVEL = Setting(
    name="log.level",
    type=str,
    default="warning",
    choices=("debug", "info", "warning", "error"),
    help="The least important messages to log.",
)
LOG_ACCESS = Setting(
    name="log.access",
    type=bool,
    default=True,
    help="Whether a server logs each request, whatever `log.level` is.",
)
LOG_FORMAT = Setting(
    name="log.format",
    type=str,
    default="text",
    choices=("text", "json"),
    help="How messages are logged: lines for people, or one JSON object per line.",
)
LOG_RETENTION = Setting(
    name="log.retention-days",
    type=int,
    default=LOG_RETENTION_DAYS,
    unit="days",
    least=0,
    most=LOG_RETENTION_DAYS_MAX,
    help="How long commits stay in the change log after others have followed them; 0 keeps all. "
    "Give all servers of a store the same.",
)
LOG_CHECKPOINT_FILE = Setting(
    name="log.checkpoint-file",
    type=str,
    default="",
    default_help="none",
    help="A file that signed checkpoints of the log are appended to, one line of JSON each, for "
    "`headgate log verify --checkpoint`. Put it where nobody who can write to the database can "
    "change it.",
)
LOG_CHECKPOINT_SECONDS = Setting(
    name="log.checkpoint-seconds",
    type=int,
    default=CHECKPOINT_SECONDS,
    unit="seconds",
    least=CHECKPOINT_SECONDS_MIN,
    most=SWEEP_SECONDS_MAX,
    help="How long after a checkpoint the next one is written to `log.checkpoint-file`.",
)
