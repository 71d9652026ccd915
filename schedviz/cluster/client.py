"""The way to an API server: the official client reads the kubeconfig, the requests are raw.

Made by whoever runs a session; used by `reflector` and `effects` inside one event loop. Configuration, certificates and
tokens are the official client's business (its refresh hooks are asked for every request); bodies go through orjson,
since its models cost fifteen times as much per watch event.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import aiohttp
import orjson
import yaml
from kubernetes.aio import client as official
from kubernetes.aio import config as official_config

USER_AGENT = "schedviz"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0


class ClusterError(Exception):
    """The API server said no, or can't be reached. status: HTTP, 0 when no answer came. Never holds a token."""

    def __init__(self, message: str, *, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class ClusterClient:
    """One API server as one user. Enter it before use (`async with`)."""

    def __init__(self, path: str, context: str = "") -> None:
        self._path, self._context = path, context
        self._api: Any = None
        self._session: aiohttp.ClientSession | None = None

    @classmethod
    def from_kubeconfig(cls, path: str, context: str = "") -> ClusterClient:
        """Raises ClusterError saying which file and what in it is wrong."""
        try:
            content = yaml.safe_load(Path(path).read_text())
        except OSError as error:
            raise ClusterError(f"the kubeconfig {path} can't be read: {error.strerror}") from None
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}" if mark else ""
            raise ClusterError(f"the kubeconfig {path} is not YAML{where}") from None
        if not isinstance(content, dict) or not content.get("clusters"):
            raise ClusterError(f"the kubeconfig {path} names no clusters: is it a kubeconfig?")
        names = [c.get("name") for c in content.get("contexts") or () if isinstance(c, dict)]
        if context and context not in names:
            raise ClusterError(
                f"the kubeconfig {path} has no context {context!r}: it has {', '.join(map(str, names))}"
            )
        return cls(path, context)

    async def __aenter__(self) -> ClusterClient:
        configuration = official.Configuration()
        try:
            await official_config.load_kube_config(
                self._path,
                context=self._context or None,
                client_configuration=configuration,
                persist_config=False,
            )
            self._api = official.ApiClient(configuration)
        except (official_config.ConfigException, OSError, ValueError) as error:
            raise ClusterError(f"the kubeconfig {self._path}: {error}"[:500]) from None
        connector = aiohttp.TCPConnector(limit=0, ssl=self._api.rest_client.ssl_context)
        timeout = aiohttp.ClientTimeout(total=None, connect=CONNECT_SECONDS)
        self._session = aiohttp.ClientSession(
            connector=connector, timeout=timeout, auto_decompress=True, read_bufsize=1 << 20
        )
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._session is not None:
            await self._session.close()
        if self._api is not None:
            await self._api.close()

    @property
    def server(self) -> str:
        return str(self._api.configuration.host)

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Any:
        """The answer's JSON. Raises ClusterError with the server's own words."""
        async with self.stream(
            method, path, query=query, body=body, content_type=content_type, seconds=ANSWER_SECONDS
        ) as response:
            try:
                return orjson.loads(await response.read())
            except orjson.JSONDecodeError:
                raise ClusterError(
                    f"{method} {path}: the answer is not JSON", status=response.status
                ) from None

    @asynccontextmanager
    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
        seconds: float | None = None,
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        """The answer while it comes. Raises ClusterError for no answer and for every status from 400 up."""
        if self._session is None:
            raise RuntimeError("enter the client before asking it")
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        if body is not None:
            headers["Content-Type"] = content_type
        await self._api.update_params_for_auth(headers, [], ["BearerToken"], path, method, None)
        try:
            async with self._session.request(
                method,
                self.server + path,
                params=query,
                data=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds, connect=CONNECT_SECONDS),
                proxy=self._api.configuration.proxy,
            ) as response:
                if response.status >= 400:
                    raise ClusterError(await _words(response, method, path), status=response.status)
                yield response
        except (aiohttp.ClientError, TimeoutError) as error:
            raise ClusterError(
                f"{self.server} does not answer: {error or type(error).__name__}"
            ) from error


async def _words(response: aiohttp.ClientResponse, method: str, path: str) -> str:
    """The message of the Status object, or what there is."""
    raw = await response.read()
    try:
        said = orjson.loads(raw)
        return str(said["message"])
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return f"{method} {path}: HTTP {response.status} {response.reason}"
