"""What Gravitino has and Headgate does not serve yet, by its paths.

Who asks for it has made no mistake in writing, and is told so.
"""

import re

IN_METALAKE = ("tags", "policies", "jobs")
ON_OBJECT = ("tags", "policies", "statistics", "credentials")
IN_SCHEMA = ("filesets", "topics", "models", "functions")

_PATH = re.compile(
    r"/api/metalakes/[^/]+/"
    rf"(?:({'|'.join(IN_METALAKE)})"
    rf"|objects/[^/]+/[^/]+/({'|'.join(ON_OBJECT)})"
    rf"|catalogs/[^/]+/schemas/[^/]+/({'|'.join(IN_SCHEMA)}))"
    r"(?:/|$)"
)


def unserved(path: str) -> str:
    """What a path is about, if Gravitino has it and nobody serves it here; else empty."""
    found = _PATH.match(path)
    return found[found.lastindex or 0] if found else ""
