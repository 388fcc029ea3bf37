"""These tests need Java and, for the first time, a Maven repository."""
