"""The one error tree. Every message says what happened, why, and what to do.

HeadgateError
├── InvalidInput            the caller's value can never work
│   ├── BadName             a realm, pointer, type or index name breaks its rule
│   ├── TooLarge            a value is over its limit
│   ├── BadSetting          a setting is unknown or its value is unusable
│   ├── BadRequest          a request's body, parameter or header cannot be understood
│   ├── BadMetadata         metadata of a table or a view breaks a rule of its format
│   │   └── DuplicateDialect    a view has two texts in one dialect of SQL
│   ├── IllegalPrivilege    a right that cannot be given, or not on this kind of object
│   ├── IllegalObject       what a right is given on does not exist or cannot have rights
│   ├── IllegalRole         a role that is to be given does not exist
│   ├── Unprocessable       a request contradicts itself, or an earlier one of the same key
│   └── Unsupported         what is asked for is not offered here
├── NotAuthenticated        nobody knows who is asking
├── Forbidden               who asks may not
├── NotFound
│   ├── StoreNotFound       there is no store yet where one was looked for
│   ├── RealmNotFound, PointerNotFound, ObjectNotFound
│   ├── MetalakeNotFound, CatalogNotFound, NamespaceNotFound
│   ├── TableNotFound, ViewNotFound, FunctionNotFound, MetadataObjectNotFound
│   ├── UserNotFound, GroupNotFound, RoleNotFound
│   ├── PlanNotFound, PlanTaskNotFound
│   ├── JobNotFound         no purge of this id is under way or was lately
│   └── FileMissing         a file that metadata refers to is not in its store
├── AlreadyExists
│   ├── RealmExists, MetalakeExists, CatalogExists, NamespaceExists, TableExists, ViewExists
│   └── UserExists, GroupExists, RoleExists
├── Conflict                the request does not fit the present state
│   ├── IllegalRealmMove, RealmNotActive, PointerSealed
│   ├── NamespaceNotEmpty, CatalogNotEmpty, MetalakeNotEmpty
│   ├── MetalakeNotInUse, CatalogNotInUse   it is switched off
│   ├── MetalakeInUse, CatalogInUse         it has to be switched off first
│   ├── LocationTaken       another table lies there, or above, or below
│   └── RequirementFailed   a table or view is not as the commit requires it
├── LogCut                  the wanted position lies before the oldest kept commit
├── Corrupt                 what is stored is not what was written
│   └── CorruptRow, WrongType
├── NewerFormat             the store was written by a newer Headgate
├── Unavailable             certainly not applied; the same call may work later
│   ├── BackendUnavailable, DatabaseFull, CommitTimedOut, NoNodeId, ClockRefused
│   ├── DatabaseGone        its files were taken away or replaced
│   ├── StoreRestored       it went back to an earlier state under this process
│   ├── StorageUnavailable  an object store does not answer, or refuses us
│   │   ├── StorageAwaited  the same for a short time, so a purge waits for it
│   │   └── StorageRefused  it answers, and refuses this one file or request
│   ├── Overloaded          too many requests at once
│   ├── LeaseLost           another worker may have taken the job
│   ├── WorkerEnded         a worker process ended before it answered
│   ├── RequestTimedOut     the body of a request did not arrive in time
│   └── Closed
├── PurgeUnfinished         a table is dropped, and its purge did not succeed at once
└── OutcomeUnknown          applied or not: only reading can tell
"""

from headgate.masking import mask_userinfo


class HeadgateError(Exception):
    """Headgate could not do what was asked."""

    def __init__(self, what: str, *, why: str = "", fix: str = "") -> None:
        self.what = mask_userinfo(what)
        self.why = mask_userinfo(why)
        self.fix = mask_userinfo(fix)
        super().__init__(self.what)

    def __str__(self) -> str:
        because = f": {self.why}" if self.why else ""
        todo = f". {self.fix}" if self.fix else ""
        return f"{self.what}{because}{todo}"


class InvalidInput(HeadgateError):
    """The caller's value can never work."""


class BadName(InvalidInput):
    """A realm, pointer, type or index name breaks its rule."""


class TooLarge(InvalidInput):
    """A value is over its limit."""


class BadSetting(InvalidInput):
    """A setting is unknown or its value is unusable."""


class BadRequest(InvalidInput):
    """A request's body, parameter or header cannot be understood."""


class BadMetadata(InvalidInput):
    """Metadata of a table or a view breaks a rule of its format."""


class DuplicateDialect(BadMetadata):
    """A view has two texts in one dialect of SQL."""


class IllegalPrivilege(InvalidInput):
    """A right that cannot be given, or not on this kind of object."""


class IllegalObject(InvalidInput):
    """What a right is to be given on does not exist, or cannot have rights."""


class IllegalRole(InvalidInput):
    """A role that is to be given does not exist."""


class Unprocessable(InvalidInput):
    """A request contradicts itself, or an earlier one of the same key."""


class Unsupported(InvalidInput):
    """What is asked for is not offered here."""


class NotAuthenticated(HeadgateError):
    """Nobody knows who is asking."""

    reason = "credentials"
    """For the audit only: a response never tells it."""


class Forbidden(HeadgateError):
    """Who asks may not do this."""


class NotFound(HeadgateError):
    """What was named does not exist."""


class StoreNotFound(NotFound):
    """There is no store where one was looked for."""


