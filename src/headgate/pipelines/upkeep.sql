-- What upkeep asks of Iceberg's metadata tables, in Spark SQL. {table} is the table,
-- {partition} the column of its partitions, or NULL if it has none; :names are values.

-- name: small_files
-- Merging is worth it where a partition has enough small files and would be left with half of them
-- at most: what is made of files of nearly the target size is often smaller than they were, and
-- would be rewritten again and again. Files of earlier ways of partitioning are one group.
WITH small AS (
  SELECT count(*) AS files, sum(file_size_in_bytes) AS bytes
  FROM {table}.data_files
  WHERE file_size_in_bytes < :small_bytes
  GROUP BY spec_id = :spec, CASE WHEN spec_id = :spec THEN {partition} END
),
judged AS (
  SELECT files, bytes, ceil(bytes / :target_bytes) AS merged,
    files >= :inputs AND files - ceil(bytes / :target_bytes) >= files / 2 AS is_worth_it
  FROM small
)
SELECT
  coalesce(sum(files), 0) AS small_files,
  coalesce(sum(files) FILTER (WHERE is_worth_it), 0) AS mergeable_files,
  coalesce(sum(bytes) FILTER (WHERE is_worth_it), 0) AS mergeable_bytes,
  count_if(is_worth_it) AS mergeable_partitions,
  coalesce(sum(merged) FILTER (WHERE is_worth_it), 0) AS merged_files
FROM judged;

-- name: deletes
-- A position delete file belongs to one data file if it says so, or if the bounds of its column of
-- paths (field 2147483546) are the same; deletion vectors (Puffin) always do. An equality delete
-- applies to what is older than itself in its partition, so a data file has :deletes of them if it
-- is older than the newest but that many.
WITH entries AS (
  SELECT
    sequence_number AS sequence,
    data_file.content AS content,
    data_file.file_format AS format,
    data_file.file_path AS path,
    data_file.record_count AS records,
    data_file.spec_id AS spec,
    {partition} AS part,
    coalesce(
      data_file.referenced_data_file,
      CASE
        WHEN try_element_at(data_file.lower_bounds, 2147483546)
          = try_element_at(data_file.upper_bounds, 2147483546)
        THEN cast(try_element_at(data_file.lower_bounds, 2147483546) AS string)
      END
    ) AS target
  FROM {table}.entries
  WHERE status < 2
),
positions AS (
  SELECT target, count(*) AS files, sum(records) AS deleted
  FROM entries
  WHERE content = 1 AND target IS NOT NULL
  GROUP BY target
),
equalities AS (
  SELECT spec, part, element_at(sort_array(collect_list(sequence), false), :deletes) AS nth
  FROM entries
  WHERE content = 2
  GROUP BY spec, part
  HAVING count(*) >= :deletes
),
worn AS (
  SELECT count(*) AS files
  FROM entries
  LEFT JOIN positions ON entries.path = positions.target
  LEFT JOIN equalities ON entries.spec = equalities.spec AND entries.part <=> equalities.part
  WHERE entries.content = 0
    AND (
      positions.files >= :deletes
      OR positions.deleted >= :ratio * entries.records
      OR entries.sequence < equalities.nth
    )
),
rewritable AS (
  SELECT
    count(*) AS files,
    count(DISTINCT CASE WHEN data.path IS NOT NULL THEN deletes.target END)
      + count(DISTINCT CASE WHEN deletes.target IS NULL THEN struct(deletes.spec, deletes.part) END)
      AS needed
  FROM entries AS deletes
  LEFT JOIN entries AS data ON data.content = 0 AND data.path = deletes.target
  WHERE deletes.content = 1 AND deletes.format <> 'PUFFIN'
),
named AS (
  SELECT
    coalesce(sum(records), 0) AS records,
    coalesce(sum(records) FILTER (WHERE target IS NULL), 0) AS shared
  FROM entries
  WHERE content = 1
)
SELECT
  worn.files AS worn_files,
  rewritable.files AS position_delete_files,
  rewritable.files - rewritable.needed AS superfluous_delete_files,
  named.records AS deleted_records,
  named.shared AS shared_deleted_records
FROM worn CROSS JOIN rewritable CROSS JOIN named;

-- name: manifests
-- Only those of the current way of partitioning can be merged. Those that list nothing but what was
-- deleted go with the next commit.
SELECT content, count(*) AS count, sum(length) AS bytes
FROM {table}.manifests
WHERE partition_spec_id = :spec
  AND added_data_files_count + existing_data_files_count
    + added_delete_files_count + existing_delete_files_count > 0
GROUP BY content;
