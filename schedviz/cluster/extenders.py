"""The way to HTTP extenders: one POST a call, in time or not at all; what goes wrong is told in Go's words.

Used by `effects` inside the session's event loop; the bodies are `scheduler.extender`'s. Mirrors NewHTTPExtender,
makeTransport and HTTPExtender.send of pkg/scheduler/extender.go (v1.36). Left out on purpose: redirects are not
followed (an extender is what the configuration names), and an answer has a largest size. Nothing here is logged.
"""

from __future__ import annotations

import asyncio
import base64
import os
import re
import ssl
import tempfile
import time
from types import SimpleNamespace, TracebackType
from typing import Any

import aiohttp
from aiohttp.client_exceptions import (
    ClientConnectorCertificateError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientPayloadError,
    ClientSSLError,
    InvalidURL,
    ServerDisconnectedError,
)
from yarl import URL

from schedviz.scheduler.config.extenders import ExtenderConfig, TLSConfig
from schedviz.scheduler.extender import joined, safe_url
from schedviz.scheduler.framework.steps import ExtenderAnswer, ExtenderCall

LARGEST_ANSWER = 32 << 20
CHUNK = 1 << 16
LOOPBACK = ("localhost", "127.0.0.1", "::1")
TOO_LATE = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
TOO_SLOW = "context deadline exceeded (Client.Timeout or context cancellation while reading body)"


class Refused(Exception):
    """No answer; the text says why."""


class Extenders:
    """Connections are kept, one pool for each extender. Enter it before use (`async with`)."""

    def __init__(self) -> None:
        self._pools: dict[ExtenderConfig, aiohttp.ClientSession] = {}

    async def __aenter__(self) -> Extenders:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for pool in self._pools.values():
            await pool.close()
        self._pools.clear()

    async def call(self, call: ExtenderCall) -> ExtenderAnswer:
        """Never raises for what the extender does."""
        began = time.perf_counter()
        body, error = b"", ""
        try:
            body = await self._post(call)
        except Refused as refused:
            error = str(refused)
        return ExtenderAnswer(body, error, time.perf_counter() - began)

    async def _post(self, call: ExtenderCall) -> bytes:
        exchange = Exchange(call)
        try:
            pool = self._pool(call.to)
            async with asyncio.timeout(call.to.http_timeout_seconds or None):
                return await exchange.run(pool)
        except TimeoutError:
            raise exchange.refusal(TOO_SLOW if exchange.is_answering else TOO_LATE) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise exchange.refusal(_in_go(error, call.to)) from None

    def _pool(self, to: ExtenderConfig) -> aiohttp.ClientSession:
        pool = self._pools.get(to)
        if pool is None:
            pool = self._pools[to] = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, ssl=_ssl_context(to)),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"Content-Type": "application/json"},
                timeout=aiohttp.ClientTimeout(total=None),
                trust_env=URL(to.url_prefix).host not in LOOPBACK,
                trace_configs=[_reuse_noted()],
            )
        return pool


class Exchange:
    """One call under way. is_answering: its headers have come."""

    def __init__(self, call: ExtenderCall) -> None:
        self.is_answering = False
        self._call = call
        self._url = joined(call.to.url_prefix, call.verb)
        self._shown = safe_url(self._url)

    async def run(self, pool: aiohttp.ClientSession) -> bytes:
        """As Go does: once more where a kept connection turns out to be closed."""
        while True:
            connection: dict[str, bool] = {}
            try:
                return await self._send(pool, connection)
            except (ServerDisconnectedError, aiohttp.ClientOSError):
                if self.is_answering or not connection.get("is_reused"):
                    raise

    async def _send(self, pool: aiohttp.ClientSession, connection: dict[str, bool]) -> bytes:
        tls = self._call.to.tls_config
        async with pool.post(
            self._url,
            data=self._call.body,
            allow_redirects=False,
            server_hostname=(tls.server_name if tls else "") or None,
            trace_request_ctx=connection,
        ) as response:
            self.is_answering = True
            if response.status != 200:
                words = f"failed {self._call.verb} with extender at URL {self._shown}"
                raise Refused(f"{words}, code {response.status}")
            return await _limited(response)

    def refusal(self, words: str) -> Refused:
        return Refused(words if self.is_answering else f'Post "{self._shown}": {words}')


