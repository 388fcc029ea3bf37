-- Rows lie in the order they were written, found through the index: measured faster than a table in
-- key order, whose pages the values would fill. `position` is named so that it outlives a VACUUM.
create table objects (
    position integer primary key,
    realm text not null,
    id integer not null,
    part integer not null,
    parts integer not null,
    type text not null,
    version integer not null,
    value blob not null,
    unique (realm, id, part)
) strict;

create table pointers (
    realm text not null,
    name text not null,
    value integer not null,
    primary key (realm, name)
) strict, without rowid;
