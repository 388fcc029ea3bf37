"""Every numeric bound but those of pipelines, its unit in its name.

`tests/unit/test_limits.py` checks the relations between them.
"""

# Rows
ROW_BYTES_MAX = 350_000
OBJECT_BYTES_MAX = 1 << 30
COMPRESS_ABOVE_BYTES = 16_384
TYPE_NAME_CHARS_MAX = 32
FETCH_IDS_MAX = 64  # per backend call, so that one large read never holds the loop for long

# Names
REALM_ID_CHARS_MAX = 128
REALM_NAME_BYTES_MAX = 512
POINTER_NAME_CHARS_MAX = 256
INDEX_NAME_CHARS_MAX = 64
NAME_BYTES_MAX = 512  # of one level of a namespace, a table, a view
NAMESPACE_LEVELS_MAX = 32
LOCATION_BYTES_MAX = 2_048  # of a table or view: object stores end at 1,024
FILE_LOCATION_BYTES_MAX = 4_096  # of a file that belongs to one; longer than any disk takes
DIRECTORY_CHARS_MAX = 400  # of all levels together: object stores end keys at 1,024 bytes
PATH_SEGMENT_CHARS_MAX = 150  # of one level in a path
SCHEMA_LEVELS_MAX = 100  # far more than any reader was tried with
PAGE_ENTRIES = 1_000  # of one answer, if a client does not say how many it wants
PAGE_ENTRIES_MAX = 10_000  # of one answer that is asked for in pages
OBJECTS_PER_REQUEST_MAX = 2_000  # of a role that one request creates or changes
OBJECTS_TOLD_MAX = 100  # of these, that one record of the change log names
BULK_USERS_MAX = 100  # added or removed by one request
JOBS = 100  # of one answer, if a client does not say how many it wants
JOBS_MAX = 1_000  # of one answer
METALAKES_AT_ONCE = 64  # that a list looks into together: six pointers of each

# Change log
CHANGES_MAX = 1_000  # of one answer
CHANGES = 100  # of one answer, if a client does not say how many it wants
CHANGES_COMMITS_MAX = 5_000  # that one answer is looked for in
CHANGES_POINTERS_AT_ONCE = 500  # that are read at once: others wait for it
CHANGES_MERGED_MAX = 64  # pointers whose changes come in the order of time
CHANGES_AHEAD_MIN = 1_000  # commits that are worth remembering on the way back to a position
CHANGES_AHEAD_MAX = 500_000  # of all pointers together: 8 bytes each
LOG_RETENTION_DAYS = 30
LOG_RETENTION_DAYS_MAX = 36_500
LOG_ROUND_SECONDS = 3_600.0  # between looks for commits that are too old
LOG_PAUSE_SECONDS = 0.005  # after each read of such a look: nobody waits for it
LOG_MARKS = 32  # places in the log of a pointer that are remembered, about
CHAIN_BREAKS_MAX = 100  # of one pointer, and of all together, that are told one by one
CHECKPOINT_SECONDS = 3_600
CHECKPOINT_SECONDS_MIN = 10
CHECKPOINT_SPREAD_SECONDS = 1.0  # so that processes which start together do not write together
CHECKPOINT_FILE_BYTES_MAX = 64 << 20  # that are compared at once: 300,000 positions
CURSOR_BYTES_MAX = 4 << 20  # far more than 10,000 catalogs take

# Sweeps
SWEEP_GRACE_SECONDS = 3 * 3_600
SWEEP_GRACE_SECONDS_MIN = 300
SWEEP_INTERVAL_SECONDS = 86_400
SWEEP_SECONDS_MAX = 366 * 86_400  # of any time that can be set
SWEEP_LOOK_SECONDS = 3_600.0  # between looks whether it is time
SWEEP_LEASE_SECONDS = 30.0  # that nobody else sweeps after a run was killed
SWEEP_PAGES_AT_ONCE = 32  # of an index, that are read and looked at while others wait
SWEEP_DELETES_AT_ONCE = 200
SWEEP_PAUSE_SECONDS = 0.002  # of a server after each step: those whom it serves go first
SWEEP_RUNS_KEPT = 100
SWEEP_FAILURES_KEPT = 10  # of one run
SWEEP_FAILURE_CHARS_MAX = 300

