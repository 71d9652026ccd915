"""Logging in: the one-time password opens one session and is then replaced."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from schedviz.web import auth
from schedviz.web.models import OneTimePassword
from tests.web import people

pytestmark = pytest.mark.django_db
CHOOSE = "/accounts/password/"


def log_in(client, password, name="admin"):
    return client.post("/accounts/login/", {"username": name, "password": password})


def test_the_first_admin_gets_a_password_that_works_once(client):
    password = auth.first_admin()
    assert log_in(client, password).status_code == 302
    client.logout()
    assert log_in(client, password).status_code == 200, "the form again: no second login"


def test_who_came_with_it_must_choose_an_own_one_first(client):
    log_in(client, auth.first_admin())
    assert client.get("/").headers["Location"] == CHOOSE
    assert client.get(CHOOSE).status_code == 200
    own = "a long enough secret"
    answer = client.post(CHOOSE, {"new_password1": own, "new_password2": own})
    assert answer.status_code == 302
    assert not OneTimePassword.objects.exists()
    client.logout()
    assert log_in(client, own).status_code == 302
    assert client.get("/").headers.get("Location") != CHOOSE


def test_others_are_asked_for_their_old_password(client):
    User.objects.create_user("bob", password="old secret 1")
    log_in(client, "old secret 1", "bob")
    own = "a long enough secret"
    client.post(CHOOSE, {"new_password1": own, "new_password2": own, "old_password": "guess"})
    assert User.objects.get().check_password("old secret 1")


def test_there_is_one_first_admin(client):
    assert auth.first_admin()
    second = auth.first_admin()
    assert second, "it was never used: a new one is printed"
    log_in(client, second)
    own = "a long enough secret"
    client.post(CHOOSE, {"new_password1": own, "new_password2": own})
    assert auth.first_admin() is None


def test_no_first_admin_where_one_was_made_by_hand():
    User.objects.create_superuser("root", password="by hand")
    assert auth.first_admin() is None


def test_the_demo_operator_has_no_password():
    user = auth.demo_operator()
    assert not user.has_usable_password()
    assert [group.name for group in user.groups.all()] == ["operator"]
    assert auth.demo_operator() == user


def test_guessing_passwords_ends_after_ten(client, settings):
    cache.clear()
    people.olga()
    people.victor()

    def try_in(name, password):
        answer = client.post("/accounts/login/", {"username": name, "password": password})
        return answer.status_code

    tries = [try_in("olga", f"guess {n}") for n in range(settings.AXES_FAILURE_LIMIT)]
    assert tries == [200] * 9 + [429]
    answer = client.post("/accounts/login/", {"username": "olga", "password": "correct horse"})
    assert answer.status_code == 429
    assert b"Too many wrong passwords" in answer.content
    assert try_in("victor", "correct horse") == 302, "others are let in"
    cache.clear()
