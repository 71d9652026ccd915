"""The whole configuration as YAML, as kube-scheduler writes it with --write-config-to.

Used by `check_config` and for the proposals of `old_versions`. Mirrors sigs.k8s.io/yaml: keys sorted, lists not
indented.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from schedviz.scheduler.config.documents import plain_scalar


class _Dumper(yaml.SafeDumper):
    """Lists stand below their key's own column; nothing is referred to, everything is written out."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    """In double quotes what would be read as something else than a text; the rest as go-yaml does it."""
    is_block = "\n" in text
    is_text = isinstance(plain_scalar(text), str)
    style = "|" if is_block else None if is_text else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def to_yaml(value: Mapping[str, Any]) -> str:
    text: str = yaml.dump(
        dict(value), Dumper=_Dumper, default_flow_style=False, allow_unicode=True, width=10**9
    )
    return text
