-- name: read_pointers
-- One statement is one snapshot. A scalar sub-select per key keeps the planner on the index.
select array_agg(
    (select value from pointers as p where p.realm = k.realm and p.name = k.name)
    order by k.position
) as values
from unnest($1::text[], $2::text[]) with ordinality as k (realm, name, position);

-- name: create_pointers
insert into pointers (realm, name, value)
select $1, name, $3 from unnest($2::text[]) as n (name)
on conflict do nothing;

-- name: commit
-- The rows are stored only if the swap won. `found` tells a lost swap from a missing pointer.
with swapped as (
    update pointers set value = $4
    where realm = $1 and name = $2 and value = $3
    returning true
), stored as (
    insert into objects (realm, id, part, parts, type, version, value)
    select $1, r.*
    from unnest($5::bigint[], $6::integer[], $7::integer[], $8::text[], $9::bigint[], $10::bytea[])
        as r (id, part, parts, type, version, value)
    where exists (select from swapped)
    on conflict do nothing
)
select
    exists (select from swapped) as won,
    exists (select from pointers where realm = $1 and name = $2) as found;

-- name: confirm
-- Changes nothing; its acknowledgement stands for all that was committed before it.
update pointers set value = value where realm = $1 and name = $2;

-- name: fetch
select realm, id, part, parts, type, version, value from objects
where realm = $1 and id = any($2::bigint[]);

-- name: write
insert into objects (realm, id, part, parts, type, version, value)
select * from unnest(
    $1::text[], $2::bigint[], $3::integer[], $4::integer[], $5::text[], $6::bigint[], $7::bytea[]
)
on conflict do nothing;

-- name: delete
delete from objects where realm = $1 and id = any($2::bigint[]);

-- name: insert
insert into objects (realm, id, part, parts, type, version, value)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict do nothing
returning true;

-- name: update
update objects set parts = $4, type = $5, version = $6, value = $7
where realm = $1 and id = $2 and part = $3 and version = $8
returning true;

-- name: remove
delete from objects where realm = $1 and id = $2 and version = $3
returning true;

-- name: scan_pointers
select realm, name, value from pointers
where (realm, name) > ($1, $2)
order by realm, name
limit $3;

-- name: scan_pointers_of_realm
select realm, name, value from pointers
where realm = $1 and name > $2
order by name
limit $3;

-- name: scan_rows
-- By a prime first: most ids end with the same few bits, as few are made in one millisecond.
select realm, id, part, type, version from objects
where (realm, id, part) > ($1, $2, $3) and mod(mod(id, 4093), $4::bigint) = $5::bigint
order by realm, id, part
limit $6;

-- name: delete_pointers
delete from pointers as p
using unnest($1::text[], $2::text[]) as k (realm, name)
where p.realm = k.realm and p.name = k.name;

-- name: delete_pointers_of_realm
-- `found` tells whether there was any: another node may delete the same ones first.
with doomed as materialized (
    select name from pointers where realm = $1 order by name limit $2
), deleted as (
    delete from pointers as p using doomed as d
    where p.realm = $1 and p.name = d.name
    returning true
)
select
    (select count(*) from doomed) as found,
    (select count(*) from deleted) as deleted;

-- name: delete_rows_of_realm
with doomed as materialized (
    select id, part from objects where realm = $1 order by id, part limit $2
), deleted as (
    delete from objects as o using doomed as d
    where o.realm = $1 and o.id = d.id and o.part = d.part
    returning true
)
select
    (select count(*) from doomed) as found,
    (select count(*) from deleted) as deleted;

-- name: lock_schema
-- Processes that start together set up one after the other; the lock ends with the transaction.
select pg_advisory_xact_lock($1);

-- name: find_schema
-- Asked first because even `if not exists` needs the right to create.
select to_regnamespace($1) is not null as schema, to_regclass($2) is not null as steps;

-- name: create_steps
create table schema_steps (
    number integer primary key,
    what text not null,
    applied_at timestamptz not null default now()
);

-- name: count_steps
select coalesce(max(number), 0) as steps from schema_steps;

-- name: add_step
insert into schema_steps (number, what) values ($1, $2);

-- name: read_clock
-- `now()` would be the beginning of the transaction.
select (extract(epoch from clock_timestamp()) * 1000)::bigint as clock_ms;
