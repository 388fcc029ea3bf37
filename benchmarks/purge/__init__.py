"""The suite of hard deletion: ours against Iceberg's own and `rm -r`, in one run on one machine."""
