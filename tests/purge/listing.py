"""What lies in a storage, as the storage itself says: nothing of Headgate's is asked."""

import os
import re
from pathlib import Path
from urllib.parse import unquote

from headgate.testing.object_stores import S3Server, send


def local_path(location: str) -> Path:
    """Where a file of a local table lies; locations are taken literally."""
    return Path(location.removeprefix("file://"))


def lying_below(folder: Path) -> set[Path]:
    """Every file and every folder below this one, hidden ones too, and itself if it is there."""
    found = {folder} if folder.exists() else set()
    for place, folders, files in os.walk(folder):
        found |= {Path(place, name) for name in (*folders, *files)}
    return found


def files_below(folder: Path) -> set[Path]:
    """Every file below a folder."""
    return {path for path in lying_below(folder) if path.is_file()}


def obstruct(file: Path) -> Path:
    """Put a folder that is not empty in a file's place: nobody, not even root, can unlink that."""
    file.unlink(missing_ok=True)
    file.mkdir()
    (file / "obstacle").touch()
    return file


def keys_in(server: S3Server, bucket: str) -> set[str]:
    """Every key of a bucket, page by page."""
    keys: set[str] = set()
    last = ""
    while True:
        url = f"{server.url}/{bucket}?list-type=2&encoding-type=url&start-after={last}"
        status, answer = send(server.keys, "GET", url)
        assert status == 200, answer
        page = re.findall("<Key>(.*?)</Key>", answer.decode())
        keys |= {unquote(key) for key in page}
        if not page:
            return keys
        last = page[-1]
