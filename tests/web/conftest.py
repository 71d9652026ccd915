"""What the web tests share: a real broker, and the channel layer on it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.valkey import Valkey, running_valkey


@pytest.fixture(scope="session")
def session_valkey() -> Iterator[Valkey]:
    with running_valkey() as valkey:
        yield valkey


@pytest.fixture
def valkey(session_valkey, settings) -> Iterator[Valkey]:
    """A running valkey that the channel layer uses; running again afterwards, whatever the test did to it."""
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            "CONFIG": {"hosts": [session_valkey.url], "prefix": "schedviz"},
        }
    }
    yield session_valkey
    if session_valkey.process is None:
        session_valkey.start()
