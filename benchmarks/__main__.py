"""`python -m benchmarks SUITE [...]`: runs one suite of benchmarks."""

import sys
from collections.abc import Callable

from benchmarks import fixture, kernel
from benchmarks.authz import suite as authz
from benchmarks.pipelines import suite as pipelines
from benchmarks.purge import suite as purge
from benchmarks.rest import suite as rest
from benchmarks.swarm import suite as swarm

SUITES: dict[str, Callable[[list[str]], int]] = {
    "authz": authz.main,
    "fixture": fixture.main,
    "kernel": kernel.main,
    "pipelines": pipelines.main,
    "purge": purge.main,
    "rest": rest.main,
    "swarm": swarm.main,
}


def main(arguments: list[str]) -> int:
    suite = SUITES.get(arguments[0]) if arguments else None
    if suite is None:
        print(f"usage: python -m benchmarks {{{','.join(SUITES)}}} [--help]", file=sys.stderr)
        return 2
    return suite(arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
