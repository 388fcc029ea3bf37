"""Credentials for clients: only for the location asked for, and only as the options say.

Who may ask is decided by the caller, before: nothing is made here that may not be handed out.
"""

import asyncio
import hashlib
from collections.abc import Mapping

from headgate.catalog.ports import StorageCredential
from headgate.clock import Clock, present_ms
from headgate.limits import CREDENTIAL_SECONDS_MAX, CREDENTIALS_KNOWN_MAX
from headgate.storage import endpoints
from headgate.storage.options import AzureOptions, GcsOptions, S3Options, StorageOptions
from headgate.storage.places import Place, parse
from headgate.storage.s3_keys import present_keys
from headgate.storage.session_policy import session_policy
from headgate.storage.sigv4 import Keys
from headgate.storage.sts import TemporaryKeys, assume_role, sts_endpoint


class StorageVending:
    """Temporary keys are shared by all who ask for the same within half of the keys' life.

    Time is cut into pieces of half a life, the same on all nodes. Keys made in one piece serve
    until its end, so whoever gets them, even by way of a 304, has half of their life left.
    """

    def __init__(
        self,
        options: StorageOptions,
        clock: Clock,
        *,
        resolve: endpoints.Resolve = endpoints.resolve,
    ) -> None:
        self._options = options
        self._clock = clock
        self._resolve = resolve
        self._piece = 0
        self._made: dict[tuple[str, bool], asyncio.Task[TemporaryKeys]] = {}

    async def credentials(self, location: str, *, write: bool) -> list[StorageCredential]:
        """Empty if there is nothing to hand out, as for local files."""
        place = parse(location)
        config: Mapping[str, str] = {}
        if place.kind == "s3" and self._options.s3:
            config = await self._s3(self._options.s3, place, write=write)
        elif place.kind == "gcs" and self._options.gcs:
            config = _gcs(self._options.gcs)
        elif place.kind == "azure" and self._options.azure:
            config = _azure(self._options.azure, place)
        prefix = place.location(place.path)
        return [StorageCredential(prefix, dict(config))] if config else []

    def config(self, location: str) -> dict[str, str]:
        """What a client has to know besides; no secrets."""
        place = parse(location)
        if place.kind == "s3" and self._options.s3:
            return _s3_settings(self._options.s3)
        if place.kind == "gcs" and self._options.gcs and self._options.gcs.base_url:
            return {"gcs.service.host": self._options.gcs.base_url}
        return {}

    def generation(self, location: str) -> str:
        """Differs whenever what `credentials` answers may differ; a part of ETags."""
        kind = parse(location).kind
        options = self._options
        secret: dict[str, str] = {}
        if kind == "s3" and options.s3:
            if options.s3.delegation == "sts":
                return str(self._current_piece(options.s3))
            secret = self._s3_static(options.s3) if options.s3.delegation == "static" else {}
        elif kind == "gcs" and options.gcs:
            secret = _gcs(options.gcs)
        elif kind == "azure" and options.azure and options.azure.delegation == "static":
            secret = {"sas-token": options.azure.sas_token}
        return _digest(secret)

    def seconds(self, location: str) -> int:
        """The longest life of what `credentials` answers; 0 if that is always empty.

        Configured keys end when an operator changes them: they count as the longest temporary ones.
        """
        kind, options = parse(location).kind, self._options
        stores = {"s3": options.s3, "gcs": options.gcs, "azure": options.azure}
        store = stores.get(kind)
        if store is None or store.delegation == "none":
            return 0
        if isinstance(store, S3Options) and store.delegation == "sts":
            return store.duration_seconds
        return CREDENTIAL_SECONDS_MAX

    async def _s3(self, options: S3Options, place: Place, *, write: bool) -> dict[str, str]:
        if options.delegation == "static":
            return self._s3_static(options)
        if options.delegation == "none":
            return {}
        made = await self._temporary(options, place, write=write)
        return {
            "s3.access-key-id": made.keys.access_key_id,
            "s3.secret-access-key": made.keys.secret_access_key,
            "s3.session-token": made.keys.session_token,
            "s3.session-token-expires-at-ms": str(made.expires_at_ms),
            "client.region": options.region,
        }

    async def _temporary(self, options: S3Options, place: Place, *, write: bool) -> TemporaryKeys:
        """One request for all who wait for the same; a failed one is forgotten."""
        piece = self._current_piece(options)
        if piece != self._piece or len(self._made) >= CREDENTIALS_KNOWN_MAX:
            self._piece = piece
            self._made.clear()
        key = (f"{place.bucket}/{place.path}", write)
        task = self._made.get(key)
        if task is None:
            policy = session_policy(place, write=write, region=options.region)
            task = asyncio.ensure_future(self._make(options, policy))
            task.add_done_callback(_heard)
            self._made[key] = task
        try:
            return await asyncio.shield(task)
        except Exception:
            if self._made.get(key) is task:
                del self._made[key]
            raise

    async def _make(self, options: S3Options, policy: str) -> TemporaryKeys:
        await endpoints.check(
            sts_endpoint(options),
            self._options.allowed_endpoints,
            allow_http=options.allow_http,
            resolve=self._resolve,
        )
        present = present_keys(options, self._clock)
        keys = present.keys if present else Keys("", "")
        return await assume_role(options, keys, policy, present_ms(self._clock))

    def _s3_static(self, options: S3Options) -> dict[str, str]:
        present = present_keys(options, self._clock)
        if present is None:
            return {}
        keys, ends = present
        token = {"s3.session-token": keys.session_token} if keys.session_token else {}
        if ends is not None:
            token["s3.session-token-expires-at-ms"] = str(ends)
        return {
            "s3.access-key-id": keys.access_key_id,
            "s3.secret-access-key": keys.secret_access_key,
            **token,
            "client.region": options.region,
        }

    def _current_piece(self, options: S3Options) -> int:
        return present_ms(self._clock) // (options.duration_seconds * 500)


def _heard(task: asyncio.Task[TemporaryKeys]) -> None:
    """All who waited may have gone away; that is no reason to complain."""
    if not task.cancelled():
        task.exception()


def _s3_settings(options: S3Options) -> dict[str, str]:
    settings = {"client.region": options.region}
    if options.endpoint:
        settings["s3.endpoint"] = options.endpoint
        settings["s3.path-style-access"] = "true" if options.path_style else "false"
    if not options.path_style:
        settings["s3.force-virtual-addressing"] = "true"  # what pyiceberg calls it
    return settings


def _gcs(options: GcsOptions) -> dict[str, str]:
    if options.delegation != "static" or not options.token:
        return {}
    return {"gcs.oauth2.token": options.token}


def _azure(options: AzureOptions, place: Place) -> dict[str, str]:
    """Clients look for the token under the account's name, or under its host."""
    if options.delegation != "static" or not options.sas_token:
        return {}
    if place.account != options.account_name:
        return {}
    host = place.root.partition("@")[2].rstrip("/")
    token = options.sas_token.removeprefix("?")
    return {f"adls.sas-token.{name}": token for name in (place.account, host)}


def _digest(secret: Mapping[str, str]) -> str:
    """Static credentials change when somebody changes them."""
    if not secret:
        return ""
    text = "\n".join(f"{name}={value}" for name, value in sorted(secret.items()))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
