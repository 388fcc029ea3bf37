"""A table as a plain dictionary, changed in the simplest way that is right."""

import copy
from typing import Any

Document = dict[str, Any]
Update = dict[str, Any]


class Refused(Exception):
    """The updates are invalid."""


class Stale(Exception):
    """The updates were made on an older version."""


def need(condition: object, error: type[Exception] = Refused) -> None:
    if not condition:
        raise error


def committed(before: Document, updates: list[Update], now_ms: int, file: str) -> Document:
    """The document after a commit; the same one if nothing is new."""
    run = _Run(copy.deepcopy(before), now_ms)
    for update in updates:
        getattr(run, update["action"].replace("-", "_"))(update)
    after = run.finished()
    if after == before:
        return before
    sources = {field["id"] for field in run.schema()["fields"]}
    for defaults in (
        run.one("partition-specs", "spec-id", after["default-spec-id"]),
        run.one("sort-orders", "order-id", after["default-sort-order-id"]),
    ):
        need({field["source-id"] for field in defaults["fields"]} <= sources)
    limit = int(after["properties"].get("write.metadata.previous-versions-max", 100))
    entry = {"timestamp-ms": before["last-updated-ms"], "metadata-file": file}
    after["metadata-log"] = [*after["metadata-log"], entry][-limit:]
    after["last-updated-ms"] = now_ms
    return after


