"""Configuration files: checked on the command line, kept by sessions, run by them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from django.core.exceptions import PermissionDenied
from django.core.management import CommandError, call_command

from schedviz.scheduler.config import ConfigError
from schedviz.web import actions, configs
from schedviz.web.embedded import CannotStart
from schedviz.web.management.commands.up import check_config, configure_session
from schedviz.web.models import Audit, Session
from schedviz.web.permissions import Shell
from schedviz.web.running import _configured
from tests.web import people

HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
PACKER = HEAD + (
    "podInitialBackoffSeconds: 2\npodMaxBackoffSeconds: 30\n"
    "profiles:\n- schedulerName: packer\n  pluginConfig:\n  - name: NodeResourcesFit\n"
    "    args: {scoringStrategy: {type: MostAllocated}}\n- schedulerName: default-scheduler\n"
)
EXTENDED = HEAD + "extenders:\n- {urlPrefix: 'http://127.0.0.1:9100/', filterVerb: filter}\n"
WRONG = HEAD + "parallelism: 0\npodMaxBackoffSeconds: 0\n"


@pytest.fixture
def written(tmp_path: Path):
    def write(text: str, name: str = "scheduler.yaml") -> str:
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def run(*args, **options) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*args, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


# ---- check_config ------------------------------------------------------------------------------------------------


def test_a_second_document_is_told_and_not_read(written):
    out, err = run("check_config", written(PACKER + "---\nkind: Nonsense\n"))
    assert out == run("check_config", written(PACKER, "alone.yaml"))[0]
    assert "a second document begins here" in err


def test_a_good_file_is_printed_with_every_default(written):
    out, err = run("check_config", written(PACKER))
    found = yaml.safe_load(out)
    assert (found["podMaxBackoffSeconds"], found["parallelism"]) == (30, 16)
    assert [one["schedulerName"] for one in found["profiles"]] == ["packer", "default-scheduler"]
    assert err == ""


def test_what_it_prints_it_reads(written):
    out, _ = run("check_config", written(PACKER))
    assert run("check_config", written(out, "again.yaml"))[0] == out


def test_extenders_are_accepted(written):
    out, err = run("check_config", written(EXTENDED))
    assert yaml.safe_load(out)["extenders"][0]["httpTimeout"] == "5s"
    assert err == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(
            WRONG, ["scheduler.yaml:3: parallelism: ", "scheduler.yaml:4: podMax"], id="rules"
        ),
        pytest.param(
            HEAD + "parralelism: 1\n", [":3: parralelism: ", "mend: did you"], id="a typo"
        ),
        pytest.param("", ["scheduler.yaml:1: ", "the file is empty"], id="an empty file"),
        pytest.param(HEAD + "\tparallelism: 1\n", [":3: ", "spaces"], id="a tab"),
        pytest.param(
            PACKER.replace("k8s.io/v1\n", "k8s.io/v1beta3\n"),
            ["no kind", "It could be written so:", "schedulerName: packer"],
            id="an old version, with a proposal",
        ),
    ],
)
def test_a_bad_file_is_told_with_line_field_and_what_would_help(written, text, words):
    path, err = written(text), io.StringIO()
    with pytest.raises(SystemExit) as ending:
        call_command("check_config", path, stderr=err)
    assert ending.value.code == 1
    assert not [word for word in words if word not in err.getvalue()], err.getvalue()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        pytest.param(None, "No such file", id="no such file"),
        pytest.param(b"a: \xff\n", "UTF-8", id="no text"),
    ],
)
def test_a_file_that_cannot_be_read(tmp_path, data, words):
    path = tmp_path / "x.yaml"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(ConfigError, match=words):
        configs.from_file(path)


# ---- sessions ----------------------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_a_session_is_created_with_a_configuration(written):
    args = ("session", "create", "prod", "--kubeconfig", "/etc/kubeconfig")
    out, _ = run(*args, "--config", written(PACKER))
    session = Session.objects.get()
    assert session.scheduler_names == ["packer", "default-scheduler"]
    assert session.config["name"] == "scheduler.yaml"
    assert "for pods of packer, default-scheduler" in out


@pytest.mark.django_db
def test_a_session_runs_its_profiles_and_backoffs(written):
    session = people.session(config=configs.checked("c.yaml", PACKER).kept())
    profiles, queue = _configured(session)
    assert list(profiles) == ["packer", "default-scheduler"]
    assert profiles["packer"].plugins["NodeResourcesFit"].args.strategy == "MostAllocated"
    assert (queue.initial_backoff_seconds, queue.max_backoff_seconds) == (2.0, 30.0)


@pytest.mark.django_db
def test_a_session_without_a_configuration_runs_the_defaults():
    profiles, queue = _configured(people.session(scheduler_names=["a", "b"]))
    assert (list(profiles), queue) == (["a", "b"], None)


@pytest.mark.django_db
def test_a_session_is_configured_and_back_to_the_defaults(written):
    people.session()
    assert "from its next start on" in run("session", "configure", "demo", written(PACKER))[0]
    assert Session.objects.get().scheduler_names == ["packer", "default-scheduler"]
    run("session", "configure", "demo")
    assert Session.objects.get().config == {}
    assert [row.after["config"] for row in Audit.objects.order_by("id")] == ["scheduler.yaml", ""]


@pytest.mark.django_db
def test_only_an_admin_configures():
    session, config = people.session(), configs.checked("c.yaml", PACKER)
    with pytest.raises(PermissionDenied):
        actions.session_configure(people.olga(), session, config)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        pytest.param(WRONG, (), "scheduler.yaml:3: parallelism", id="a bad file"),
        pytest.param(HEAD, (), "write schedulerName: schedviz", id="default-scheduler, unsaid"),
        pytest.param(PACKER, ("--scheduler-name", "x"), "leave the names out", id="names twice"),
    ],
)
def test_what_cannot_be_created_says_why(written, text, more, words):
    args = ("session", "create", "x", "--kubeconfig", "/etc/kubeconfig", "--config", written(text))
    with pytest.raises(CommandError, match=words):
        run(*args, *more)
    assert not Session.objects.exists()


@pytest.mark.django_db
def test_pages_say_that_a_session_is_configured_and_whom_it_asks(client):
    secret = EXTENDED.replace("http://", "http://me:secret@")
    people.session(config=configs.checked("mine.yaml", secret).kept())
    client.force_login(people.victor())
    for url in ("/sessions/", "/sessions/demo/"):
        html = client.get(url).content.decode()
        assert "mine.yaml" in html
        assert "secret" not in html
        assert "http://127.0.0.1:9100/" in html or "asks 1 extender" in html


# ---- up ----------------------------------------------------------------------------------------------------------


def test_up_says_in_one_line_what_is_wrong(written):
    path = written(WRONG)
    with pytest.raises(CannotStart) as refused:
        check_config(path, in_sandbox=True)
    text = str(refused.value)
    assert text.startswith(f"--config {path}: line 3: parallelism: ")
    assert "(and 1 more)" in text
    assert "\n" not in text


def test_up_takes_no_default_scheduler_from_a_real_cluster_unasked(written):
    with pytest.raises(CannotStart, match="schedulerName"):
        check_config(written(HEAD), in_sandbox=False)


@pytest.mark.django_db
def test_up_configures_the_session_of_an_earlier_start(written):
    people.session()

    class Plan:
        session_name, kubeconfig, config = "demo", "", written(PACKER)

    configure_session(Plan)
    assert Session.objects.get().config["name"] == "scheduler.yaml"


@pytest.mark.django_db
def test_the_demo_is_made_with_its_configuration(written):
    run("bootstrap_demo", kubeconfig="/a/demo.kubeconfig", config=written(PACKER))
    assert Session.objects.get().scheduler_names == ["packer", "default-scheduler"]


@pytest.mark.django_db
def test_the_shell_may_configure():
    session = people.session()
    actions.session_configure(Shell(), session, configs.checked("c.yaml", PACKER))
    assert Session.objects.get().config["text"] == PACKER
