"""The people of the web tests: Alice administers, Olga operates, Victor views, Nemo has no role."""

from __future__ import annotations

from django.contrib.auth.models import Group, User

from schedviz.web.models import Cluster, Lease, Session


def person(name: str, role: str = "") -> User:
    user = User.objects.create_user(name, password="correct horse")
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def alice() -> User:
    return person("alice", "admin")


def olga() -> User:
    return person("olga", "operator")


def victor() -> User:
    return person("victor", "viewer")


def nemo() -> User:
    return person("nemo")


def session(name: str = "demo", **fields: object) -> Session:
    """A session of a sandbox with its lease row, running unless told otherwise."""
    if "cluster" not in fields:
        fields["cluster"], _ = Cluster.objects.get_or_create(
            name="box", defaults={"kind": "sandbox", "kubeconfig_path": "/nowhere/kubeconfig"}
        )
    given = {"scheduler_names": ["default-scheduler"], "desired": "running", "state": "running"}
    made = Session.objects.create(name=name, **given | fields)
    Lease.objects.create(session=made)
    return made
