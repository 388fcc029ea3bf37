-- name: introduce
select
    pg_backend_pid() as pid,
    to_hex((random() * 9e15)::bigint)
        || to_hex((extract(epoch from clock_timestamp()) * 1e6)::bigint) as token,
    current_setting('transaction_read_only')::boolean as is_read_only,
    (
        select count(set_config(name, value, false))
        from unnest($1::text[], $2::text[]) as s (name, value)
    ) as settings;

-- name: server_pid
select pg_backend_pid() as pid;

-- name: lineage
-- The first eight digits of a log file's name are the timeline; a standby writes no log.
select
    (select system_identifier from pg_control_system()) as cluster,
    case
        when pg_is_in_recovery() then 0
        else ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::integer
    end as timeline;
