"""Which manifests and files a filter leaves, and what remains to be tested of each file's rows.

The evaluators are pyiceberg's. Each is asked about single tests, and the tree around them is ours,
so that tests which pyiceberg does not know prune nothing and survive in the residual.
"""

import struct
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import msgspec
from pyiceberg.expressions import (
    AlwaysFalse,
    AlwaysTrue,
    And,
    BooleanExpression,
    BoundPredicate,
    Or,
)
from pyiceberg.expressions.visitors import (
    _InclusiveMetricsEvaluator,
    expression_evaluator,
    inclusive_projection,
    manifest_evaluator,
)
from pyiceberg.manifest import DataFile, ManifestFile
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record

from headgate.limits import PARTITIONS_KNOWN_MAX
from headgate.planning.filters import Both, Constant, Either, Filter, Json, Leaf, Opaque
from headgate.planning.predicates import Predicate, bound

BROKEN_BOUNDS = (struct.error, TypeError, ValueError, ArithmeticError)
"""What pyiceberg raises on bounds that are not of their column's type: they say nothing then."""

Verdict = Callable[[Leaf], bool | None]


class Pruning:
    """A filter, bound to a schema, asked about manifests and files of all specs."""

    def __init__(
        self,
        filter: Filter,
        schema: Schema,
        specs: dict[int, PartitionSpec],
        *,
        case_sensitive: bool,
    ) -> None:
        self._filter = filter
        self._schema = schema
        self._specs = specs
        self._predicates = bound(filter, schema, case_sensitive=case_sensitive)
        self._metrics = _InclusiveMetricsEvaluator(schema, self._by_metrics(), True)
        self._by_spec = lru_cache(None)(self._for_spec)
        # Files share their partitions with many others, so each partition is looked at once.
        self.may_match_partition = lru_cache(PARTITIONS_KNOWN_MAX)(self._may_match_partition)
        self.residual = lru_cache(PARTITIONS_KNOWN_MAX)(self._residual)
        self.passes_all = filter == Constant(holds=True)

    def may_match_manifest(self, manifest: ManifestFile) -> bool:
        try:
            return self._by_spec(manifest.partition_spec_id).manifest(manifest)
        except BROKEN_BOUNDS:
            return True

    def may_match(self, file: DataFile, partition: tuple[Any, ...]) -> bool:
        if self.passes_all:
            return bool(file.record_count != 0)
        if not self.may_match_partition(file.spec_id, partition):
            return False
        try:
            return self._metrics.eval(file)
        except BROKEN_BOUNDS:
            return True

    def _may_match_partition(self, spec_id: int, partition: tuple[Any, ...]) -> bool:
        try:
            return self._by_spec(spec_id).partition(Record(*partition))
        except BROKEN_BOUNDS:
            return True

    def _for_spec(self, spec_id: int) -> "SpecPruning":
        return SpecPruning(self._filter, self._predicates, self._schema, self._specs[spec_id])

    def _by_metrics(self) -> BooleanExpression:
        return _expression(self._filter, lambda leaf: self._predicates[leaf].unbound)

    def _residual(self, spec_id: int, partition: tuple[Any, ...]) -> msgspec.Raw:
        """What is left of the filter when a file's partition is known, as JSON."""
        verdicts = self._by_spec(spec_id).verdicts(Record(*partition))
        left = _remainder(self._filter, verdicts, self._predicates)
        return msgspec.Raw(msgspec.json.encode(left))