# Exports
PORTAGE_FILE_BYTES = 32 << 20  # of rows in one file, about: it is put together in memory
PORTAGE_GROUP_ROWS = 1_000  # of such a file, that are read at once
PORTAGE_PAGE_ROWS = 1_000  # that are read, sent and committed at once
PORTAGE_PAGE_BYTES = 1 << 20  # of these, about
PORTAGE_AHEAD_MS_MAX = 60_000  # that the newest id of an export may be ahead of the clock

# Audit
AUDIT_GATHER_SECONDS = 0.1  # what is decided within is written at once
AUDIT_WAITING_MAX = 100_000  # decisions that are not written yet
AUDIT_CLOSE_SECONDS = 3.0  # to write what is waiting
LOGIN_PERIOD_SECONDS = 60.0  # in which refused logins of one kind are recorded by their number
LOGIN_KINDS_MAX = 200  # that are told apart in it
LOGIN_KINDS_PER_ADDRESS_MAX = 20
LOGIN_NAME_CHARS_MAX = 128

# Index
PAGE_BYTES_MAX = 4_096
PAGE_MERGE_BELOW_BYTES = PAGE_BYTES_MAX // 4
PAGE_MERGED_BYTES_MAX = PAGE_BYTES_MAX * 3 // 4
PAGE_EDGE_FILL = 0.9
ROOTS_BYTES_MAX = 8_192
INDEX_KEY_BYTES_MAX = 4_096
INDEX_VALUE_BYTES_MAX = 16_384
SCAN_AHEAD_PAGES = 64

# Commits
TAIL_COMMITS = 20
CHANGES_INLINE_BYTES_MAX = 16_384
COMMIT_TIMEOUT_SECONDS = 15.0
BATCH_ATTEMPTS_MAX = 128
BATCH_BYTES_MAX = 1 << 20
OPERATION_BYTES_MAX = 128
OPERATION_RESULT_BYTES_MAX = 4_096
OPERATION_LIFETIME_MS = 30 * 60 * 1000
OPERATION_BUCKET_MS = 5 * 60 * 1000
OPERATIONS_EXPIRED_PER_COMMIT = 64
IDLE_LANES_MAX = 1_024
FAIRNESS_HEADS = 8
FAIRNESS_PAUSE_SECONDS_MIN = 0.001
FAIRNESS_PAUSE_SECONDS_MAX = 0.05
RESOLVE_PAUSE_SECONDS_MIN = 0.01
RESOLVE_PAUSE_SECONDS_MAX = 0.5
CONFIRMING_READS_MAX = 16
PURGE_ROWS_PER_CALL = 2_000

