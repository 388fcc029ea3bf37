"""Chance that can be repeated: a new seed in each run, printed, or the one in the variable SEED."""

import os
import secrets


def draw_seed(what: str) -> int:
    """A seed; `SEED=<number> ./test ...` repeats a run."""
    seed = int(os.environ.get("SEED") or secrets.randbits(32))
    print(f"{what}: SEED={seed}")
    return seed
