-- Half of each page stays free, so that swapping a pointer rewrites no index entry.
create table pointers (
    realm text collate "C" not null,
    name text collate "C" not null,
    value bigint not null,
    primary key (realm, name)
) with (fillfactor = 50);

create table objects (
    realm text collate "C" not null,
    id bigint not null,
    part integer not null,
    parts integer not null,
    type text collate "C" not null,
    version bigint not null,
    value bytea not null,
    primary key (realm, id, part)
);

-- Values are compressed already where it pays.
alter table objects alter column value set storage external;
