"""The backend on one SQLite file, shared by any number of processes of one machine."""
