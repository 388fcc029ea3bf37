"""Headgate's own surface: probes, measures, settings, documents."""
