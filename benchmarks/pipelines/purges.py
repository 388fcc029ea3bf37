"""Files per second: the purger `spark`, and Iceberg's deleteReachableFiles on the same shape."""

from pathlib import Path
from typing import Any

from benchmarks.pipelines.actions import IcebergActions
from benchmarks.pipelines.scale import Scale
from benchmarks.pipelines.turns import WARM_UP_SHARE, take_turns
from benchmarks.purge.memory import files_below
from benchmarks.purge.targets import Watch, drop, make_target
from benchmarks.rest.servers import Server, connect
from headgate.testing.headgate_server import HeadgateServer


def measure_purges(
    scale: Scale, disk: Path, memory: Path, actions: IcebergActions, conf: dict[str, str]
) -> dict[str, Any]:
    """Both keep their sessions from turn to turn; ours is that of the server's driver."""
    settings = {
        "bootstrap.warehouse": f"file://{memory}",
        "purger": "spark",
        "purger.spark.master": "local[*]",
        "purger.spark.threshold-files": "1",
        "purger.spark.idle-seconds": "3600",
        **{f"purger.spark.conf.{name}": text for name, text in conf.items()},
    }
    sets = [part for name, text in settings.items() for part in ("--set", f"{name}={text}")]
    with HeadgateServer(disk, *sets) as started:
        purges = _Purges(connect(started), actions)
        purges.ours("warm_ours", scale.files // WARM_UP_SHARE)
        purges.theirs("warm_theirs", scale.files // WARM_UP_SHARE)
        compared = take_turns(
            f"files per second, purge of {scale.files:,}",
            scale.turns,
            lambda number: purges.ours(f"ours_{number}", scale.files),
            lambda number: purges.theirs(f"theirs_{number}", scale.files),
        )
    return {
        "spark_purge_files_per_second": compared.middle.ours,
        "iceberg_action_files_per_second": compared.middle.theirs,
        "spark_purge_ratio": compared.ratio,
        "purged_files_left": purges.left,
        "iceberg_files_left": purges.left_by_theirs,
    }


class _Purges:
    """Tables that are made and go."""

    def __init__(self, server: Server, actions: IcebergActions) -> None:
        self._server = server
        self._actions = actions
        self._watch = Watch(server.pid)
        self.left = 0
        """Files that were not deleted."""
        self.left_by_theirs = 0

    def ours(self, name: str, files: int) -> float:
        """Files per second, from the drop to the last file."""
        target = make_target(self._server, name, files)
        seconds = drop(self._server, target) + self._watch.wait_until_gone([target])
        self.left += files_below(target.folder)
        return target.files / seconds

    def theirs(self, name: str, files: int) -> float:
        """The same for the action alone: the table was dropped before."""
        target = make_target(self._server, name, files)
        self._server.ask("DELETE", target.path)
        seconds = self._actions.delete_reachable(f"file://{target.root}")
        self.left_by_theirs += files_below(target.folder)
        return target.files / seconds
