"""Objects as the rows that kubectl prints: the server chooses the columns and writes the cells.

Called by `rest` and `watching` when a client accepts a Table or only the metadata. The columns of each kind are in
`columns`, what stands in them in `cells` and `pods`. Mirrors pkg/printers/internalversion (v1.36).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schedviz.kube.kinds import Kind
from schedviz.sandbox import views
from schedviz.sandbox.storage import Object
from schedviz.sandbox.tables.columns import TABLES, UNKNOWN, Printed

META = "meta.k8s.io/v1"


@dataclass(frozen=True, slots=True)
class Form:
    """How a client wants objects: Table, PartialObjectMetadata(List), or as they are ("")."""

    form: str = ""
    include: str = "Metadata"

    @property
    def is_plain(self) -> bool:
        return not self.form

    def of_one(self, kind: Kind, one: Object) -> Object:
        if self.form == "Table":
            return self._table(kind, [one], {"resourceVersion": one["metadata"]["resourceVersion"]})
        return _metadata(one) if self.form else views.shown(kind, one)

    def of_list(self, kind: Kind, items: list[Object], meta: Mapping[str, Any]) -> Object:
        if self.form == "Table":
            return self._table(kind, items, meta)
        head = {"kind": f"{kind.kind}List", "apiVersion": kind.api_version}
        if self.form:
            head = {"kind": "PartialObjectMetadataList", "apiVersion": META}
        return {**head, "metadata": meta, "items": [self.of_one(kind, one) for one in items]}

    def _table(self, kind: Kind, items: list[Object], meta: Mapping[str, Any]) -> Object:
        printed: Printed = TABLES.get(kind.kind, UNKNOWN)
        rows = [
            {"cells": printed.cells(one), "object": self._row_object(kind, one)} for one in items
        ]
        head: Object = {"kind": "Table", "apiVersion": META, "metadata": meta}
        return {**head, "columnDefinitions": printed.definitions, "rows": rows}

    def _row_object(self, kind: Kind, one: Object) -> Object | None:
        if self.include == "Object":
            return views.shown(kind, one)
        return None if self.include == "None" else _metadata(one)


PLAIN = Form()


def _metadata(one: Object) -> Object:
    return {"kind": "PartialObjectMetadata", "apiVersion": META, "metadata": one["metadata"]}


def form_of(accept: str, query: Mapping[str, str]) -> Form:
    """The first form that the client accepts and the server knows."""
    for part in accept.split(","):
        media, *said = (word.strip() for word in part.split(";"))
        if media not in ("application/json", "*/*", "application/*"):
            continue
        words = dict(word.partition("=")[::2] for word in said)
        form = words.get("as", "")
        if not form:
            return PLAIN
        if words.get("g") == "meta.k8s.io" and words.get("v") == "v1" and form in _FORMS:
            return Form(_FORMS[form], query.get("includeObject") or "Metadata")
    return PLAIN


_FORMS = {
    "Table": "Table",
    "PartialObjectMetadata": "Metadata",
    "PartialObjectMetadataList": "Metadata",
}
