"""Logging in and out, the demo's operator, and the one-time password of the first admin."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model, update_session_auth_hash, views
from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import Group
from django.contrib.auth.signals import user_logged_in
from django.db import transaction
from django.dispatch import receiver
from django.urls import reverse_lazy
from django.utils import timezone

from schedviz.web.models import OneTimePassword

if TYPE_CHECKING:
    from django.contrib.auth.models import User
    from django.db.models import QuerySet
    from django.http import HttpRequest, HttpResponse

DEMO_OPERATOR = "demo"


class LoginView(views.LoginView):
    template_name = "registration/login.html"
    redirect_authenticated_user = True


class PasswordChooseView(views.PasswordChangeView):
    """The user chooses a password; one that came with a one-time password is not asked for it again."""

    template_name = "registration/password_choose.html"
    success_url = reverse_lazy("home")

    def get_form_class(self) -> Any:
        once = _one_time_password(self.request.user).exists()
        return SetPasswordForm if once else super().get_form_class()

    def form_valid(self, form: Any) -> HttpResponse:
        with transaction.atomic():
            _one_time_password(self.request.user).delete()
            return super().form_valid(form)


def _one_time_password(user: Any) -> QuerySet[OneTimePassword]:
    return OneTimePassword.objects.filter(user=user)


@receiver(user_logged_in, dispatch_uid="schedviz.one_time_password")
def spend_one_time_password(request: HttpRequest, user: User, **_: Any) -> None:
    """The password printed by `first_admin` has done its work: it opens no second session."""
    with transaction.atomic():
        spent = OneTimePassword.objects.filter(user=user, used_at=None).update(
            used_at=timezone.now()
        )
        if spent:
            user.set_unusable_password()
            user.save(update_fields=["password"])
            update_session_auth_hash(request, user)


@transaction.atomic
def demo_operator() -> User:
    """The demo's user, made when absent: an operator without a password."""
    user, _ = get_user_model().objects.get_or_create(
        username=DEMO_OPERATOR, defaults={"password": "!"}
    )
    user.groups.add(Group.objects.get(name="operator"))
    return user


@transaction.atomic
def first_admin(name: str = "admin") -> str | None:
    """Makes the first admin and returns the one-time password, or None when there is an admin who can log in.

    An admin who never used the printed password, or never chose an own one, gets a new one.
    """
    users = get_user_model().objects
    waiting = OneTimePassword.objects.values("user_id")
    if users.filter(is_superuser=True, is_active=True).exclude(pk__in=waiting).exists():
        return None
    password = secrets.token_urlsafe(15)
    user = users.filter(is_superuser=True, is_active=True).first()
    if user is None:
        user = users.create_superuser(username=name, password=password)
    else:
        user.set_password(password)
        user.save(update_fields=["password"])
    OneTimePassword.objects.update_or_create(user=user, defaults={"used_at": None})
    return password
