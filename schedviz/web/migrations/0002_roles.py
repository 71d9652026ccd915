"""The three roles as groups."""

from __future__ import annotations

from django.db import migrations

ROLES = ("viewer", "operator", "admin")


def make_roles(apps, schema_editor):
    groups = apps.get_model("auth", "Group").objects
    for name in ROLES:
        groups.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [
        ("web", "0001_initial"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop, elidable=False)]