# Metadata files
MEMO_COMPRESSED_BYTES_MAX = 16_384  # compressed metadata up to this size is kept in the database
MEMO_BYTES_MAX = 1 << 20  # larger ones are not even tried
METADATA_FILE_BYTES_MAX = 256 << 20  # as it lies in its store, and decompressed
METADATA_UNPACKED_BYTES_MIN = 32 << 20  # that may come out of a small file
METADATA_EXPANSION_MAX = 100  # times its size, that may come out of a larger one
METADATA_PARTS_MAX = 16_000_000  # members and items, before objects are made of them
REGISTRATIONS_PER_PRINCIPAL_MAX = 4  # read and verified at once: each file may be that large
METADATA_INLINE_BYTES_MAX = 1 << 20  # work on more is done in another process, as it takes 5 ms
VERIFIED_INLINE_BYTES_MAX = 64 << 10  # the same of what is read to its last member
DEFINITIONS_INLINE_BYTES_MAX = 16 << 10  # the same of bodies, and of schemas: 300 columns
GZIP_INLINE_BYTES_MAX = 64 << 10  # more is compressed in a thread
METADATA_REMEMBERED_BYTES_MAX = 64 << 20  # encoded, by a worker; the last one stays in any case
WORKER_MEMORY_BYTES_MAX = 4 << 30  # of data of a worker process, its stacks included
WORKER_CPU_SECONDS_MAX = 120  # for one answer
WORKER_OPEN_FILES_MAX = 4_096
WORKER_HELD_BYTES_MAX = 1 << 29  # of freed memory that a worker keeps for its next job
SLOTS_WAITING_MAX = 128  # requests that wait for one kind of worker
SLOTS_WAITING_PER_PRINCIPAL_MAX = 64
SLOTS_SLOW_MAX = 1  # held at once by all tenants whose jobs lately were ended as too slow
SLOW_JOB_SECONDS = 10.0  # a job that is ended after more, and is not done, was too slow
SLOW_TENANT_SECONDS = 60.0  # that the tenant of such a job is served after all others
RESERVED_LOCATIONS_MAX = 32  # of one table or view, those that it had before among them
RESERVED_BYTES_MAX = 10 << 10  # in these: a purge job names all of them in one entry of an index
CREDENTIAL_SECONDS_MAX = 43_200  # of temporary keys for clients
STAGED_AFTER_KEYS_MS = 3_600_000  # that a staged table holds its location after its keys end
STAGED_WITHOUT_KEYS_MS = 4 * 3_600_000  # the same where the catalog hands out no keys
STAGED_PER_PRINCIPAL_MAX = 10_000  # staged tables of one catalog that wait for their commit
STAGED_EXPIRED_PER_COMMIT = 16  # that are cleared away by one that stages another
LEFT_ROUND_SECONDS = 3_600.0  # between looks for locations whose dropped tables left no files
LEFT_LOOKS_PER_ROUND = 100  # into storage; the next round continues
LEFT_ENTRIES_PER_ROUND = 20_000  # of indexes of locations that are read meanwhile
FOLDERS_ADDED_PER_COMMIT = 250  # namespaces of an older catalog whose folders are looked at at once
TABLE_COMMIT_TRIES_MAX = 32
TABLE_UPDATES_MAX = 10_000  # in one commit of one table; snapshots may be removed one by one
WAREHOUSE_LOOK_FILES_MAX = 10_000  # that a new store looks at: more are taken for no tables
WAREHOUSE_LOOK_SECONDS = 10.0
VIEW_UPDATES_MAX = 1_000  # the same of a view, which clients change with three
RECORDED_RELATIONS_MAX = 100  # tables of one call whose states are remembered for a repetition
PURGE_WAIT_SECONDS = 10.0  # that a new table waits for the files of a dropped one to go
PURGE_POLL_SECONDS = 0.05
HALF_MADE_MS_MAX = 60 * 1000  # that making a metalake may take before others undo it
DRAIN_NAMES_PER_COMMIT = 128  # of a dropped catalog that become purge jobs
DRAIN_JOBS_MAX = 4_096  # of one dropped catalog that are live: the others wait for these
PURGE_CPU_SECONDS_MAX = 900  # of a child, to tell of something new
PURGE_BATCH_FILES = 1_000  # deleted before progress is told: what S3 takes in one request
PURGE_READ_BESIDE_FILES_MIN = 20_000  # a table with more is read by another process meanwhile
PURGE_MANIFESTS_PER_REQUEST = 64  # that this process is asked for at once
PATHS_PER_TURN = 100  # looked at, or taken by one commit, before others have their turn
PURGE_LEFT_PATHS_MAX = 100  # that a job lists of the files it leaves for one reason
PURGE_LEFT_BYTES_MAX = 20_000  # in these
PURGE_STRAYS_AT_ONCE = 100_000  # metadata files of unfinished commits, deleted after one listing
PURGE_OUTSIDE_AT_ONCE = 20  # deleted and looked for before the lease is looked at again
REFERENCE_FOLDERS_MAX = 100  # that are told apart; of more, those that they lie in are known
REFERENCE_MANIFESTS_KNOWN_MAX = 100_000  # by one child: what each leads to never changes
ENQUIRIES_MAX = 16  # about files that other catalogs may need, under way in one process
ENQUIRIES_PER_PRINCIPAL_MAX = 4  # of these
ENQUIRY_SECONDS = 20.0  # after which whoever asked is told to ask again
REFERENCES_ASKED_MAX = 5_000  # files that other catalogs may need, in one question
REFERENCES_ASKED_BYTES_MAX = 1 << 20  # in their paths
REFERENCE_COMMITS_MAX = 1_000  # since the last look; after more all names are walked over
REFERENCE_TABLE_SECONDS_MAX = 120.0  # to read what one table refers to
REFERENCE_WAITING_SECONDS_MAX = 10.0  # the same while purges of other schemas wait for it
REFERENCE_TABLES_AT_ONCE = 16  # read by one request to a child, which reads some side by side
READING_SECONDS = 60.0  # in a period, that slow tables of a schema may keep purges waiting
READING_SECONDS_PER_TABLE = 0.25  # of each reading, which are not charged to schema or catalog
READING_BRIEF_SECONDS = 1.0  # to read a table of a catalog or metalake whose time is used up
REFERENCE_PERIOD_SECONDS = 3_600.0
OUTAGE_SECONDS_MAX = 300.0  # in a period, that purges are postponed because of one store
OUTAGE_PAUSE_SECONDS = 30.0  # between attempts of a purge that is postponed
REFERENCE_STORE_FAILURES_MAX = 5  # of one table; then its storage is not asked any more
REFERENCE_NOTED_CHARS_MAX = 256 << 20  # in paths that metadata and lists of one table name
REFERENCE_UNREAD_MAX = 20  # files that are gone or damaged, of one table
REFERENCE_GAPS_MAX = 100  # files that are gone, of one table: with more all of it is read again
REFERENCE_GAPS_TABLES_MAX = 1_000  # of which they are known
PURGE_WORKERS_MAX = 64  # jobs of one process at a time
PURGE_DELETE_THREADS_MAX = 256  # of one job
PURGE_POLL_MS_MIN = 50
PURGE_BATCH_MAX = 10_000
PURGE_LEASE_MS_MIN = 500  # with less, workers lose jobs that they work on
PURGE_ATTEMPTS_MAX = 1_000
PURGE_MS_MAX = 366 * 86_400 * 1_000  # of any time that purges wait
PURGE_RETENTION_HOURS_MAX = 10 * 366 * 24
LIST_CHUNK_ENTRIES = 500  # read at once; then others have their turn
REPORT_BYTES_MAX = 256 << 10
REPORTS_PER_TABLE_MAX = 100
REPORTS_WAITING_MAX = 10_000
REPORTS_WAITING_BYTES_MAX = 32 << 20
REPORTS_FLUSH_SECONDS = 1.0  # that reports wait to be stored together

