"""Metalakes carried from one store to another: read as rows, kept in files, filled in again."""
