"""The supervisor with tiny real children: it starts, forwards, restarts, stops, and leaves none behind."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import psutil
import pytest

from schedviz.web.supervisor import Program, StartFailed, Stopped, Supervisor

ROOT = Path(__file__).parent.parent


def python(name: str, code: str, **how) -> Program:
    return Program(name, (sys.executable, "-S", "-c", textwrap.dedent(code)), **how)


SLEEPER = "import time; print('up and running'); time.sleep(60)"
STUBBORN = """
    import signal, time
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("will not go")
    time.sleep(60)
"""
# The supervisor as a process of its own, to be interrupted and killed.
ALONE = """
    import sys
    from schedviz.web.supervisor import Program, Stopped, Supervisor
    sleeper = (sys.executable, "-S", "-c", "import time; time.sleep(60)")
    with Supervisor() as supervisor:
        for name in ("one", "two"):
            supervisor.start(Program(name, sleeper))
        supervisor.wait_ready(["one", "two"])
        supervisor.say("pids " + " ".join(str(c.pid) for c in supervisor.children.values()))
        supervisor.run()
"""


@pytest.fixture
def out() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def supervisor(out: io.StringIO):
    with Supervisor(out=out) as supervisor:
        yield supervisor


@pytest.fixture
def alone():
    """A supervisor in its own process and the pids of its two children."""
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(ALONE)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    line = next(line for line in process.stdout if "pids" in line)
    children = [psutil.Process(int(pid)) for pid in line.split("pids")[1].split()]
    yield process, children
    process.kill()
    process.wait()
    process.stdout.close()


def turn_until(supervisor: Supervisor, condition, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        supervisor.turn()


def test_forwards_each_line_with_the_name_of_its_program(supervisor, out):
    supervisor.start(python("poet", "print('roses'); print('no newline', end='')"))
    turn_until(supervisor, lambda: "no newline" in out.getvalue())
    lines = [line for line in out.getvalue().splitlines() if line.startswith("poet ")]
    assert lines == ["poet    | roses", "poet    | no newline"]


def test_ready_line_makes_a_child_ready(supervisor, out):
    supervisor.start(python("slow", SLEEPER, ready_line="running"))
    supervisor.wait_ready(["slow"])
    assert "slow is ready" in out.getvalue()


def test_ready_probe_makes_a_child_ready(supervisor, tmp_path):
    flag = tmp_path / "flag"
    code = f"import time; open({str(flag)!r}, 'w'); time.sleep(60)"
    supervisor.start(python("flagger", code, ready=flag.exists))
    supervisor.wait_ready(["flagger"])
    assert flag.exists()


def test_killed_child_is_started_again_and_says_so(supervisor, out):
    supervisor.start(python("phoenix", SLEEPER, ready_line="running"))
    supervisor.wait_ready(["phoenix"])
    first = supervisor.children["phoenix"].pid
    os.kill(first, signal.SIGKILL)
    turn_until(supervisor, lambda: "phoenix is back" in out.getvalue())
    assert supervisor.children["phoenix"].pid != first
    assert "phoenix was killed by SIGKILL; starting it again in 0.5 s" in out.getvalue()


def test_child_that_cannot_start_is_given_up_with_its_last_words(supervisor):
    supervisor.start(python("hopeless", "import sys; sys.exit('no port for me')", ready_line="ok"))
    with pytest.raises(StartFailed, match=r"(?s)hopeless does not start.*no port for me"):
        supervisor.wait_ready(["hopeless"])


def test_program_that_is_not_there_is_said_in_words(supervisor):
    supervisor.start(Program("ghost", ("/nowhere/ghost",), ready_line="boo"))
    with pytest.raises(StartFailed, match="cannot run /nowhere/ghost: No such file"):
        supervisor.wait_ready(["ghost"])


def test_child_that_never_gets_ready_is_named_when_time_is_up(supervisor):
    supervisor.start(python("mute", SLEEPER, ready_line="never said"))
    with pytest.raises(StartFailed, match="mute not ready after 0 s"):
        supervisor.wait_ready(["mute"], seconds=0.2)


def test_signal_while_waiting_raises_stopped(supervisor):
    supervisor.start(python("mute", SLEEPER, ready_line="never said"))
    os.kill(os.getpid(), signal.SIGTERM)
    with pytest.raises(Stopped):
        supervisor.wait_ready(["mute"])


def test_stop_ends_later_layers_first(supervisor, out):
    code = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit("bye from {0}"))
        print("running")
        time.sleep(60)
    """
    supervisor.start(python("store", code.format("store"), ready_line="running", layer=0))
    supervisor.start(python("web", code.format("web"), ready_line="running", layer=1))
    supervisor.wait_ready(["store", "web"])
    supervisor.stop()
    said = out.getvalue()
    assert 0 < said.index("bye from web") < said.index("bye from store")


def test_stop_kills_who_does_not_listen(supervisor):
    supervisor.start(python("stubborn", STUBBORN, ready_line="will not go"))
    supervisor.wait_ready(["stubborn"])
    process = psutil.Process(supervisor.children["stubborn"].pid)
    began = time.monotonic()
    supervisor.stop()
    assert time.monotonic() - began < 4
    assert not process.is_running()


def test_grandchildren_go_with_their_parent(supervisor, tmp_path):
    pid_file = tmp_path / "pid"
    code = f"""
        import os, subprocess, sys, time
        child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
        open({str(pid_file)!r}, "w").write(str(child.pid))
        print("running")
        time.sleep(60)
    """
    supervisor.start(python("parent", code, ready_line="running"))
    supervisor.wait_ready(["parent"])
    grandchild = psutil.Process(int(pid_file.read_text()))
    supervisor.stop()
    _gone, alive = psutil.wait_procs([grandchild], timeout=5)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


@pytest.mark.parametrize(
    "number",
    [
        pytest.param(signal.SIGINT, id="Ctrl-C"),
        pytest.param(signal.SIGTERM, id="TERM"),
        pytest.param(signal.SIGHUP, id="terminal closed"),
    ],
)
def test_signal_stops_all_within_five_seconds(alone, number):
    process, children = alone
    process.send_signal(number)
    assert process.wait(timeout=5) == 0
    assert not any(child.is_running() for child in children)


@pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux can tie a child's life to its parent's"
)
def test_children_die_with_a_supervisor_that_is_killed(alone):
    process, children = alone
    process.kill()
    _gone, alive = psutil.wait_procs(children, timeout=5)
    assert not [p for p in alive if p.status() != psutil.STATUS_ZOMBIE]


def test_reader_who_went_away_stops_it(alone):
    process, children = alone
    process.stdout.close()
    os.kill(children[0].pid, signal.SIGKILL)  # makes it want to say something
    assert process.wait(timeout=6) == 0
    assert not any(child.is_running() for child in children)


def test_a_closed_terminal_stops_it_though_no_signal_comes():
    """As when `make` leads the terminal's session: it takes the SIGHUP, and waits for us."""
    ours, terminal = os.openpty()
    code = textwrap.dedent(ALONE)
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=terminal)
    os.close(terminal)
    try:
        with os.fdopen(ours) as screen:
            line = next(line for line in screen if "pids" in line)
        children = [psutil.Process(int(pid)) for pid in line.split("pids")[1].split()]
        assert process.wait(timeout=6) == 0
        assert not any(child.is_running() for child in children)
    finally:
        process.kill()
        process.wait()