# What is remembered
OPENINGS_KNOWN_MAX = 10_000  # catalogs under the names they were asked for
ACCESS_KNOWN_MAX = 10_000  # callers and roles, of all metalakes
POLLED_VECTORS_MAX = 1_000  # catalogs and metalakes in use, whose pointers are polled
POLLS_UNUSED_MAX = 12  # after which what nobody asked for is polled no more
POINTERS_MOVED_KNOWN_MAX = 10_000
REALMS_KNOWN_MAX = 1_000  # metalakes whose rights are at hand
ENTRIES_KNOWN_MAX = 10_000  # of one catalog
GRANTS_BROWSED_MAX = 1_000  # of a caller: what lies above their objects is shown in lists
RESOLVE_TRIES_MAX = 16  # of names that change while they are read
NAMES_LOOKED_AT_MAX = 2_000  # for the holder of a location: more would make a refusal dear
LOCATION_KNOWN_CHARS_MAX = 512  # longer ones are taken apart anew: they may have very many segments
LOCATIONS_KNOWN_MAX = 16_384  # in parts: the same are compared and opened again and again
PATHS_KNOWN_MAX = 10_000  # with their routes
PATH_KNOWN_CHARS_MAX = 500  # longer ones are split each time
WIRE_NAMES_KNOWN_MAX = 10_000  # namespaces as URLs have them
HEADERS_KNOWN_MAX = 256  # hosts and origins
CREDENTIALS_KNOWN_MAX = 10_000  # of half a life time
CACHE_BYTES = 256 << 20
CACHE_CHARGE_FACTOR = 3  # decoded pages take about three times their encoded size

# Ids and leases
NODES = 1 << 10
IDS_PER_MS = 1 << 12
LEASE_MS = 10 * 60 * 1000
LEASE_RENEW_MS = LEASE_MS // 3
LEASE_CHECK_SECONDS = 5.0
LEASE_BATCH = 16
CLOCK_BEHIND_MS_MAX = 60 * 1000

