"""What is stored of users and groups that Headgate itself keeps, and of keys that sign tokens.

No secret is stored as it is: passwords and secrets are hashed, keys are sealed.
"""

from headgate.kernel.objects import ObjectType, Stored


class IdentityEntity(Stored, frozen=True):
    """A user, in all metalakes: how it proves who it is."""

    generation: int
    """Another number makes all tokens of the user worthless. Never given twice."""
    enabled: bool = True
    password: str = ""
    """The Argon2 hash; empty if the user has none."""
    password_id: int = 0
    secrets: tuple[tuple[int, bytes, int], ...] = ()
    """Of the user as an OAuth2 client, newest first: id, hash, when it was made."""
    created_ms: int = 0
    created_by: str = ""

    def __repr__(self) -> str:
        return f"IdentityEntity(enabled={self.enabled}, ***)"


class IdentityGroupEntity(Stored, frozen=True):
    """A group of kept users, in all metalakes."""

    comment: str = ""
    created_ms: int = 0
    created_by: str = ""


class SigningKeyEntity(Stored, frozen=True):
    """A key that signs tokens, sealed by the master key."""

    sealed: bytes
    created_ms: int = 0

    def __repr__(self) -> str:
        return f"SigningKeyEntity(***, created_ms={self.created_ms})"


IDENTITY_TYPES = (
    ObjectType("identity", IdentityEntity),
    ObjectType("identity-group", IdentityGroupEntity),
    ObjectType("signing-key", SigningKeyEntity),
)
