"""Shipped for tests: conformance suites, fault injection, a manual clock, history checks."""
