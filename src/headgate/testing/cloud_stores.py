"""Stand-ins for Google Cloud Storage (fake-gcs-server, built with Go) and Azure (Azurite, npm)."""

import base64
import hmac
import http.client
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import quote, unquote, urlencode, urlsplit

from headgate.storage.options import AzureOptions, GcsOptions, StorageOptions
from headgate.testing.store_process import StoreProcess, go_program, npm_program, send

FAKE_GCS = "github.com/fsouza/fake-gcs-server@v1.56.1"
AZURITE = "azurite@3.37.0"
JSON = {"content-type": "application/json"}
OF_ONE_HOP = {"connection", "content-length", "date", "transfer-encoding"}
PASSED_ON = ("authorization", "content-type", "range", "if-match", "if-none-match")


class FakeGcsServer(StoreProcess):
    """Google's storage in memory. It does not look at tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._front = UploadFront(self.url)

    def __enter__(self) -> Self:
        super().__enter__()
        self._front.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._front.stop()
        super().__exit__(kind, error, traceback)

    def command(self) -> list[str]:
        address = f"127.0.0.1:{self.port}"
        return [
            *(str(go_program(FAKE_GCS)), "-scheme", "http", "-backend", "memory"),
            *("-host", "127.0.0.1", "-port", str(self.port)),
            *("-public-host", address, "-external-url", self.url),
        ]

    def answers(self) -> bool:
        return send("GET", f"{self.url}/storage/v1/b?project=p", {})[0] == http.client.OK

    def create_bucket(self, name: str) -> str:
        """The location of a new, empty bucket."""
        body = json.dumps({"name": name}).encode()
        status, answer = send("POST", f"{self.url}/storage/v1/b?project=p", JSON, body)
        if status != http.client.OK:
            raise RuntimeError(f"bucket {name} was not created: {status} {answer!r}")
        return f"gs://{name}"

    def options(self) -> StorageOptions:
        """How to reach it."""
        gcs = GcsOptions(
            base_url=self._front.url,
            allow_http=True,
            token="any",  # noqa: S106  the double asks for none
        )
        return StorageOptions(gcs=gcs, allowed_endpoints=(self._front.url,))


class UploadFront:
    """Turns an upload of the XML kind, which the stand-in does not know, into the other kind."""

    def __init__(self, behind: str) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _front_of(behind))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def _front_of(behind: str) -> type[BaseHTTPRequestHandler]:
    class Front(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            method, target = self.command, self.path
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name: value for name in PASSED_ON if (value := self.headers.get(name))}
            if method == "PUT" and "?" not in target:
                method, target = "POST", self._upload(target)
            connection = http.client.HTTPConnection(urlsplit(behind).netloc, timeout=30)
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            content = answer.read()
            self._answer(answer, content)
            connection.close()

        def _upload(self, target: str) -> str:
            bucket, _, name = target[1:].partition("/")
            query = {"uploadType": "media", "name": unquote(name)}
            if generation := self.headers.get("x-goog-if-generation-match"):
                query["ifGenerationMatch"] = generation
            return f"/upload/storage/v1/b/{bucket}/o?{urlencode(query, quote_via=quote)}"

        def _answer(self, answer: http.client.HTTPResponse, content: bytes) -> None:
            headers = dict(answer.getheaders())
            if self.command == "PUT" and answer.status == http.client.OK:
                made = json.loads(content)
                headers |= {"etag": made["etag"], "x-goog-generation": str(made["generation"])}
            self.send_response(answer.status)
            for name, value in headers.items():
                if name.lower() not in {
                    "connection",
                    "date",
                    "transfer-encoding",
                    "content-length",
                }:
                    self.send_header(name, value)
            length = headers.get("Content-Length", "0") if self.command == "HEAD" else len(content)
            self.send_header("content-length", str(length))
            self.end_headers()
            self.wfile.write(content)

        do_DELETE = do_GET = do_HEAD = do_POST = do_PUT = _pass_on  # noqa: N815  http.server's names

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    return Front


class AzuriteServer(StoreProcess):
    """Azure's storage; it checks signatures."""

    account = "headgate"
    key = base64.b64encode(b"headgate-test-key").decode()

    def command(self) -> list[str]:
        return [
            *(str(npm_program(AZURITE, "azurite-blob")), "--silent", "--location", "."),
            *("--blobHost", "127.0.0.1", "--blobPort", str(self.port)),
            *("--skipApiVersionCheck", "--disableTelemetry"),
        ]

    def environment(self) -> dict[str, str]:
        return {"AZURITE_ACCOUNTS": f"{self.account}:{self.key}"}

    def answers(self) -> bool:
        return send("GET", self._address("?comp=list"), {})[0] == http.client.OK

    def create_bucket(self, name: str) -> str:
        """The location of a new, empty container."""
        status, answer = send("PUT", self._address(f"/{name}?restype=container"), {})
        if status != http.client.CREATED:
            raise RuntimeError(f"container {name} was not created: {status} {answer!r}")
        return f"abfss://{name}@{self.account}.dfs.core.windows.net"

    def options(self, *, by_key: bool = True) -> StorageOptions:
        """How to reach it, with the account's key or with a token."""
        azure = AzureOptions(
            account_name=self.account,
            account_key=self.key if by_key else "",
            sas_token="" if by_key else self.token(),
            endpoint=f"{self.url}/{self.account}",
            allow_http=True,
        )
        return StorageOptions(azure=azure, allowed_endpoints=(self.url,))

    def token(self) -> str:
        """A SAS token for the whole account."""
        parts = {
            "sp": "rwdlac",
            "ss": "b",
            "srt": "sco",
            "st": "",
            "se": "2100-01-01T00:00:00Z",
            "sip": "",
            "spr": "https,http",
            "sv": "2021-08-06",
            "ses": "",
        }
        text = "\n".join([self.account, *parts.values(), ""])
        signature = hmac.digest(base64.b64decode(self.key), text.encode(), "sha256")
        given = {name: value for name, value in parts.items() if value}
        return urlencode(given | {"sig": base64.b64encode(signature).decode()})

    def _address(self, rest: str) -> str:
        return f"{self.url}/{self.account}{rest}&{self.token()}"
