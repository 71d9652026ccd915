"""Configurations for the tests beside: a head, and what is refused in which words."""

from __future__ import annotations

import textwrap

import pytest

from schedviz.scheduler.config import ConfigError, load
from schedviz.scheduler.profile import profiles_of

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def with_head(body: str) -> str:
    return HEAD + textwrap.dedent(body)


def refused(text: str) -> ConfigError:
    """The complaint about this whole file, profiles built."""
    with pytest.raises(ConfigError) as caught:
        profiles_of(load(text))
    return caught.value


def args_of(plugin: str, body: str) -> str:
    """A file whose one profile gives a plugin these arguments (flow style)."""
    return with_head(f"profiles: [{{pluginConfig: [{{name: {plugin}, args: {body}}}]}}]\n")
