"""The extenders that we serve: their rules saved and deleted."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from django.db import transaction

from schedviz.web import extender_rules
from schedviz.web.actions.asking import Refused, audit, check
from schedviz.web.extender_rules import RulesError
from schedviz.web.models import ExtenderRules

if TYPE_CHECKING:
    from schedviz.web.permissions import Person

EXTENDER_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
RULES_LENGTH = 1000


def extender_save(by: Person, name: str, text: str) -> None:
    """The rules of an extender that we serve: a new one, or anew."""
    check(by, "extender.edit", None, name)
    if not EXTENDER_NAME.fullmatch(name):
        raise Refused(f"{name!r} is no name: use lower-case letters, digits and -, 63 at most")
    try:
        extender_rules.read(text)
    except RulesError as error:
        raise Refused(str(error)) from error
    fields = {"text": text, "changed_by": by.username, "changed_at": time.time()}
    with transaction.atomic():
        before = ExtenderRules.objects.filter(name=name).values_list("text", flat=True).first()
        ExtenderRules.objects.update_or_create(name=name, defaults=fields)
        audit(by, "extender.edit", None, name, before=_rules(before), after=_rules(text))


def extender_delete(by: Person, name: str) -> None:
    check(by, "extender.edit", None, name)
    with transaction.atomic():
        there = ExtenderRules.objects.filter(name=name)
        before = there.values_list("text", flat=True).first()
        there.delete()
        audit(by, "extender.edit", None, name, before=_rules(before), after={})


def _rules(text: str | None) -> dict[str, str]:
    """As the audit log keeps them: their beginning."""
    return {} if text is None else {"rules": text[:RULES_LENGTH]}
