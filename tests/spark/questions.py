"""The queries of the how-to pages, asked as they stand there."""

import re
from pathlib import Path

from pyspark.sql import SparkSession

HOW_TO = Path(__file__).parents[2] / "docs" / "how-to"
_QUERY = re.compile(r"^```sql\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def asked(session: SparkSession, page: str, documented: str, schema: str) -> list[int]:
    """How many rows each query of a page finds, in this schema."""
    queries = _QUERY.findall((HOW_TO / page).read_text("utf-8"))
    session.sql("USE hg")
    return [session.sql(query.replace(documented, schema)).count() for query in queries]