def _reuse_noted() -> aiohttp.TraceConfig:
    """Writes into a request's context whether its connection was a kept one."""

    async def note(session: Any, context: SimpleNamespace, params: Any) -> None:
        context.trace_request_ctx["is_reused"] = True

    config = aiohttp.TraceConfig()
    config.on_connection_reuseconn.append(note)
    return config


async def _limited(response: aiohttp.ClientResponse) -> bytes:
    body = bytearray()
    async for chunk in response.content.iter_chunked(CHUNK):
        body += chunk
        if len(body) > LARGEST_ANSWER:
            raise Refused(f"the answer is larger than {LARGEST_ANSWER >> 20} MiB")
    return bytes(body)


def _ssl_context(to: ExtenderConfig) -> ssl.SSLContext | bool:
    """True: the system's certificate authorities. As upstream, enableHTTPS without one of its own checks nothing."""
    tls = to.tls_config or TLSConfig()
    has_ca = bool(tls.ca_file or tls.ca_data)
    is_unchecked = tls.insecure or (to.enable_https and not has_ca)
    if to.tls_config is None and not is_unchecked:
        return True
    ca = base64.b64decode(tls.ca_data).decode() if tls.ca_data else None
    context = ssl.create_default_context(cafile=None if ca else tls.ca_file or None, cadata=ca)
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if is_unchecked:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    _load_certificate(context, tls)
    return context


def _load_certificate(context: ssl.SSLContext, tls: TLSConfig) -> None:
    """OpenSSL reads certificates from files only: those of the configuration's text are written for a moment."""
    with tempfile.TemporaryDirectory() as folder:  # mode 0700

        def file(name: str, data: str, path: str) -> str:
            if not data:
                return path
            there = os.path.join(folder, name)
            with open(there, "wb") as out:
                out.write(base64.b64decode(data))
            return there

        certificate = file("cert", tls.cert_data, tls.cert_file)
        if certificate:
            key = file("key", tls.key_data, tls.key_file)
            context.load_cert_chain(certificate, key or None, password=_no_password)


def _no_password() -> str:
    """Else OpenSSL would ask at the terminal."""
    raise ValueError("tls: the private key is encrypted")


def _in_go(error: Exception, to: ExtenderConfig) -> str:
    """What Go's client would say, as far as that can be told."""
    if isinstance(error, InvalidURL):
        return "invalid URL"
    if isinstance(error, ServerDisconnectedError):
        return "EOF"
    if isinstance(error, ClientPayloadError):
        return "unexpected EOF"
    if isinstance(error, ClientConnectorDNSError):
        return f"dial tcp: lookup {URL(to.url_prefix).host}: no such host"
    if isinstance(error, ClientConnectorCertificateError):
        return f"tls: failed to verify certificate: {error.certificate_error}"
    if isinstance(error, ClientSSLError):
        is_plain = "WRONG_VERSION_NUMBER" in str(error)
        return "http: server gave HTTP response to HTTPS client" if is_plain else f"tls: {error}"
    if isinstance(error, ClientConnectorError):
        return f"dial tcp {_address(error)}: connect: {_reason(error.os_error)}"
    if isinstance(error, aiohttp.ClientOSError | ConnectionResetError):
        return "read: connection reset by peer"
    return str(error) or type(error).__name__


def _address(error: ClientConnectorError) -> str:
    host = "127.0.0.1" if error.host == "localhost" else error.host
    return f"[{host}]:{error.port}" if ":" in host else f"{host}:{error.port}"


def _reason(error: OSError) -> str:
    """Where several addresses failed, the first one's."""
    found = re.search(r"\[Errno (\d+)\]", str(error))
    number = error.errno or (int(found.group(1)) if found else 0)
    return os.strerror(number).lower() if number else str(error)
