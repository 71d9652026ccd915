"""What the environment may say, and what is said when it says nonsense."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from schedviz import environment

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("text", "is_on"), [("1", True), ("true", True), ("0", False), ("", False), ("Off", False)]
)
def test_flags(monkeypatch, text, is_on):
    monkeypatch.setenv("SCHEDVIZ_X", text)
    assert environment.flag("SCHEDVIZ_X", not is_on) is is_on


def test_a_flag_that_is_not_set_has_its_default(monkeypatch):
    monkeypatch.delenv("SCHEDVIZ_X", raising=False)
    assert environment.flag("SCHEDVIZ_X", True) is True


@pytest.mark.parametrize("text", ["0", "-3", "many", "1.5", "²"])
def test_a_number_that_is_none_is_refused(monkeypatch, text):
    monkeypatch.setenv("SCHEDVIZ_X", text)
    with pytest.raises(ImproperlyConfigured, match="write a whole number, 1 or more"):
        environment.number("SCHEDVIZ_X", 1)


def test_a_flag_that_is_none_is_refused(monkeypatch):
    monkeypatch.setenv("SCHEDVIZ_X", "perhaps")
    with pytest.raises(ImproperlyConfigured, match="SCHEDVIZ_X is 'perhaps': write 1 or 0"):
        environment.flag("SCHEDVIZ_X")


def test_the_secret_key_is_made_once_and_for_us_alone(tmp_path):
    key = environment.secret_key(tmp_path)
    assert len(key) >= 50
    assert environment.secret_key(tmp_path) == key
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_a_cut_off_secret_key_is_not_used(tmp_path):
    (tmp_path / "secret_key").write_text("short")
    with pytest.raises(ImproperlyConfigured, match="too short"):
        environment.secret_key(tmp_path)


def test_a_new_data_folder_is_ours_alone(tmp_path):
    folder = environment.data_folder(tmp_path / "a" / "b")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_data_folder_that_cannot_be_is_said(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match="Set SCHEDVIZ_DATA"):
        environment.data_folder(tmp_path / "file" / "data")


@pytest.mark.parametrize(
    ("redis", "celery"),
    [
        ("unix:///a/valkey.sock", "redis+socket:///a/valkey.sock"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("rediss://h:6379/0", "rediss://h:6379/0"),
    ],
)
def test_celery_has_its_own_spelling(redis, celery):
    assert environment.broker_url(redis) == celery


def test_a_public_installation_passes_djangos_deployment_check(tmp_path):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("SCHEDVIZ_", "DJANGO_"))}
    env |= {"SCHEDVIZ_DATA": str(tmp_path), "SCHEDVIZ_ALLOWED_HOSTS": "scheduling.example"}
    check = [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"]
    run = subprocess.run(check, cwd=ROOT, env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    ("logger", "n_lines"),
    [
        pytest.param("celery.worker.consumer.consumer", 1, id="the broker went away"),
        pytest.param("schedviz.web.running", 4, id="a fault of ours keeps its trace"),
    ],
)
def test_what_the_log_says_of_an_exception(logger, n_lines):
    record = logging.LogRecord(logger, logging.WARNING, "f", 1, "lost", None, None)
    record.exc_info = (OSError, OSError("gone"), None)
    record.exc_text = "Traceback\n...\nOSError: gone"
    assert environment.without_trace(record)
    assert len(logging.Formatter("%(message)s").format(record).splitlines()) == n_lines
