"""What Kubernetes takes for the name of a label, a resource or a label's value, and its words when it does not.

Used by the validation beside it. Mirrors apimachinery pkg/api/validate/content (v1.36) and core/v1's
IsExtendedResourceName.
"""

from __future__ import annotations

import re

_LABEL = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = f"({_LABEL})?"
_DNS_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_DNS_LABEL}(\.{_DNS_LABEL})*"
_CONSISTS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_SUBDOMAIN_CONSISTS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_VALUE_CONSISTS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)
REQUESTS = "requests."


def label_key_faults(value: str) -> list[str]:
    """A qualified name: an optional DNS subdomain with "/", then at most 63 characters."""
    prefix, slash, name = value.rpartition("/")
    if "/" in prefix:
        words = _regex_error(_CONSISTS, _LABEL, "MyName", "my.name", "123-abc")
        return [
            f"a valid label key {words} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    faults = []
    if slash:
        inside = subdomain_faults(prefix) if prefix else ["must be non-empty"]
        faults += [f"prefix part {fault}" for fault in inside]
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_LABEL, name, re.ASCII):
        words = _regex_error(_CONSISTS, _LABEL, "MyName", "my.name", "123-abc")
        faults.append(f"name part {words}")
    return faults


def label_value_faults(value: str) -> list[str]:
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if not re.fullmatch(_VALUE, value):
        faults.append(_regex_error(_VALUE_CONSISTS, _VALUE, "MyValue", "my_value", "12345"))
    return faults


def subdomain_faults(value: str) -> list[str]:
    faults = []
    if len(value.encode()) > 253:
        faults.append("must be no more than 253 bytes")
    if not re.fullmatch(_SUBDOMAIN, value):
        faults.append(_regex_error(_SUBDOMAIN_CONSISTS, _SUBDOMAIN, "example.com"))
    return faults


def is_extended_resource(name: str) -> bool:
    """One that is not Kubernetes' own, and that a quota could name too."""
    is_native = "/" not in name or "kubernetes.io/" in name
    return not is_native and not name.startswith(REQUESTS) and not label_key_faults(REQUESTS + name)


def _regex_error(words: str, pattern: str, *examples: str) -> str:
    given = " or ".join(f"'{example}', " for example in examples)
    return f"{words} (e.g. {given}regex used for validation is '{pattern}')"
