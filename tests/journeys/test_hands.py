"""An operator's hands on the queue, by clicking: hold and release, undo a move, retry many at once."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.journeys.house import House, node, pod, wait_until


@pytest.fixture(scope="module", autouse=True)
def one_node(house: House):
    house.api().create_node(node("ceph1"))


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/{name}.png")


def tool(page: Page, row: Locator, name: str) -> Locator:
    """A button on the row under the pointer; the dialog that it opens."""
    row.hover()
    page.get_by_role("button", name=f"{name}…", exact=True).click()
    return page.locator("#dialog")


def done(dialog: Locator, page: Page, primary: str) -> None:
    dialog.get_by_role("button", name=primary, exact=True).click()
    expect(dialog).to_contain_text("Done")


def test_a_pod_is_held_on_the_board_and_released_on_its_page(house: House, page: Page):
    api = house.api()
    api.create_namespaced_pod("default", pod("careful", cpu="10m", nodeSelector={"disk": "ssd"}))
    page.goto("/sessions/demo/")
    row = page.locator("#lane-unschedulable li.row").filter(has_text="careful")
    dialog = tool(page, row, "Hold")
    picture(page, "hold")
    page.get_by_label("Why").fill("until Monday")
    done(dialog, page, "Hold it")
    page.keyboard.press("Escape")
    held = page.locator("#lane-gated li.row").filter(has_text="careful")
    expect(held).to_contain_text("until Monday")
    api.patch_node("ceph1", {"metadata": {"labels": {"disk": "ssd"}}})  # now it would fit
    api.create_namespaced_pod("default", pod("other", cpu="10m"))
    expect(page.locator("#lane-bound")).to_contain_text("other")
    picture(page, "held")
    expect(held).to_be_visible()

    held.get_by_role("link").click()
    expect(page.locator("main")).to_contain_text("It is tried when somebody releases it")
    picture(page, "held-page")
    page.locator("#do-release").click()
    done(dialog, page, "Release it")
    wait_until(
        "bound", lambda: api.read_namespaced_pod("careful", "default").spec.node_name == "ceph1"
    )


def test_a_move_is_undone_where_it_was_made(house: House, page: Page):
    api = house.api()
    page.goto("/sessions/demo/")
    dialog = page.locator("#dialog")
    page.locator("#do-pause").click()
    page.get_by_label("Why").fill("to look")
    done(dialog, page, "Pause")
    page.keyboard.press("Escape")
    for name in ("q-1", "q-2", "q-3"):
        api.create_namespaced_pod("default", pod(name, cpu="10m"))
    rows = page.locator("#lane-active li.row")
    expect(rows).to_have_count(3)
    tool(page, rows.filter(has_text="q-3"), "Move")
    done(dialog, page, "Move it")
    expect(rows.first).to_contain_text("q-3")
    picture(page, "moved")
    dialog.get_by_role("button", name="Undo").click()
    expect(dialog).to_contain_text("The pod is at position 3 of 3")
    expect(rows.last).to_contain_text("q-3")
    page.keyboard.press("Escape")
    page.locator("#do-resume").click()
    done(dialog, page, "Resume")
    sql = "select pod_name from web_cycle where pod_name like 'q-%' order by number"
    order = wait_until("tried", lambda: len(found := house.rows(sql)) == 3 and found)
    assert [name for (name,) in order] == ["q-1", "q-2", "q-3"]


def test_an_answer_that_comes_after_its_dialog_was_closed_does_not_open_it_again(
    house: House, page: Page
):
    house.api().create_namespaced_pod("default", pod("shy", nodeSelector={"no": "where"}))
    page.goto("/sessions/demo/")
    row = page.locator("#lane-unschedulable li.row").filter(has_text="shy")
    dialog = tool(page, row, "Hold")
    page.route("**/commands/*/", lambda route: None)  # it has to wait
    with page.expect_request("**/commands/*/"):
        dialog.get_by_role("button", name="Hold it", exact=True).click()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.unroute("**/commands/*/")  # lets it go on
    expect(page.locator("#toast")).to_contain_text("The pod is held")
    expect(dialog).to_be_hidden()


def test_many_are_retried_by_one_click(house: House, page: Page):
    api = house.api()
    for n in range(4):
        api.create_namespaced_pod("default", pod(f"many-{n}", nodeSelector={"no": "where"}))
    page.goto("/sessions/demo/")
    lane = page.locator("#lane-unschedulable")
    expect(lane.locator("li.row")).to_have_count(4)
    lane.hover()
    page.get_by_role("button", name="Retry many…").and_(page.locator(":visible")).first.click()
    dialog = page.locator("#dialog")
    expect(dialog).to_contain_text("many-0")
    picture(page, "flush")
    dialog.get_by_label("Which").select_option("plugin:NodeAffinity")
    expect(dialog.locator("#flush-preview")).to_contain_text("4 waiting")
    done(dialog, page, "Retry them")
    expect(dialog).to_contain_text("Of 4 pods refused by NodeAffinity alone, 4 are active now.")
    picture(page, "flushed")
    sql = "select count(*) from web_cycle where pod_name like 'many-%'"
    wait_until("each tried again", lambda: house.rows(sql)[0][0] >= 8)
    page.goto("/audit/")
    expect(page.locator("main")).to_contain_text("4 tried now")
    picture(page, "audit")
