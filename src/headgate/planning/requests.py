"""What a client asks to be planned."""

from typing import Annotated

import msgspec

from headgate.errors import BadRequest

LONG_MAX = (1 << 63) - 1

Id = Annotated[int, msgspec.Meta(ge=-LONG_MAX, le=LONG_MAX)]


class PlanRequest(msgspec.Struct, frozen=True, rename="kebab"):
    """PlanTableScanRequest. `select` changes nothing here: files are planned, not columns."""

    snapshot_id: Id | None = None
    start_snapshot_id: Id | None = None
    end_snapshot_id: Id | None = None
    select: list[str] | None = None
    filter: msgspec.Raw = msgspec.Raw(b"null")
    case_sensitive: bool | None = None
    use_snapshot_schema: bool | None = None
    stats_fields: list[str] | None = None
    min_rows_requested: Annotated[int, msgspec.Meta(ge=0, le=LONG_MAX)] | None = None

    @property
    def wanted_rows(self) -> bytes:
        """The filter, still encoded; without one all rows are wanted."""
        given = bytes(self.filter)
        return b"true" if given == b"null" else given


def parse(data: bytes) -> PlanRequest:
    """A request from its body. Raises BadRequest if it makes no sense for any table."""
    try:
        request = msgspec.json.decode(data or b"{}", type=PlanRequest)
    except msgspec.MsgspecError as error:
        raise BadRequest("Cannot parse the scan request", why=str(error)) from error
    incremental = request.start_snapshot_id is not None or request.end_snapshot_id is not None
    if incremental and request.snapshot_id is not None:
        raise BadRequest(
            "Invalid scan: snapshot-id together with start-snapshot-id or end-snapshot-id",
            fix="Give either a snapshot or a range",
        )
    if incremental and (request.start_snapshot_id is None or request.end_snapshot_id is None):
        raise BadRequest("Invalid scan: a range needs both start-snapshot-id and end-snapshot-id")
    return request
