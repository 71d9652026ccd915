"""What every action does: it checks the role, audits, and refuses in words. Used by the other files of this package."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from django.core.exceptions import PermissionDenied, ValidationError

from schedviz.web import permissions
from schedviz.web.models import Audit, Cluster, Session
from schedviz.web.tables import clean

if TYPE_CHECKING:
    from collections.abc import Iterator

    from schedviz.web.permissions import Person


class Refused(Exception):
    """The wish cannot be granted; the text says why and what would help. Shown to the person as it is."""


def denied(by: Person, action: str, session_name: str, on: str, why: str) -> None:
    """A page turned somebody away who asked for more than to look: that leaves a trace."""
    session = Session.objects.filter(name=session_name).first()
    audit(by, action, session, on or session_name, outcome="denied", message=why)


@contextlib.contextmanager
def asked(by: Person, action: str, session: Session, on: str) -> Iterator[str]:
    """Inside, `by` may do it; what is refused there leaves a trace as well."""
    check(by, action, session, on)
    try:
        yield on
    except Refused as refused:
        audit(by, action, session, on, outcome="refused", message=str(refused))
        raise


def check(by: Person, action: str, session: Session | None, on: str) -> None:
    try:
        permissions.check(by, action, session)
    except PermissionDenied as denied:
        audit(by, action, session, on, outcome="denied", message=str(denied))
        raise


def audit(
    by: Person,
    action: str,
    session: Session | None,
    on: str,
    **more: Any,  # before, after, outcome, message
) -> None:
    more.setdefault("outcome", "ok")
    Audit.objects.create(
        user=by.username, action=action, session=session, object=clean(on, 400), **more
    )


def save_named(row: Cluster | Session) -> None:
    try:
        row.full_clean(exclude=[field.name for field in row._meta.fields if field.name != "name"])
    except ValidationError as error:
        lines = [f"{field}: {' '.join(texts)}" for field, texts in error.message_dict.items()]
        raise Refused("; ".join(lines)) from error
    row.save()
