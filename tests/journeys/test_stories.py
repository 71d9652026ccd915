"""A newcomer's first quarter of an hour: nodes, a pod, why it went where it went, and a pod that goes nowhere."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.journeys.house import House, node, pod, wait_until


@pytest.fixture(scope="module", autouse=True)
def three_nodes(house: House):
    """Every story stands on the same three nodes, whichever is told first."""
    for name in ("ceph1", "ceph2", "ceph3"):
        house.api().create_node(node(name))


@pytest.fixture(autouse=True)
def no_pods(house: House):
    """The nodes are as empty as at the beginning: what one story leaves would weigh on another's scores."""
    api = house.api()
    api.delete_collection_namespaced_pod("default", grace_period_seconds=0)
    wait_until("gone", lambda: not api.list_namespaced_pod("default").items)


def test_kubia_finds_its_node_and_the_page_says_why(house: House, page: Page):
    api = house.api()
    page.goto("/sessions/demo/")
    page.get_by_text("ceph3").first.wait_for()
    body = pod("kubia", cpu="500m")
    body["spec"]["containers"][0]["ports"] = [{"containerPort": 8080}]
    api.create_namespaced_pod("default", body)
    page.get_by_text("kubia").first.wait_for()
    wait_until("bound", lambda: api.read_namespaced_pod("kubia", "default").spec.node_name)
    where = api.read_namespaced_pod("kubia", "default").spec.node_name

    sql = "select number from web_cycle where pod_name = 'kubia' and outcome = 'bound'"
    number = wait_until("recorded", lambda: house.rows(sql))[0][0]
    page.goto(f"/sessions/demo/cycles/{number}/")
    main = page.locator("main")
    for words in ("NodeResourcesFit", "TaintToleration", "ceph1", "ceph2", "ceph3"):
        expect(main).to_contain_text(words)
    expect(main).to_contain_text(where)
    expect(main).to_contain_text("tie")


def test_a_pod_that_fits_nowhere_says_why_and_is_retried_by_a_click(house: House, page: Page):
    api = house.api()
    api.create_namespaced_pod("default", pod("picky", cpu="100m", nodeSelector={"disk": "ssd"}))
    page.goto("/sessions/demo/")
    page.locator("main").get_by_text("picky").first.click()
    reason = "node(s) didn't match Pod's node affinity/selector"
    expect(page.locator("main")).to_contain_text(reason)
    page.locator("#do-retry").click()
    page.locator("#dialog").get_by_role("button", name="Retry now").click()
    expect(page.locator("#dialog")).to_contain_text("Done")
    wait_until(
        "tried again",
        lambda: len(house.rows("select 1 from web_cycle where pod_name = 'picky'")) >= 2,
    )
    page.goto("/audit/")
    expect(page.locator("main")).to_contain_text("default/picky")

    api.patch_node("ceph2", {"metadata": {"labels": {"disk": "ssd"}}})
    wait_until(
        "bound where it wants to be",
        lambda: api.read_namespaced_pod("picky", "default").spec.node_name == "ceph2",
    )


def test_a_pod_is_moved_to_the_top_by_clicking_while_scheduling_is_paused(house: House, page: Page):
    api = house.api()
    page.goto("/sessions/demo/")
    dialog = page.locator("#dialog")
    page.locator("#do-pause").click()
    page.get_by_label("Why").fill("looking at the queue")
    dialog.get_by_role("button", name="Pause").click()
    expect(dialog).to_contain_text("Done")
    page.keyboard.press("Escape")
    expect(page.locator("#notice")).to_contain_text("looking at the queue")

    for name in ("queued-1", "queued-2", "queued-3"):
        api.create_namespaced_pod("default", pod(name, cpu="10m"))
    rows = page.locator("#lane-active li.row")
    expect(rows).to_have_count(3)
    rows.filter(has_text="queued-3").hover()
    page.get_by_role("button", name="Move…").click()
    expect(dialog).to_contain_text("queued-1")
    dialog.locator(".primary").click()
    expect(dialog).to_contain_text("Done")
    expect(rows.first).to_contain_text("queued-3")
    page.keyboard.press("Escape")

    page.locator("#do-resume").click()
    dialog.get_by_role("button", name="Resume").click()
    expect(dialog).to_contain_text("Done")
    sql = "select pod_name from web_cycle where pod_name like 'queued-%' order by number"
    order = wait_until("tried", lambda: len(found := house.rows(sql)) == 3 and found)
    assert [name for (name,) in order] == ["queued-3", "queued-1", "queued-2"]


def test_a_pod_that_cannot_be_read_is_said_and_the_others_go_on(house: House, page: Page):
    api = house.api()
    page.goto("/sessions/demo/")
    api.create_namespaced_pod("default", pod("smudged", cpu="lots"))
    lane = page.locator("#lane-malformed")
    expect(lane).to_contain_text("'lots' is not a quantity")
    api.create_namespaced_pod("default", pod("legible", cpu="10m"))
    expect(page.locator("#lane-bound")).to_contain_text("legible")
    lane.get_by_role("link", name="smudged").click()
    main = page.locator("main")
    expect(main).to_contain_text("It cannot be read: spec.containers[0].resources")
    expect(main).to_contain_text("It is not scheduled until it is put right")
    expect(page.locator("#do-retry, #do-move")).to_have_count(0)

    api.delete_namespaced_pod("smudged", "default", grace_period_seconds=0)
    expect(main).to_contain_text("It was deleted.")
    page.goto("/sessions/demo/")
    expect(page.locator("#lane-bound")).to_contain_text("legible")
    expect(lane).to_be_hidden()


def test_the_board_is_live(house: House, page: Page):
    page.goto("/sessions/demo/")
    page.get_by_text("ceph1").first.wait_for()
    expect(page.locator("header")).to_contain_text("live")


def test_a_filter_says_what_it_leaves_out(house: House, page: Page):
    house.api().create_namespaced_pod("default", pod("lonely", nodeSelector={"disk": "none"}))
    page.goto("/sessions/demo/")
    lane = page.locator("#lane-unschedulable")
    expect(lane).to_contain_text("lonely")
    page.keyboard.press("/")
    page.keyboard.type("nobody")
    expect(lane.get_by_text("No pod like this here.")).to_be_visible()
    expect(lane.get_by_text("Every pod found a node so far.")).to_be_hidden()
    page.keyboard.press("Escape")
    page.goto("/sessions/demo/?q=lonely")
    expect(lane).to_contain_text("lonely")
