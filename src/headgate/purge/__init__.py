"""Deleting the files of dropped tables: jobs, who works on them, and how they end."""
