"""Programs for what is too large for one process: they run on Spark, by way of PySpark.

pyspark, pyarrow, pandas and requests are imported where they are used and nowhere else, so that
`headgate --help` needs none of them and waits for none of them.
"""