class RealmNotFound(NotFound):
    """There is no such realm."""


class PointerNotFound(NotFound):
    """There is no such pointer; it was never created, or its realm was purged."""


class ObjectNotFound(NotFound):
    """There is no object with this id."""


class MetalakeNotFound(NotFound):
    """There is no such metalake."""


class CatalogNotFound(NotFound):
    """There is no such catalog."""


class NamespaceNotFound(NotFound):
    """There is no such namespace."""


class TableNotFound(NotFound):
    """There is no such table."""


class ViewNotFound(NotFound):
    """There is no such view."""


class FunctionNotFound(NotFound):
    """There is no such function."""


class UserNotFound(NotFound):
    """There is no such user."""


class GroupNotFound(NotFound):
    """There is no such group."""


class RoleNotFound(NotFound):
    """There is no such role."""


class MetadataObjectNotFound(NotFound):
    """There is no such object."""


class PlanNotFound(NotFound):
    """There is no such scan plan."""


class PlanTaskNotFound(NotFound):
    """There is no such task of a scan plan."""


class JobNotFound(NotFound):
    """There is no such purge job, or it ended long ago."""


class FileMissing(NotFound):
    """A file that metadata refers to is not in its store."""


class AlreadyExists(HeadgateError):
    """What was to be created is already there."""


class RealmExists(AlreadyExists):
    """A realm of this name already exists."""


class MetalakeExists(AlreadyExists):
    """A metalake of this name already exists."""


class UserExists(AlreadyExists):
    """A user of this name already exists."""


class GroupExists(AlreadyExists):
    """A group of this name already exists."""


class RoleExists(AlreadyExists):
    """A role of this name already exists."""


class CatalogExists(AlreadyExists):
    """A catalog of this name already exists."""


class NamespaceExists(AlreadyExists):
    """A namespace of this name already exists."""


class TableExists(AlreadyExists):
    """A table of this name already exists."""


class ViewExists(AlreadyExists):
    """A view of this name already exists."""


class Conflict(HeadgateError):
    """The request does not fit the present state."""


class IllegalRealmMove(Conflict):
    """The realm's state does not allow this move."""


class RealmNotActive(Conflict):
    """Only ACTIVE realms serve requests."""


class PointerSealed(Conflict):
    """The pointer was sealed and takes no more commits."""


class NamespaceNotEmpty(Conflict):
    """The namespace still holds something."""


class CatalogNotEmpty(Conflict):
    """The catalog still holds something."""


class MetalakeNotEmpty(Conflict):
    """The metalake still holds something."""


class MetalakeNotInUse(Conflict):
    """The metalake is switched off."""


class CatalogNotInUse(Conflict):
    """The catalog is switched off."""


class MetalakeInUse(Conflict):
    """The metalake has to be switched off first."""


class CatalogInUse(Conflict):
    """The catalog has to be switched off first."""


class LocationTaken(Conflict):
    """Another table lies at this location, or above it, or below it."""

    def __init__(self, what: str, *, why: str = "", fix: str = "", holder: int = 0) -> None:
        super().__init__(what, why=why, fix=fix)
        self.holder = holder
        """The id of who has it."""
        self.passing = False  # True if that one was dropped, and only its files are still there


class RequirementFailed(Conflict):
    """A table or view is not as the commit requires it to be."""


class LogCut(HeadgateError):
    """The wanted position lies before the oldest commit that was kept."""


class Corrupt(HeadgateError):
    """What is stored is not what was written."""


class CorruptRow(Corrupt):
    """A stored row fails its checksum or cannot be decoded."""


class WrongType(Corrupt):
    """The id belongs to an object of another type."""


class NewerFormat(HeadgateError):
    """The store was written by a newer Headgate."""


class Unavailable(HeadgateError):
    """Certainly not applied; the same call may work later."""


class BackendUnavailable(Unavailable):
    """The database does not answer."""


class DatabaseFull(Unavailable):
    """The database has no room left; trying again at once does not help."""


class DatabaseGone(Unavailable):
    """The files of the database were taken away or replaced; trying again does not help."""


class StoreRestored(Unavailable):
    """The store went back to an earlier state under this process; trying again does not help."""


class CommitTimedOut(Unavailable):
    """The commit waited too long and was not made."""


class NoNodeId(Unavailable):
    """This process holds no valid node id, so it may not make ids."""


class ClockRefused(Unavailable):
    """This machine's clock is too far off."""


class StorageUnavailable(Unavailable):
    """An object store does not answer, or refuses us."""


class StorageAwaited(StorageUnavailable):
    """A store has not answered for a short time: a purge waits until it does."""


class StorageRefused(StorageUnavailable):
    """An object store answers, and refuses one file or request."""


class Overloaded(Unavailable):
    """Too many requests are under way."""


class LeaseLost(Unavailable):
    """A lease was not renewed in time, so another worker may have taken the job."""


class RequestTimedOut(Unavailable):
    """The body of a request did not arrive in time."""


class WorkerEnded(Unavailable):
    """A worker process ended before it answered, or was ended because it did not."""


class Closed(Unavailable):
    """This part of Headgate is shutting down."""


class PurgeUnfinished(HeadgateError):
    """The table is dropped, and the job to purge it goes on; the same call would find no table."""


class OutcomeUnknown(HeadgateError):
    """The write was sent and its answer was lost: it may or may not have been applied."""
