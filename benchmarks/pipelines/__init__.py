"""The suite of pipelines: those on Spark, and beside them Iceberg's own actions, in one run."""
