"""Fuzzing over real sockets: needs nothing but this machine."""
