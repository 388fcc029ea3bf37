"""Reading manifests: scan planning and what a table can reach, in processes of their own.

Only `worker` and what it imports see pyiceberg; the server imports `planner`.
"""
