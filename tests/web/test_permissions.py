"""Roles: each may do all that the one below may, and nothing more."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied

from schedviz.web import permissions
from schedviz.web.permissions import Role, Shell, may
from tests.web import people

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("who", "what", "is_allowed"),
    [
        pytest.param(people.victor, "session.view", True, id="a viewer views"),
        pytest.param(people.victor, "pod.retry", False, id="a viewer does not retry"),
        pytest.param(people.victor, "session.stop", False, id="a viewer does not stop"),
        pytest.param(people.victor, "audit.view", False, id="a viewer does not read the audit"),
        pytest.param(people.olga, "pod.move", True, id="an operator moves"),
        pytest.param(people.olga, "session.view", True, id="an operator views"),
        pytest.param(people.olga, "session.create", False, id="an operator creates no session"),
        pytest.param(people.alice, "cluster.add", True, id="an admin adds clusters"),
        pytest.param(people.nemo, "session.view", False, id="without a role nobody views"),
        pytest.param(AnonymousUser, "session.view", False, id="a stranger does not view"),
        pytest.param(Shell, "session.create", True, id="the shell creates"),
    ],
)
def test_may(who, what, is_allowed):
    assert may(who(), what) is is_allowed


def test_a_superuser_is_an_admin():
    assert permissions.role(User.objects.create_superuser("root")) is Role.ADMIN


def test_an_inactive_user_has_no_role():
    user = people.alice()
    user.is_active = False
    assert permissions.role(user) is Role.NONE


def test_the_role_is_asked_once_a_user(django_assert_num_queries):
    user = people.olga()
    with django_assert_num_queries(1):
        may(user, "session.view")
        may(user, "pod.move")


def test_an_unknown_action_is_a_mistake_not_a_refusal():
    with pytest.raises(KeyError):
        may(people.alice(), "pod.fly")
    with pytest.raises(KeyError):
        permissions.require("pod.fly")


def test_a_guarded_view_refuses(rf):
    request = rf.get("/")
    request.user = people.victor()
    assert permissions.require("session.view")(lambda request: "seen")(request) == "seen"
    with pytest.raises(PermissionDenied, match="operator"):
        permissions.require("pod.retry")(lambda request: "done")(request)
