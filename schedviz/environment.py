"""What the environment says, read and checked for `settings`: flags, numbers, the data folder, the secret key."""

from __future__ import annotations

import logging
import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"", "0", "false", "no", "off"}


def flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name)
    if value is None:
        return default
    if value.lower() not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is {value!r}: write 1 or 0")
    return value.lower() in TRUE


def number(name: str, default: int) -> int:
    """A whole number of at least 1."""
    value = os.environ.get(name) or str(default)
    if not value.isascii() or not value.isdigit() or int(value) < 1:
        raise ImproperlyConfigured(f"{name} is {value!r}: write a whole number, 1 or more")
    return int(value)


def words(name: str) -> list[str]:
    """A list separated by commas or spaces."""
    return os.environ.get(name, "").replace(",", " ").split()


def data_folder(path: str | Path) -> Path:
    """Makes sure that the folder is there and readable by us alone when we make it."""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"cannot make the data folder {folder}: {error.strerror}. Set SCHEDVIZ_DATA to a folder you may write to"
        ) from error
    return folder


def secret_key(folder: Path) -> str:
    """Django's secret key, made once and kept in the data folder; processes that start together agree on one."""
    path = folder / "secret_key"
    try:
        if not path.exists():
            draft = folder / f".secret_key.{os.getpid()}.{secrets.token_hex(4)}"
            with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as out:
                out.write(secrets.token_urlsafe(64))
            try:
                os.link(draft, path)
            except FileExistsError:
                pass  # another process was first: its key counts
            finally:
                draft.unlink()
        key = path.read_text().strip()
    except OSError as error:
        raise ImproperlyConfigured(
            f"cannot read or make the secret key {path}: {error.strerror}. "
            "Set SCHEDVIZ_DATA to a folder you may write to"
        ) from error
    if len(key) < 50:
        raise ImproperlyConfigured(
            f"the secret key in {path} is too short: delete the file to have a new one made"
        )
    return key


def broker_url(redis_url: str) -> str:
    """The same Redis as Celery spells it."""
    if redis_url.startswith("unix://"):
        return "redis+socket://" + redis_url.removeprefix("unix://")
    return redis_url


def without_trace(record: logging.LogRecord) -> bool:
    """A filter of the log: that the broker went away is news of one line; where in Celery it was noticed is none."""
    if record.name.startswith("celery.worker.consumer"):
        record.exc_info = record.exc_text = None
    return True
