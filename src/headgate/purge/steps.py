"""The stages of a purge, and the steps of each."""

LEAVES, ROOTS = "leaves", "roots"
"""The files that lead to no others, then those that did."""
DATA, MANIFESTS, LISTS, OLDER, LAST = "data", "manifests", "manifest-lists", "older", "last"
STEPS = {LEAVES: (DATA,), ROOTS: (MANIFESTS, LISTS, OLDER, LAST)}
"""Each step begins when all is gone that the step before it led to."""
