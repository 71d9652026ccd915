"""The way to an API server: the official client reads the kubeconfig, the requests are raw.

Made by whoever runs a session; used by `reflector` and `effects` inside one event loop. Credentials and certificates
are the official client's business; they are read again when an exec plugin's token runs out and when the server stops
accepting them. Bodies go through orjson, since the official models cost fifteen times as much per watch event.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Any

import aiohttp
import orjson
from kubernetes.aio import client as official
from kubernetes.aio import config as official_config
from yarl import URL

from schedviz.cluster import kubeconfig
from schedviz.cluster.errors import ClusterError

__all__ = ["ClusterClient", "ClusterError"]

USER_AGENT = "schedviz"
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 30.0
RENEW_SECONDS = 10.0
"""Refused credentials are read again no more often than this."""
EXPIRY_MARGIN = timedelta(seconds=20)
READ_BUFFER = 1 << 20
LOOPBACK = ("localhost", "127.0.0.1", "::1")
KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""A peer that vanished without a word is noticed in 30 s, as client-go does by HTTP/2 pings."""


class ClusterClient:
    """One API server as one user. Enter it before use (`async with`)."""

    def __init__(self, path: str, context: str = "") -> None:
        self._path, self._context = path, context
        self._configuration = official.Configuration()
        self._loader: Any = None
        self._sessions: list[aiohttp.ClientSession] = []
        self._identity: tuple[Any, ...] = ()
        self._renewing = asyncio.Lock()
        self._renew_at = 0.0

    @classmethod
    def from_kubeconfig(cls, path: str, context: str = "") -> ClusterClient:
        """Raises ClusterError saying which file and what in it is wrong."""
        kubeconfig.check(path, context)
        return cls(path, context)

    async def __aenter__(self) -> ClusterClient:
        await self._load()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for session in self._sessions:
            await session.close()
        self._sessions.clear()

    @property
    def server(self) -> str:
        return str(self._configuration.host)

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
                message = f"{method} {path}: the answer is not JSON"
                raise ClusterError(message, status=response.status) from None

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
        """The answer while it comes. Raises ClusterError for no answer and for every status but 2xx."""
        if not self._sessions:
            raise RuntimeError("enter the client before asking it")
        headers = {"Accept": "application/json", "User-Agent": USER_AGENT}
        if body is not None:
            headers["Content-Type"] = content_type
        token = await self._token()
        if token:
            headers["Authorization"] = token
        try:
            async with self._sessions[-1].request(
                method,
                self.server + path,
                params=query,
                data=None if body is None else orjson.dumps(body),
                headers=headers,
                timeout=aiohttp.ClientTimeout(total=seconds, connect=CONNECT_SECONDS),
                proxy=self._configuration.proxy,
                server_hostname=self._configuration.tls_server_name,
                allow_redirects=False,
            ) as response:
                if response.status >= 300:
                    raise await self._refusal(response, method, path)
                yield response
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            why = str(error) or type(error).__name__
            where = URL(self.server).origin()  # a path may hold a secret, as the sandbox's does
            raise ClusterError(f"{where} does not answer: {why}") from error

    # ---- credentials -----------------------------------------------------------------------------------------------

    async def _load(self) -> None:
        """Read the kubeconfig (again); a new connection pool only if what connections depend on has changed."""
        configuration = official.Configuration()
        configuration.api_key = {}
        # As Go does: cluster CAs in the wild lack key identifiers, which Python 3.13 insists on by default.
        configuration.disable_strict_ssl_verification = True
        try:
            loader = await official_config.load_kube_config(
                self._path,
                context=self._context or None,
                client_configuration=configuration,
                persist_config=False,
            )
            if _misses_credentials(loader, configuration):
                raise ClusterError(
                    f"the kubeconfig {self._path}: the exec plugin gave no credentials: run it by hand"
                )
            connector = _connector(configuration)
        except (
            official_config.ConfigException,
            OSError,
            ValueError,
            TypeError,
            AttributeError,
        ) as error:
            raise ClusterError(f"the kubeconfig {self._path}: {error}"[:500]) from None
        identity = (configuration.host, configuration.cert_file, configuration.ssl_ca_cert)
        self._configuration, self._loader = configuration, loader
        if identity == self._identity and self._sessions:
            await connector.close()
            return
        self._identity = identity
        self._sessions.append(
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                read_bufsize=READ_BUFFER,
                trust_env=URL(self.server).host not in LOOPBACK,
            )
        )

    async def _token(self) -> str:
        """The Authorization header; a token that ran out is renewed first."""
        if _has_expired(self._loader):
            await self._renew()
        return str(await self._configuration.get_api_key_with_prefix("BearerToken") or "")

    async def _renew(self) -> None:
        loop = asyncio.get_running_loop()
        async with self._renewing:
            if loop.time() < self._renew_at:
                return
            self._renew_at = loop.time() + RENEW_SECONDS
            await self._load()

    async def _refusal(
        self, response: aiohttp.ClientResponse, method: str, path: str
    ) -> ClusterError:
        """The message of the Status object, or what there is."""
        if response.status == 401:
            await self._renew()
        message, reason = f"{method} {path}: HTTP {response.status} {response.reason}", ""
        if response.status < 400:
            message += ": put the URL that it redirects to into the kubeconfig"
        try:
            said = orjson.loads(await response.read())
            message, reason = str(said["message"]), str(said.get("reason") or "")
        except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
            pass
        after = response.headers.get("Retry-After", "")
        return ClusterError(
            message,
            status=response.status,
            reason=reason,
            retry_after=float(after) if after.isdecimal() else 0.0,
        )


def _misses_credentials(loader: Any, configuration: official.Configuration) -> bool:
    """The official loader only logs what an exec plugin did wrong and goes on as nobody."""
    user = loader._user
    wants_exec = user is not None and "exec" in user
    return wants_exec and not configuration.api_key and not configuration.cert_file


def _has_expired(loader: Any) -> bool:
    expiry = getattr(loader, "exec_plugin_expiry", None)
    return isinstance(expiry, datetime) and expiry - EXPIRY_MARGIN <= datetime.now(UTC)


def _connector(configuration: official.Configuration) -> aiohttp.TCPConnector:
    """Connections with the official client's TLS settings, and keepalive probes."""
    rest = official.rest.RESTClientObject(configuration)
    return aiohttp.TCPConnector(limit=0, ssl=rest.ssl_context, socket_factory=_socket)


def _socket(address: Any) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family=family, type=kind, proto=protocol)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in KEEPALIVE.items():
        if hasattr(socket, name):  # Linux has them all
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return made
