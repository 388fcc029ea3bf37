"""The reference page of rights and rules, from the tables that the server itself uses."""

from collections.abc import Iterable, Iterator
from itertools import chain

from headgate.access.objects import ObjectType
from headgate.access.privileges import ALIASES, BINDS, CATALOG_TYPES, Privilege
from headgate.access.rules import RULES, Clause, Standing
from headgate.http.gravitino.routes import ROUTES as GRAVITINO
from headgate.http.iceberg.routes import ROUTES as ICEBERG
from headgate.http.management.changes import ROUTES as CHANGES
from headgate.http.management.file_references import ROUTES as REFERENCES
from headgate.http.management.job_work import ROUTES as JOB_WORK
from headgate.http.management.jobs import ROUTES as JOBS
from headgate.http.management.maintenance import ROUTES as MAINTENANCE
from headgate.http.management.realm_exports import ROUTES as EXPORTS
from headgate.http.management.reports import ROUTES as REPORTS
from headgate.http.management.routes import ROUTES as MANAGEMENT
from headgate.http.router import Route

_STANDINGS = {
    Standing.SERVICE_ADMIN: "is a service admin",
    Standing.MEMBER: "is a user of the metalake",
    Standing.SELF: "is the one that is asked about, or has that group or role",
}


def access_page() -> Iterator[str]:
    """All rights, all rules, and which operation asks which."""
    yield from (
        "# Rights and rules",
        "",
        "This page is made from the tables that the server decides by.",
        "[How authorization works](../explanation/authorization.md) tells the rest.",
        "",
        "## Rights",
        "",
        "A role has rights on objects: each is allowed or denied there, and below.",
        "",
        "| right | can be given on | only in catalogs of type |",
        "|---|---|---|",
    )
    for right in Privilege:
        yield f"| `{right.name}` | {_kinds(BINDS[right])} | {_types(right)} |"
    former = ", ".join(f"`{old}` for `{new}`" for old, new in ALIASES.items())
    yield from ("", f"Former names are understood: {former}.", "", "## Rules", "")
    yield from (
        "Each line of a rule is enough.",
        "Objects on the way from the metalake down to the one that is asked for count together.",
        "A right counts if it is allowed on one of them and denied on none.",
        "",
        "| action | on | who may |",
        "|---|---|---|",
    )
    for rule in RULES.values():
        who = "<br>".join(_clause(clause) for clause in rule.clauses)
        yield f"| `{rule.action}` | {_kinds(rule.on) or 'the server'} | {who} |"
    yield from ("", "## Operations", "")
    yield from (
        "Lists show what the caller may load.",
        "Operations without a rule answer everybody.",
        "Where a path says `{type}`, the rule is that of the type; shown is that of a table.",
        "",
        "| operation | rule |",
        "|---|---|",
    )
    for prefix, route in _routes():
        asked = f"`{route.rule.action}`" if route.rule else "-"
        yield f"| `{route.method} {prefix}{route.template}` | {asked} |"


def _routes() -> Iterable[tuple[str, Route]]:
    return chain(
        (("/iceberg", route) for route in ICEBERG),
        (("/api", route) for route in GRAVITINO),
        (
            ("", route)
            for route in chain(
                MANAGEMENT,
                CHANGES,
                REPORTS,
                JOBS,
                JOB_WORK,
                REFERENCES,
                MAINTENANCE,
                EXPORTS,
            )
            if route.rule
        ),
    )


def _clause(clause: Clause) -> str:
    parts = []
    if clause.owner:
        parts.append(f"owns the {_kinds(ObjectType(clause.owner), ' or ')}")
    if clause.rights:
        rights = [f"`{right.name}`" for right in Privilege if right & clause.rights]
        parts.append(f"has {', '.join(rights)}")
    parts += [text for standing, text in _STANDINGS.items() if standing & clause.standing]
    return " and ".join(parts)


def _kinds(kinds: ObjectType, joined: str = ", ") -> str:
    return joined.join(_word(kind) for kind in ObjectType if kind & kinds)


def _word(kind: ObjectType) -> str:
    return str(kind.name).lower().replace("_", " ")


def _types(right: Privilege) -> str:
    return ", ".join(type for type, rights in CATALOG_TYPES.items() if right & rights) or "any"