class SpecPruning:
    """A filter, projected to the partitions of one spec."""

    def __init__(
        self,
        filter: Filter,
        predicates: dict[Leaf, Predicate],
        schema: Schema,
        spec: PartitionSpec,
    ) -> None:
        self._partitions = Schema(*spec.partition_type(schema).fields)
        self._project = inclusive_projection(schema, spec, True)
        self._spec = spec
        self._predicates = predicates
        self._tests: dict[Leaf, list[tuple[int, Test | None, Test | None]]] = {}
        projected = _expression(filter, self._projected)
        self.manifest = manifest_evaluator(spec, schema, projected, True)
        self.partition = expression_evaluator(self._partitions, projected, True)

    def verdicts(self, partition: Record) -> Verdict:
        """Which tests are decided by a partition alone."""

        def verdict(leaf: Leaf) -> bool | None:
            for position, strict, inclusive in self._tests_of(leaf):
                if partition[position] is None and leaf.operation not in {"is-null", "not-null"}:
                    continue  # what null compares to is for the client to say
                try:
                    if strict and strict(partition):
                        return True
                    if inclusive and not inclusive(partition):
                        return False
                except BROKEN_BOUNDS:
                    continue
            return None

        return verdict

    def _projected(self, leaf: Leaf) -> BooleanExpression:
        predicate = self._predicates[leaf]
        if predicate.transform is not None:
            same = [
                predicate.on(field.name)
                for field in self._spec.fields_by_source_id(predicate.field_id)
                if str(field.transform) == predicate.transform
            ]
            return same[0] if same and self._binds(same[0]) else AlwaysTrue()
        try:
            return self._project(predicate.unbound)
        except (TypeError, ValueError):
            return AlwaysTrue()

    def _tests_of(self, leaf: Leaf) -> "list[tuple[int, Test | None, Test | None]]":
        if leaf not in self._tests:
            self._tests[leaf] = list(self._made_tests(leaf))
        return self._tests[leaf]

    def _made_tests(self, leaf: Leaf) -> "Iterator[tuple[int, Test | None, Test | None]]":
        predicate = self._predicates[leaf]
        for position, field in enumerate(self._spec.fields):
            if field.source_id != predicate.field_id:
                continue
            if predicate.transform is None:
                if isinstance(predicate.bound, BoundPredicate):
                    yield (
                        position,
                        self._test(field.transform.strict_project, field.name, predicate.bound),
                        self._test(field.transform.project, field.name, predicate.bound),
                    )
            elif str(field.transform) == predicate.transform:
                same = predicate.on(field.name)
                if self._binds(same):
                    test = expression_evaluator(self._partitions, same, True)
                    yield position, test, test

    def _test(
        self, project: Callable[..., BooleanExpression | None], name: str, test: BoundPredicate
    ) -> "Test | None":
        try:
            projected = project(name, test)
            if projected is None:
                return None
            return expression_evaluator(self._partitions, projected, True)
        except (TypeError, ValueError):
            return None

    def _binds(self, test: BooleanExpression) -> bool:
        try:
            expression_evaluator(self._partitions, test, True)
        except (TypeError, ValueError):
            return False
        return True


Test = Callable[[Record], bool]


def _expression(filter: Filter, leaf: Callable[[Leaf], BooleanExpression]) -> BooleanExpression:
    """A filter as pyiceberg's expression, wider where pyiceberg has no word for a test."""
    if isinstance(filter, Constant):
        return AlwaysTrue() if filter.holds else AlwaysFalse()
    if isinstance(filter, Both):
        return And(_expression(filter.left, leaf), _expression(filter.right, leaf))
    if isinstance(filter, Either):
        return Or(_expression(filter.left, leaf), _expression(filter.right, leaf))
    return leaf(filter) if isinstance(filter, Leaf) else AlwaysTrue()


def _remainder(filter: Filter, verdict: Verdict, predicates: dict[Leaf, Predicate]) -> Json:
    """A filter as JSON of the older form, which every client reads, without what is decided."""
    if isinstance(filter, Constant):
        return filter.holds
    if isinstance(filter, Opaque):
        return filter.json
    if isinstance(filter, Leaf):
        never = isinstance(predicates[filter].bound, AlwaysFalse)
        decided = False if never else verdict(filter)
        return predicates[filter].json if decided is None else decided
    left = _remainder(filter.left, verdict, predicates)
    right = _remainder(filter.right, verdict, predicates)
    ends = isinstance(filter, Either)  # the value of one side that decides
    if left is ends or right is ends:
        return ends
    if isinstance(left, bool):
        return right
    if isinstance(right, bool):
        return left
    return {"type": "or" if ends else "and", "left": left, "right": right}
