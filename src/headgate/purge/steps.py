"""The stages of a purge, and the steps of each."""

LEAVES, ROOTS = "leaves", "roots"
"""The files that lead to no others, then those that did."""
SEEN, GONE = "seen", "gone"
"""What follows each of them if a program outside did it: nothing is deleted, only looked at."""
DATA, MANIFESTS, LISTS, OLDER, LAST = "data", "manifests", "manifest-lists", "older", "last"
STEPS = {LEAVES: (DATA,), ROOTS: (MANIFESTS, LISTS, OLDER, LAST), SEEN: (SEEN,), GONE: (GONE,)}
"""Each step begins when all is gone that the step before it led to."""
