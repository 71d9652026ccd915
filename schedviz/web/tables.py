"""The hot tables' SQL, made from the models: inserts and upserts of many rows at once, on SQLite and PostgreSQL.

Used by `recording` only. A row is a dict by column name, JSON columns as Python values or as text that is ready.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson
from django.db import connection, models

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Table:
    """A model's table without its own id."""

    name: str
    columns: tuple[str, ...]
    json: frozenset[str]
    widths: dict[str, int]
    key: tuple[str, ...] = ()
    news: tuple[str, ...] = ()

    @classmethod
    def of(cls, model: type[models.Model], *key: str, news: tuple[str, ...] | None = None) -> Table:
        """`key`: the columns of the unique constraint by which a row replaces an older one.

        `news`: what is replaced then; without it all that is not key.
        """
        fields = [field for field in model._meta.concrete_fields if not field.primary_key]
        columns = tuple(field.attname for field in fields)
        if news is None:
            news = tuple(name for name in columns if name not in key)
        return cls(
            model._meta.db_table,
            columns,
            frozenset(field.attname for field in fields if isinstance(field, models.JSONField)),
            {field.attname: field.max_length for field in fields if field.max_length},
            key,
            news,
        )

    @property
    def insert_sql(self) -> str:
        slots = ", ".join(["%s"] * len(self.columns))
        sql = f"INSERT INTO {self.name} ({', '.join(self.columns)}) VALUES ({slots})"
        if not self.key:
            return sql
        news = ", ".join(f"{name} = excluded.{name}" for name in self.news)
        return f"{sql} ON CONFLICT ({', '.join(self.key)}) DO UPDATE SET {news}"

    def write(self, rows: Iterable[dict[str, Any]]) -> None:
        values = [self._values(row) for row in rows]
        if values:
            with connection.cursor() as cursor:
                cursor.executemany(self.insert_sql, values)

    def _values(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple([self._value(name, row[name]) for name in self.columns])

    def _value(self, name: str, value: Any) -> Any:
        if name in self.json:
            return value if isinstance(value, str) else json_text(value)
        return clean(value, self.widths.get(name)) if isinstance(value, str) else value


def clean(text: str, width: int | None = None) -> str:
    """Text as both databases take it: PostgreSQL has no NUL and insists on a column's width."""
    return text.replace("\0", "\ufffd")[:width]


def clean_json(value: Any) -> Any:
    return orjson.loads(json_text(value))


def json_text(value: Any) -> str:
    text = orjson.dumps(value, option=orjson.OPT_SERIALIZE_NUMPY).decode()
    return text.replace("\\u0000", "\\ufffd")
