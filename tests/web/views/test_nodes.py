"""The table of nodes."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db
PATH = "/sessions/demo/nodes/"


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(5):
        html = viewer.get(PATH).content.decode()
    assert html.count("<meter") == 12
    assert "0.5 <span" in html
    assert "8 GiB" in html


def test_by_name(viewer, session):
    assert viewer.get(PATH, {"q": "0003"}).content.decode().count("<meter") == 2


def test_the_next_ones_come_as_rows(viewer, session):
    from schedviz.web import readers

    after = readers.nodes_page(session, limit=4).next
    html = viewer.get(PATH, {"after": after}, headers={"HX-Request": "true"}).content.decode()
    assert html.count("<meter") == 4
    assert "<html" not in html


def test_a_node_may_have_nothing(viewer, session):
    session.nodes.update(allocatable={}, requested={}, zone="", taints=["<b>=:NoSchedule"])
    html = viewer.get(PATH).content.decode()
    assert "&lt;b&gt;=:NoSchedule" in html


def test_a_node_says_for_whom_room_is_kept_and_when_it_is_promised_twice(viewer, session):
    top = {"pod": "shop/<b>top", "priority": 1000, "requests": {"cpu": 3000}}
    mid = {"pod": "shop/mid", "priority": 100, "requests": {"cpu": 3000, "memory": 1}}
    session.nodes.filter(name="node-0001").update(nominated=[top])
    html = viewer.get(PATH).content.decode()
    assert "nominated: <bdi>shop/&lt;b&gt;top</bdi>" in html
    assert "promised twice" not in html
    session.nodes.filter(name="node-0001").update(nominated=[top, mid])
    assert "promised twice: cpu<" in viewer.get(PATH).content.decode()
