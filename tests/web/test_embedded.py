"""What `up` finds out before and while it starts: each obstacle is one sentence, each probe tells the truth."""

from __future__ import annotations

import http.server
import json
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from schedviz.web import embedded
from schedviz.web.embedded import CannotStart


class Pages(http.server.BaseHTTPRequestHandler):
    """Answers /healthz, and makes one sandbox for those with the token."""

    def do_GET(self):
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_admin = self.headers["Authorization"] == "Bearer sesame"
        is_known = body["scenario"] == "steady"
        self.send_response(201 if is_admin and is_known else 400 if is_admin else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        said = {"message": f"no scenario {body['scenario']}", "scenario": self.server.began_with}
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        server.began_with = "steady"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        server.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def taken_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


def test_second_up_on_a_folder_is_refused(tmp_path):
    with embedded.sole_use(tmp_path, "http://127.0.0.1:8000/"):
        told = r"running on .* already \(process \d+, http://127\.0\.0\.1:8000/\)"
        with pytest.raises(CannotStart, match=told), embedded.sole_use(tmp_path, "other"):
            pass


def test_folder_is_free_again_afterwards(tmp_path):
    for _ in range(2):
        with embedded.sole_use(tmp_path, "http://127.0.0.1:8000/"):
            pass


def test_unwritable_folder_is_said():
    folder = Path("/proc/1/x")
    with pytest.raises(CannotStart, match="cannot write to"), embedded.sole_use(folder, "url"):
        pass


def test_port_in_use_is_said_with_one_that_is_free(taken_port):
    with pytest.raises(
        CannotStart, match=rf"port {taken_port} is in use; .*--port (\d+) \(make demo PORT=\1\)"
    ):
        embedded.check_port("127.0.0.1", taken_port)


def test_free_port_is_free():
    embedded.check_port("127.0.0.1", embedded.free_port())


def test_address_of_another_machine_is_said():
    with pytest.raises(CannotStart, match=r"'no\.such\.host\.invalid' is no address"):
        embedded.check_port("no.such.host.invalid", 8000)


def test_kept_port_stays(tmp_path):
    path = tmp_path / "sandbox" / "port"
    assert embedded.kept_port(path) == embedded.kept_port(path)


def test_kept_port_in_use_is_replaced(tmp_path, taken_port):
    path = tmp_path / "port"
    path.write_text(str(taken_port))
    assert embedded.kept_port(path) != taken_port


@pytest.mark.parametrize("text", ["", "many", "-1", "99999999"])
def test_kept_port_that_is_none_is_replaced(tmp_path, text):
    path = tmp_path / "port"
    path.write_text(text)
    assert 0 < embedded.kept_port(path) < 65536


def test_socket_is_in_the_data_folder(tmp_path):
    with embedded.socket_path(Path("/data")) as path:
        assert path == Path("/data/valkey.sock")


def test_long_folder_gets_a_short_socket(tmp_path):
    with embedded.socket_path(Path("/d" * 60)) as path:
        assert len(str(path)) < embedded.SOCKET_PATH_LIMIT
        assert path.parent.is_dir()
    assert not path.parent.exists()


def test_bundled_valkey_answers(tmp_path):
    with embedded.socket_path(tmp_path) as path:
        assert not embedded.valkey_answers(path)
        valkey = subprocess.Popen(embedded.valkey_argv(path), stdout=subprocess.DEVNULL)
        try:
            while not embedded.valkey_answers(path):
                assert valkey.poll() is None
        finally:
            valkey.kill()
            valkey.wait()


def test_http_answers_only_when_all_is_well(server):
    assert embedded.http_answers(f"{server.url}/healthz")
    assert not embedded.http_answers(f"{server.url}/elsewhere")
    assert not embedded.http_answers(f"http://127.0.0.1:{embedded.free_port()}/healthz")


def test_sandbox_is_made_with_the_admin_token(server, tmp_path):
    token = tmp_path / "admin.token"
    token.write_text("sesame\n")
    assert (
        embedded.make_sandbox(server.url, token, "demo", "steady") == tmp_path / "demo.kubeconfig"
    )


def test_a_sandbox_that_is_there_keeps_its_scenario(server, tmp_path):
    token = tmp_path / "admin.token"
    token.write_text("sesame")
    server.began_with = "ceph"
    assert embedded.make_sandbox(server.url, token, "demo", "")
    with pytest.raises(CannotStart, match=r"began with scenario 'ceph'.*--data for 'steady'"):
        embedded.make_sandbox(server.url, token, "demo", "steady")


def test_unknown_scenario_is_said(server, tmp_path):
    token = tmp_path / "admin.token"
    token.write_text("sesame")
    with pytest.raises(CannotStart, match="will not make sandbox 'demo': no scenario nix"):
        embedded.make_sandbox(server.url, token, "demo", "nix")


KUBECONFIG = """
apiVersion: v1
current-context: blue
contexts: [{name: blue}, {name: green}]
"""


@pytest.mark.parametrize(
    ("text", "wanted", "name"),
    [
        pytest.param(KUBECONFIG, "", "blue", id="current context"),
        pytest.param(KUBECONFIG, "green", "green", id="context asked for"),
    ],
)
def test_kubeconfig_context(tmp_path, text, wanted, name):
    path = tmp_path / "config"
    path.write_text(text)
    assert embedded.kubeconfig_context(path, wanted) == name


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        pytest.param(KUBECONFIG, "red", "no context 'red'; --context can be: blue, green", id="no"),
        pytest.param("contexts: []", "", "has no current-context", id="no current context"),
        pytest.param("hello", "", "has no contexts: is it a kubeconfig", id="not a kubeconfig"),
        pytest.param("a: [", "", "is no YAML", id="not YAML"),
    ],
)
def test_kubeconfig_that_cannot_be_used_is_said(tmp_path, text, wanted, told):
    path = tmp_path / "config"
    path.write_text(text)
    with pytest.raises(CannotStart, match=told):
        embedded.kubeconfig_context(path, wanted)


def test_missing_kubeconfig_is_said(tmp_path):
    with pytest.raises(CannotStart, match="cannot be read"):
        embedded.kubeconfig_context(tmp_path / "none", "")
