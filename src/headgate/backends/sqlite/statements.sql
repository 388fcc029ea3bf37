-- All statements of the SQLite backend. Parameters are bound in the order they stand.

-- name: read_pointer
-- Used once per key, as a scalar sub-select: `(realm, name) in (values …)` would scan the table.
select value from pointers where realm = ? and name = ?;

-- name: create_pointer
insert into pointers (realm, name, value) values (?, ?, ?) on conflict do nothing;

-- name: swap_pointer
update pointers set value = ? where realm = ? and name = ? and value = ?;

-- name: delete_pointer
delete from pointers where realm = ? and name = ?;

-- name: delete_pointers_of_realm
delete from pointers
where realm = ?1 and name in (select name from pointers where realm = ?1 limit ?2);

-- name: scan_pointers
select realm, name, value from pointers
where (realm, name) >= (?, ?)
order by realm, name limit ?;

-- name: scan_pointers_of_realm
select realm, name, value from pointers
where realm = ? and name >= ?
order by name limit ?;

-- name: fetch
-- The `(?)` is widened to the number of ids.
select realm, id, part, parts, type, version, value from objects
where realm = ? and id in (?);

-- name: write
insert into objects (realm, id, part, parts, type, version, value)
values (?, ?, ?, ?, ?, ?, ?) on conflict do nothing;

-- name: update
update objects set parts = ?, type = ?, version = ?, value = ?
where realm = ? and id = ? and part = ? and version = ?;

-- name: remove
delete from objects where realm = ? and id = ? and part = 0 and version = ?;

-- name: delete
delete from objects where realm = ? and id = ?;

-- name: delete_of_realm
delete from objects where position in (select position from objects where realm = ? limit ?);

-- name: scan_rows
select position, realm, id, part, type, version from objects
where position >= ? and position < ?
order by position limit ?;

-- name: next_position
select min(position) from objects where position >= ?;
