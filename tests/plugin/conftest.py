"""Tests of the pytest plugin: they need nothing but this machine."""
