"""`manage.py explain NAMESPACE/POD`: why this pod is pending, or where it went and why, from the record; and what would
make it schedulable, tried on the cluster as it is now.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from django.core.management.base import BaseCommand, CommandError

from schedviz.web import findings, readers, tasks, words
from schedviz.web.explanation import explain

if TYPE_CHECKING:
    from django.core.management.base import CommandParser

    from schedviz.scheduler.explain import NodeGroup
    from schedviz.web.explanation import Explanation
    from schedviz.web.models import PodState, Session


class Command(BaseCommand):
    help = "Says why a pod is pending, or where it went and why."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("pod", metavar="NAMESPACE/POD", help="POD alone: of namespace default")
        parser.add_argument("--session", help="needed when there are several")
        parser.add_argument("-o", "--output", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        session = self._session(options["session"])
        namespace, _, name = options["pod"].rpartition("/")
        pod = readers.pod_by_name(session, namespace or "default", name)
        if pod is None:
            raise CommandError(
                f"session {session.name} knows no pod {namespace or 'default'}/{name}: "
                f"is its schedulerName one of {', '.join(session.scheduler_names)}?"
            )
        found = explain(session, pod)
        changes = _changes(session, pod) if pod.lane in findings.PENDING else None
        if options["output"] == "json":
            self.stdout.write(json.dumps(found.as_json(changes), indent=2))
            return
        self._write(found)
        if changes is not None:
            self._write_changes(changes)

    def _write(self, found: Explanation) -> None:
        self.stdout.write(f"{found.pod} ({found.lane})")
        for sentence in (found.sentence, *found.more):
            self.stdout.write(sentence)
        if found.clauses:
            self.stdout.write(f"How its {words.plural(found.n_nodes, 'node')} became fewer:")
            for clause in found.clauses:
                self.stdout.write(
                    f"  {words.demand(clause.plugin, clause.reason)}: {clause.n_left}"
                )
        for group in found.groups:
            self.stdout.write(_told(group))

    def _write_changes(self, changes: dict[str, Any]) -> None:
        if changes["state"] == "failed":
            self.stdout.write(f"What would help cannot be looked for: {changes['message']}")
        elif changes["passing"]:
            self.stdout.write(f"It fits now, on {', '.join(changes['passing'])}.")
        else:
            n_tried, n_nodes = changes["n_tried"], changes["n_nodes"]
            nodes = words.plural(n_nodes, "node")
            self.stdout.write(f"What would help (recomputed: {n_tried} trials on {nodes}):")
            for kind, some in findings.by_kind(changes["changes"]):
                self.stdout.write(f"  {kind}:")
                for one in some:
                    self.stdout.write(f"    {' and '.join(one['edits'])}{_where(one)}")

    def _session(self, name: str | None) -> Session:
        sessions = readers.sessions_list()
        if name:
            sessions = [session for session in sessions if session.name == name]
        if not sessions:
            raise CommandError(
                f"there is no session {name!r}"
                if name
                else "there is no session: see `session create`"
            )
        if len(sessions) > 1:
            names = ", ".join(session.name for session in sessions)
            raise CommandError(f"there are several sessions: give --session ({names})")
        return sessions[0]


def _told(group: NodeGroup) -> str:
    when = "never" if group.never else "not now"
    named = ", ".join(group.nodes) + (f" and {group.n_more} more" if group.n_more else "")
    why = "; ".join(group.reasons) or "left out before the filters"
    return f"  {when}, {words.plural(group.n_nodes, 'node')} by {', '.join(group.plugins)}: {why} ({named})"


def _where(change: dict[str, Any]) -> str:
    if change["kind"] == "node":
        return ""
    more = change["n_nodes"] - len(change["nodes"])
    return f" -> {', '.join(change['nodes'])}{f' and {more} more' if more else ''}"


def _changes(session: Session, pod: PodState) -> dict[str, Any]:
    """Asked of the cluster here and now, without a worker."""
    content, message = {}, ""
    try:
        content = tasks.changes_for(session, pod.uid)
    except tasks.NotFound as why:
        message = str(why)
    return findings.answer(time.time(), content, message)
