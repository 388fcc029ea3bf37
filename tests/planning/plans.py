"""Planning in this process, and its answers in short."""

import json
from typing import Any

from headgate.planning import scan
from headgate.planning.files import LocalFiles
from tests.planning.tables import MetadataTable


def plan(table: MetadataTable, **request: Any) -> dict[str, Any]:
    """The answer to a request; `_` in names stands for `-`."""
    body = json.dumps({name.replace("_", "-"): value for name, value in request.items()})
    answer: dict[str, Any] = json.loads(
        next(scan.plan(LocalFiles(), table.metadata(), body.encode()))
    )
    return answer


def fetch_tasks(table: MetadataTable, task: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(
        next(scan.fetch_tasks(LocalFiles(), table.metadata(), task.encode()))
    )
    return answer


def files(answer: dict[str, Any]) -> list[str]:
    return [task["data-file"]["file-path"] for task in answer["file-scan-tasks"]]


def deletes(answer: dict[str, Any]) -> dict[str, set[str]]:
    """The delete files of each data file."""
    return {
        task["data-file"]["file-path"]: {
            answer["delete-files"][index]["file-path"]
            for index in task.get("delete-file-references", [])
        }
        for task in answer["file-scan-tasks"]
    }
