"""Errors as the API server says them: a Status object with upstream's reason and words.

Raised by `resources` and `storage`, turned into responses by `server`.
"""

from __future__ import annotations

from typing import Any


class ApiError(Exception):
    """code: HTTP status; reason: upstream's word for it."""

    def __init__(self, code: int, reason: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.code, self.reason, self.message, self.details = code, reason, message, details

    def as_status(self) -> dict[str, Any]:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "details": self.details,
            "code": self.code,
        }


def not_found(plural: str, name: str) -> ApiError:
    return ApiError(404, "NotFound", f'{plural} "{name}" not found', name=name, kind=plural)


def already_exists(plural: str, name: str) -> ApiError:
    return ApiError(
        409, "AlreadyExists", f'{plural} "{name}" already exists', name=name, kind=plural
    )


def conflict(plural: str, name: str, why: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {plural} "{name}": {why}'
    return ApiError(409, "Conflict", message, name=name, kind=plural)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


_CAUSES = {
    "Required value": "FieldValueRequired",
    "Invalid value": "FieldValueInvalid",
    "Unsupported value": "FieldValueNotSupported",
    "Duplicate value": "FieldValueDuplicate",
    "Forbidden": "FieldValueForbidden",
}


def invalid(kind: str, name: str, why: str) -> ApiError:
    """why: `field: Invalid value: ...`, as the API server lists them."""
    field, _, message = why.partition(": ")
    reason = next((r for word, r in _CAUSES.items() if message.startswith(word)), "")
    causes = [{"reason": reason, "message": message, "field": field}]
    details = {"name": name, "kind": kind, "causes": causes}
    return ApiError(422, "Invalid", f'{kind} "{name}" is invalid: {why}', **details)


def expired(asked: int, oldest: int) -> ApiError:
    return ApiError(410, "Expired", f"too old resource version: {asked} ({oldest})")


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def no_such_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def not_allowed() -> ApiError:
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message)
