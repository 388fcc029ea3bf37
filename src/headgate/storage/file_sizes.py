"""How large a file may be that is read whole: one file must not take all memory."""

from headgate.errors import TooLarge
from headgate.limits import METADATA_FILE_BYTES_MAX


def check_size(location: str, size: int) -> None:
    """Refuse a file that is larger than any file of metadata."""
    if size > METADATA_FILE_BYTES_MAX:
        raise TooLarge(
            f"The file is too large: {location}",
            why=f"it has {size} bytes, and metadata at most {METADATA_FILE_BYTES_MAX}",
            fix="Name a metadata file; if it is one, expire snapshots of its table",
        )
