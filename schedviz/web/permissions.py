"""Who may do what: three roles, each with all that the one before may do. Asked by views, consumers and actions.

A role is a Django group of the same name (made after each `migrate`); a superuser is an admin.
Who has no role may only log out.
"""

from __future__ import annotations

import enum
import functools
from typing import TYPE_CHECKING, Any, TypeAlias

from django.core.exceptions import PermissionDenied

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.contrib.auth.models import AnonymousUser, User
    from django.http import HttpRequest, HttpResponse

    from schedviz.web.models import Session

    Person: TypeAlias = "User | AnonymousUser | Shell"


class Role(enum.IntEnum):
    """Ordered: a higher role may do all that a lower one may. The group's name is the lower-case name."""

    NONE = 0
    VIEWER = 1
    OPERATOR = 2
    ADMIN = 3


GROUPS = tuple(role.name.lower() for role in Role if role)

# Every action of the product, with the least role that may do it.
LEAST_ROLE: dict[str, Role] = {
    "session.view": Role.VIEWER,
    "session.start": Role.OPERATOR,
    "session.stop": Role.OPERATOR,
    "session.pause": Role.OPERATOR,
    "session.resume": Role.OPERATOR,
    "pod.retry": Role.OPERATOR,
    "pod.move": Role.OPERATOR,
    "pod.undo": Role.OPERATOR,
    "pod.hold": Role.OPERATOR,
    "pod.release": Role.OPERATOR,
    "pod.allow": Role.OPERATOR,
    "pod.reject": Role.OPERATOR,
    "session.flush": Role.OPERATOR,
    "audit.view": Role.OPERATOR,
    "extender.view": Role.VIEWER,
    "extender.edit": Role.ADMIN,
    "session.create": Role.ADMIN,
    "session.configure": Role.ADMIN,
    "cluster.add": Role.ADMIN,
}


class Shell:
    """Who runs manage.py: may write all of our files anyway, hence an admin. The audit log says `manage.py`."""

    username = "manage.py"
    pk = None
    is_authenticated = is_active = is_superuser = True


def role(user: Person) -> Role:
    """The user's highest role. Asked of the database once per user object."""
    known = getattr(user, "_schedviz_role", None)
    if known is None:
        known = _role(user)
        user._schedviz_role = known  # type: ignore[union-attr]
    return known


def _role(user: Any) -> Role:
    if not user.is_authenticated or not user.is_active:
        return Role.NONE
    if user.is_superuser:
        return Role.ADMIN
    names = user.groups.filter(name__in=GROUPS).values_list("name", flat=True)
    return max((Role[name.upper()] for name in names), default=Role.NONE)


def may(user: Person, action: str, session: Session | None = None) -> bool:
    """Whether this user may do this here. `session` is asked for so that roles per session need no new callers."""
    return role(user) >= LEAST_ROLE[action]


def check(user: Person, action: str, session: Session | None = None) -> None:
    if not may(user, action, session):
        raise PermissionDenied(f"you need the role {LEAST_ROLE[action].name.lower()} to do this")


def require(action: str) -> Callable[[Callable[..., HttpResponse]], Callable[..., HttpResponse]]:
    """Decorator of a view: 403 for who may not."""
    LEAST_ROLE[action]  # a misspelt action fails when the view is imported

    def guard(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
        @functools.wraps(view)
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            check(request.user, action)
            return view(request, *args, **kwargs)

        return guarded

    return guard
