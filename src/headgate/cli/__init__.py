"""The `headgate` command: one file per command."""
