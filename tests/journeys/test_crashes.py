"""kill -9 of each process in turn while pods are being scheduled: nothing is lost, nothing is done twice."""

from __future__ import annotations

import threading
import time

import urllib3
from kubernetes import client
from playwright.sync_api import expect

from tests.journeys.house import House, node, pod, wait_until
from tests.journeys.watching import PodWatch

PODS_A_CRASH = 50
VICTIMS = ("worker", "web", "valkey", "sandbox")


def test_every_pod_is_bound_once_and_recorded_whoever_is_killed(house, page):
    for number in range(10):
        house.api().create_node(node(f"node-{number}", cpu="32", memory="64Gi"))
    page.goto("/sessions/demo/")
    page.get_by_text("node-9").first.wait_for()

    with PodWatch(house) as watch:
        for number, victim in enumerate(VICTIMS):
            crash_while_scheduling(house, watch, victim, first=number * PODS_A_CRASH)
        total = PODS_A_CRASH * len(VICTIMS)
        wait_until("all pods are bound", lambda: watch.n_bound == total, 60)

    assert watch.breaks, "the sandbox was killed, and the watch did not notice"
    assert len(watch.names) == total
    twice = {watch.names[uid]: nodes for uid, nodes in watch.nodes.items() if len(nodes) > 1}
    assert not twice

    bound = {
        (pod.metadata.uid, pod.spec.node_name)
        for pod in house.api().list_namespaced_pod("default").items
    }
    wait_until(
        "each bound pod has its record",
        lambda: not bound - set(house.rows("select pod_uid, node_name from web_cycle")),
        10,
    )
    the_page_is_live_again(house, page)


def test_the_board_says_what_is_away_and_that_it_is_back(house, page):
    page.goto("/sessions/demo/")
    header, notice = page.locator("header"), page.locator("#notice")
    live = page.locator("#live")
    expect(live).to_contain_text("live")
    house.kill("web")
    expect(live).to_contain_text("disconnected")
    expect(live).to_contain_text("live")
    worker = house.children()["worker"]
    worker.suspend()
    expect(live).to_contain_text("stale")
    worker.resume()
    expect(live).to_contain_text("live")
    sandbox = house.children()["sandbox"]
    house.kill("sandbox")
    expect(notice).to_contain_text("The cluster does not answer")
    wait_until("the sandbox is back", lambda: house.children().get("sandbox", sandbox) != sandbox)
    expect(notice).to_be_hidden(timeout=15_000)
    expect(header).to_contain_text("live")


def crash_while_scheduling(house: House, watch: PodWatch, victim: str, *, first: int) -> None:
    """Some pods of this round are bound already, others are not yet made, when it happens."""
    before = watch.n_bound
    creating = threading.Thread(target=create_pods, args=(house, first))
    creating.start()
    wait_until("scheduling goes on", lambda: watch.n_bound >= before + 5)
    killed = house.children()[victim]
    killed.kill()
    creating.join()
    wait_until(
        f"{victim} is started again",
        lambda: victim in house.children() and house.children()[victim].pid != killed.pid,
    )
    wait_until(
        f"scheduling goes on after {victim} was killed",
        lambda: watch.n_bound == before + PODS_A_CRASH,
        45,
    )


def create_pods(house: House, first: int) -> None:
    """As a patient client does: tries again while nobody answers."""
    api = house.api()
    for number in range(first, first + PODS_A_CRASH):
        wait_until("the API server answers", lambda: is_created(api, f"pod-{number:03}"))  # noqa: B023
        time.sleep(0.02)


def is_created(api: client.CoreV1Api, name: str) -> bool:
    try:
        api.create_namespaced_pod("default", pod(name, cpu="100m"), _request_timeout=5)
    except client.ApiException as error:
        return error.status == 409  # it was, and only the answer was lost
    except (urllib3.exceptions.HTTPError, OSError):
        return False
    return True


def the_page_is_live_again(house: House, page) -> None:
    house.api().create_namespaced_pod("default", pod("after-all"))
    page.get_by_text("after-all").first.wait_for()
