"""The list of pods."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.django_db
PATH = "/sessions/demo/pods/"


def test_it_works(viewer, session, django_assert_max_num_queries):
    with django_assert_max_num_queries(6):
        html = viewer.get(PATH).content.decode()
    assert html.count('<tr class="go">') == 12
    assert "Bound <b>8</b>" in html


@pytest.mark.parametrize(
    ("query", "n"),
    [
        pytest.param({"lane": "bound"}, 8, id="a lane"),
        pytest.param({"lane": "nonsense"}, 12, id="no lane of ours shows all"),
        pytest.param({"q": "pod-1"}, 4, id="a part of the name"),
        pytest.param({"q": "team-a/pod-12"}, 1, id="with its namespace"),
        pytest.param({"q": "team-b/"}, 0, id="another namespace"),
    ],
)
def test_filters(viewer, session, query, n):
    assert viewer.get(PATH, query).content.decode().count('<tr class="go">') == n


def test_hostile_names_are_harmless(viewer, hostile_pod):
    html = viewer.get(PATH).content.decode()
    assert "<script>alert" not in html
    assert "&lt;script&gt;alert" in html


def test_without_pods_it_says_what_to_do(viewer, session):
    session.pods.all().delete()
    assert b"kubectl" in viewer.get(PATH).content