# Authentication
PASSWORD_CHARS_MIN = 8
PASSWORD_CHARS_MAX = 1_024
PASSWORDS_KNOWN_MAX = 10_000  # that were right
PASSWORDS_WRONG_KNOWN_MAX = 1_000
PASSWORDS_AT_ONCE_MAX = 2  # that are verified, each by a process of its own
PASSWORDS_PER_USER_AT_ONCE_MAX = 4  # different ones, from one address: more are guesses
PASSWORDS_PER_ADDRESS_MAX = 32  # that wait to be verified: one or two seconds
PASSWORDS_WAITING_MAX = 128  # the same of all addresses
PASSWORDS_RANKS_KNOWN_MAX = 20_000  # of logins that were refused and may come again
PASSWORDS_TRUSTED_MAX = 10_000  # names that lately logged in, with their addresses
CALLERS_KNOWN_MAX = 10_000  # that were confirmed under the same head
SECRETS_MAX = 2  # of one client: the old one lives until the new one is everywhere
SIGNING_KEYS_MAX = 8
KEYS_RELOAD_SECONDS = 1.0  # at least between looks for keys of ours that are not known
EXPIRED_PER_COMMIT = 64  # revocations of tokens that have expired anyway
TOKEN_CHARS_MAX = 16_384
TOKENS_KNOWN_MAX = 4_096  # whose signature was verified
TOKENS_AT_ONCE_MAX = 256  # others that are being verified: their keys may have to be fetched
TOKENS_PER_ADDRESS_MAX = 64
TOKENS_WAITED_FOR_MAX = 2_048  # requests that wait for these: many may bring the same token
TOKENS_WAITED_FOR_PER_ADDRESS_MAX = 512
TOKEN_GROUPS_MAX = 1_000
TOKEN_SECONDS = 3_600
TOKEN_SECONDS_MAX = 366 * 86_400
SESSION_SECONDS = 86_400  # that a token can be exchanged for newer ones
KEY_SET_BYTES_MAX = 256 << 10  # of an identity provider
KEY_SET_SECONDS = 300.0  # that it is believed, and what was verified with it
KEY_SET_STALE_SECONDS = 3_600.0  # the same if the provider does not answer
KEY_SET_AGAIN_SECONDS = 10.0  # at least between two fetches
KEY_SET_TIMEOUT_SECONDS = 5.0
CLOCK_SKEW_SECONDS = 30
CLOCK_SKEW_SECONDS_MAX = 300
RSA_BITS_MIN = 2_048

# Databases and stores
SQLITE_BUSY_SECONDS = 5.0
SQLITE_POINTERS_KNOWN_MAX = 1_000
POSTGRESQL_COMMAND_SECONDS = 10.0
POSTGRESQL_CONNECTIONS = 10  # besides the one that reads pointers
POSTGRESQL_CONNECTIONS_MAX = 1_000
TIMEOUT_SECONDS_MAX = 3_600.0  # of any timeout that can be set
STORES_MAX = 256  # each has its own connections
OBJECTS_DELETED_AT_ONCE = 1_000  # what S3 takes in one request
DELETES_IN_FLIGHT_MAX = 16
FOLDERS_KNOWN_MAX = 10_000  # of one table, while its files are deleted

# Planning
PLAN_INLINE_FILES_MAX = 2_000  # of a scan; one with more is answered with plan tasks
PLAN_INLINE_MANIFESTS_MAX = 32
PLAN_ANSWER_BYTES = 32 << 20  # of one answer, about; the smallest group is a manifest
PLAN_TASKS_BYTES_MAX = 8 << 20  # of all plan tasks of one answer
PLAN_RESIDUALS_BYTES_MAX = 512 << 20  # of one answer, before clients run out of memory
PLAN_TASK_SECONDS_MAX = 20.0  # for one group of manifests
PLAN_ID_CHARS_MAX = 2_000  # it becomes part of a path
PLAN_TOKEN_BYTES_MAX = 4 << 20  # when unpacked
FILTER_RECURSION_MAX = 20_000  # filters are trees, and clients write long ones lopsided
PLANNING_STORES_OPEN_MAX = 16  # in one worker process
PLANNING_READS_AHEAD = 4  # object stores take their time; what was read ahead waits in memory
MANIFEST_SCHEMAS_KNOWN_MAX = 64
MANIFEST_LISTS_KNOWN_MAX = 2
MANIFESTS_LISTED_MAX = 500_000  # of one snapshot
MANIFEST_LIST_PARTS_MAX = 1_000_000  # these, and summaries of partitions of each
AVRO_BYTES_MAX = 512 << 20  # that come out of one file
AVRO_UNPACKED_BYTES_MIN = 32 << 20  # that may come out of a small one
AVRO_EXPANSION_MAX = 100  # times its size, that may come out of a larger one
AVRO_ROWS_MAX = 2_000_000  # of one file
AVRO_ROW_BYTES_MAX = 4 << 20  # that is read whole: bounds of some ten thousand columns
AVRO_PATH_BYTES_MAX = 32 << 10  # no store has longer names, and some thousand are kept at once
AVRO_SCHEMA_BYTES_MAX = 1 << 20
AVRO_SCHEMA_DEPTH_MAX = 64
AVRO_SCHEMA_PARTS_MAX = 100_000  # steps over one row without its arrays
PARTITIONS_KNOWN_MAX = 4_096  # of one scan
FILE_WRITERS = 2  # threads: one waits for the disk while the other writes; more hinder each other
FILES_PER_TURN = 8  # that one of them writes before it answers
STORES_OPEN_MAX = 1_024  # sets of files, as catalogs see them
WALK_BATCH_PATHS = 1_000
WALK_AHEAD_BYTES_MAX = 32 << 20  # of manifests that were read and are waited for
WALK_SEEN_PATHS_MAX = 1_000_000  # remembered to leave out repetitions, which do no harm

