"""Settings of events: who hears of what happens."""

from headgate.settings.setting import Setting

EVENTS_LISTENERS = Setting(
    name="events.listeners",
    type=str,
    default="",
    default_help="none; the log tells of them at level `info`",
    help="Who is told of drops and purges: names of installed listeners, or import paths of "
    "functions that take one event, as `module:function`; separated by commas.",
)