class _Run:
    def __init__(self, document: Document, now_ms: int) -> None:
        self.doc = document
        self.now_ms = now_ms
        self.added: dict[int, int] = {}
        self.last: dict[str, int] = {}
        self.history: list[tuple[int, int]] = []
        self.has_removed = False

    def one(self, array: str, member: str, id: int) -> Any:
        found = [each for each in self.doc[array] if each[member] == id]
        need(found)
        return found[0]

    def schema(self) -> Any:
        return self.one("schemas", "schema-id", self.doc["current-schema-id"])

    def ids(self) -> list[int]:
        return [snapshot["snapshot-id"] for snapshot in self.doc["snapshots"]]

    def no_snapshot(self) -> int | None:
        return None if self.doc["format-version"] == 3 else -1

    def finished(self) -> Document:
        log = self.doc["snapshot-log"]
        if self.has_removed:
            gone = [n for n, each in enumerate(log) if each["snapshot-id"] not in self.ids()]
            log = log[gone[-1] + 1 :] if gone else log
        for at_ms, id in self.history:
            if id in self.ids() and (id not in self.added or id == self.doc["current-snapshot-id"]):
                log = [*log, {"timestamp-ms": at_ms, "snapshot-id": id}]
        self.doc["snapshot-log"] = log
        if self.doc["format-version"] == 1:
            self.doc["schema"] = self.schema()
            spec = self.one("partition-specs", "spec-id", self.doc["default-spec-id"])
            self.doc["partition-spec"] = spec["fields"]
        return self.doc

    def upgrade_format_version(self, update: Update) -> None:
        version = update["format-version"]
        need(self.doc["format-version"] <= version <= 3)
        current = self.doc["current-snapshot-id"]
        self.doc["format-version"] = version
        if version > 1:
            self.doc.setdefault("last-sequence-number", 0)
            self.doc.pop("schema", None)
            self.doc.pop("partition-spec", None)
        if version > 2:
            self.doc.setdefault("next-row-id", 0)
            self.doc["current-snapshot-id"] = None if current == -1 else current

    def set_properties(self, update: Update) -> None:
        self.doc["properties"].update(update["updates"])

    def remove_properties(self, update: Update) -> None:
        for name in update["removals"]:
            self.doc["properties"].pop(name, None)

    def set_location(self, update: Update) -> None:
        self.doc["location"] = update["location"].rstrip("/")

    def add_schema(self, update: Update) -> None:
        fields = update["schema"]["fields"]
        ids = [each["schema-id"] for each in self.doc["schemas"]]
        equal = [each["schema-id"] for each in self.doc["schemas"] if each["fields"] == fields]
        self.last["schema"] = equal[0] if equal else max(ids) + 1
        if not equal:
            self.doc["schemas"].append({**update["schema"], "schema-id": max(ids) + 1})
        highest = max(field["id"] for field in fields)
        self.doc["last-column-id"] = max(self.doc["last-column-id"], highest)

    def set_current_schema(self, update: Update) -> None:
        self.doc["current-schema-id"] = self.named("schema", update["schema-id"])
        self.schema()

    def remove_schemas(self, update: Update) -> None:
        need(self.doc["current-schema-id"] not in update["schema-ids"])
        self.drop("schemas", "schema-id", update["schema-ids"])

    def add_spec(self, update: Update) -> None:
        fields = update["spec"]["fields"]
        need({each["source-id"] for each in fields} <= {f["id"] for f in self.schema()["fields"]})
        specs = self.doc["partition-specs"]
        equal = [
            spec["spec-id"]
            for spec in specs
            if [{**field, "field-id": 0} for field in spec["fields"]]
            == [{**field, "field-id": 0} for field in fields]
        ]
        self.last["spec"] = equal[0] if equal else max(spec["spec-id"] for spec in specs) + 1
        if not equal:
            numbered = [{**field, "field-id": self.field_id(field)} for field in fields]
            specs.append({"spec-id": self.last["spec"], "fields": numbered})
            ids = [self.doc["last-partition-id"], *(field["field-id"] for field in numbered)]
            self.doc["last-partition-id"] = max(ids)

    def field_id(self, field: Any) -> int:
        """In these tests a spec has one field at most."""
        if self.doc["format-version"] == 1:
            return 1000
        old = [
            each["field-id"]
            for spec in self.doc["partition-specs"]
            for each in spec["fields"]
            if {**each, "field-id": 0} == {**field, "field-id": 0}
        ]
        return int(old[-1] if old else self.doc["last-partition-id"] + 1)

    def set_default_spec(self, update: Update) -> None:
        self.doc["default-spec-id"] = self.named("spec", update["spec-id"])
        self.one("partition-specs", "spec-id", self.doc["default-spec-id"])

    def remove_partition_specs(self, update: Update) -> None:
        need(self.doc["default-spec-id"] not in update["spec-ids"])
        self.drop("partition-specs", "spec-id", update["spec-ids"])

    def add_sort_order(self, update: Update) -> None:
        fields, orders = update["sort-order"]["fields"], self.doc["sort-orders"]
        need({each["source-id"] for each in fields} <= {f["id"] for f in self.schema()["fields"]})
        equal = [order["order-id"] for order in orders if order["fields"] == fields]
        id = equal[0] if equal else max(order["order-id"] for order in orders) + 1
        self.last["order"] = id
        if not equal:
            orders.append({"order-id": id, "fields": fields})

    def set_default_sort_order(self, update: Update) -> None:
        self.doc["default-sort-order-id"] = self.named("order", update["sort-order-id"])
        self.one("sort-orders", "order-id", self.doc["default-sort-order-id"])

    def add_snapshot(self, update: Update) -> None:
        snapshot = update["snapshot"]
        number, last = snapshot.get("sequence-number", 0), self.doc.get("last-sequence-number", 0)
        need(snapshot["snapshot-id"] not in self.ids())
        need(snapshot.get("first-row-id", 0) >= 0)
        if self.doc["format-version"] == 1:
            need(number == 0)
        else:
            need(number > last or "parent-snapshot-id" not in snapshot, Stale)
            self.doc["last-sequence-number"] = max(number, last)
        if self.doc["format-version"] == 3:
            need("first-row-id" in snapshot)
            need(snapshot["first-row-id"] >= self.doc["next-row-id"], Stale)
            self.doc["next-row-id"] = snapshot["first-row-id"] + snapshot["added-rows"]
        self.doc["snapshots"].append(snapshot)
        self.added[snapshot["snapshot-id"]] = snapshot["timestamp-ms"]

    def set_snapshot_ref(self, update: Update) -> None:
        name, id = update["ref-name"], update["snapshot-id"]
        need(name != "main" or update["type"] == "branch")
        ref = {"snapshot-id": id, "type": update["type"]}
        if self.doc["refs"].get(name) == ref:
            return
        need(id in self.ids())
        self.doc["refs"][name] = ref
        if name == "main" and self.doc["current-snapshot-id"] != id:
            self.doc["current-snapshot-id"] = id
            self.history.append((self.added.get(id, self.now_ms), id))

    def remove_snapshot_ref(self, update: Update) -> None:
        self.doc["refs"].pop(update["ref-name"], None)
        if update["ref-name"] == "main":
            self.doc["current-snapshot-id"] = self.no_snapshot()

    def remove_snapshots(self, update: Update) -> None:
        gone = set(update["snapshot-ids"]) & set(self.ids())
        self.has_removed = self.has_removed or bool(gone)
        for array in ("snapshots", "statistics", "partition-statistics"):
            self.drop(array, "snapshot-id", gone)
        for name, ref in list(self.doc["refs"].items()):
            if ref["snapshot-id"] in gone:
                self.remove_snapshot_ref({"ref-name": name})

    def set_statistics(self, update: Update) -> None:
        if update["statistics"] not in self.doc["statistics"]:
            self.drop("statistics", "snapshot-id", [update["statistics"]["snapshot-id"]])
            self.doc["statistics"].append(update["statistics"])

    def remove_statistics(self, update: Update) -> None:
        self.drop("statistics", "snapshot-id", [update["snapshot-id"]])

    def drop(self, array: str, member: str, ids: Any) -> None:
        self.doc[array] = [each for each in self.doc[array] if each[member] not in ids]

    def named(self, kind: str, id: int) -> int:
        need(id != -1 or kind in self.last)
        return self.last[kind] if id == -1 else id