# Requests
PORT = 8_181
PORT_MAX = 65_535
PROCESSES_MAX = 256  # of one server
PLANNING_PROCESSES = 2
PLANNING_PROCESSES_MAX = 64
CONNECTIONS_MAX = 65_536  # of one process; how many requests are served is another matter
BACKLOG_CONNECTIONS = 1_024
IDLE_SECONDS = 120  # that a connection is kept; longer than balancers and clients keep theirs
HEADER_SECONDS = 10  # for a request to arrive, without its body
CONNECTION_LOOK_SECONDS = 2.0  # between looks at connections
CONNECTION_LOOKS_MAX = 5  # at which a connection may owe a request
CONNECTION_STALLS_MAX = 30  # looks, one after the other, at which it reads too little of its answer
CONNECTION_READ_BYTES_MIN = 4_096  # that it reads between two looks, if so much waits for it
REQUESTS_MAX = 512  # under way in one process
REQUEST_SECONDS_MIN = 0.1
REQUEST_SECONDS_MAX = 60.0
BODY_SECONDS_MAX = 10.0  # for a body to arrive
BODY_CREDIT_BYTES = 64 << 10  # that a body is ahead of its lowest pace when it begins
BODY_PACE_BYTES_MIN = 16 << 10  # a second: what brings nothing is given up after four
BODY_LOOK_SECONDS = 1.0  # between looks for bodies that are too slow
BODIES_AT_ONCE_MAX = 256  # that are read, of authenticated callers; then the slowest is ended
BODIES_PER_ADDRESS_MAX = 64
OPEN_BODIES_AT_ONCE_MAX = 128  # the same of requests whose caller is not authenticated
OPEN_BODIES_PER_ADDRESS_MAX = 32
ADDRESSES_KNOWN_MAX = 4_096  # of clients, with the networks that they belong to
FORM_BYTES_MAX = 64 << 10  # of a request for a token, or to revoke one
BODY_BYTES_MIN = 1_024  # a server that takes less is of no use
BODY_BYTES_MAX = 4 << 20  # of a request that carries metadata: all of it lies in memory
SHORT_BODY_BYTES_MAX = 1 << 20  # of all others
QUERY_PARAMETERS_MAX = 100
READY_ANSWER_BYTES_MAX = 1 << 20  # larger ones are not put together by the event loop, nor kept
COMPRESS_ANSWERS_ABOVE_BYTES = 1_024  # below, the headers weigh more
COMPRESS_IN_THREAD_ABOVE_BYTES = 65_536  # about a millisecond; both libraries release the GIL
COMPRESSED_ANSWERS_BYTES = 64 << 20
COMPRESSED_ENTRY_BYTES = 300  # that a kept body takes besides itself
SENT_AT_ONCE_BYTES = 256 << 10  # of an answer: it is copied while everybody waits
STANDING_ANSWERS_BYTES = 64 << 20
STANDING_ENTRY_BYTES = 2_000  # about, that one takes besides its request and its body
STANDING_BYTES_MAX = 1 << 20  # of one answer and its request
STANDING_SECONDS = 10.0  # then it is worked out again, however firm its ground is
PURGE_MEASURES_SECONDS = 5.0  # between looks at all purge jobs, for those who ask for numbers
READY_SECONDS = 2.0  # for a probe's look at the database
FINISH_SECONDS = 3.0  # for requests under way when the server stops
GIVE_UP_SECONDS = 1.0  # for their answers, when they were ended
CLOSE_SECONDS = 2.0  # for closing the application; then a process ends itself, whatever it does
STOP_SECONDS = 9.0  # then a process that has not ended is killed

# Spark
SPARK_DRIVER_END_SECONDS = 6.0  # the same of a process that drives it, and ends it before
