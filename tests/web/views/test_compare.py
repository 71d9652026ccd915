"""The page that compares two attempts of one pod."""

from __future__ import annotations

import pytest

from schedviz.web.models import Cycle
from tests.web import sample
from tests.web.views.conftest import HOSTILE

pytestmark = pytest.mark.django_db


@pytest.fixture
def retried(session):
    """uid-10 was tried in cycle 10 in vain, and in cycle 13 with success."""
    made = sample.record(13, sample.pod_ref(10), n_passing=3, attempt=2)
    sample.sink(session).commit(sample.batch(cycles=[made]))
    return session


@pytest.mark.parametrize("path", ["10/with/13/", "13/with/10/"])
def test_the_earlier_one_comes_first(viewer, retried, path, django_assert_max_num_queries):
    with django_assert_max_num_queries(9):
        answer = viewer.get(f"/sessions/demo/cycles/{path}")
    html = answer.content.decode()
    assert (answer.context["first"].number, answer.context["second"].number) == (10, 13)
    assert '→ <span class="ok"><span aria-hidden="true">●</span> passed</span>' in html
    assert "attempt 2" in html


def test_it_is_linked_from_the_pod_and_from_the_cycle(viewer, retried):
    for page in ("pods/uid-10/", "cycles/13/"):
        html = viewer.get(f"/sessions/demo/{page}").content.decode()
        assert "/sessions/demo/cycles/10/with/13/" in html


def test_a_first_attempt_has_nothing_to_be_compared_with(viewer, session):
    for page in ("pods/uid-10/", "cycles/10/"):
        assert "/with/" not in viewer.get(f"/sessions/demo/{page}").content.decode()


def test_without_detail_what_is_left_is_compared(viewer, retried):
    Cycle.objects.filter(number=10).update(blob=None)
    html = viewer.get("/sessions/demo/cycles/10/with/13/").content.decode()
    assert "what is compared is what is left" in html


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("9/with/10/", b"not about the same pod", id="two pods"),
        pytest.param("10/with/99/", b"Cycle 99 is not in the record", id="one is gone"),
        pytest.param("99/with/999/", b"Cycle 99 is not in the record", id="both are gone"),
    ],
)
def test_what_cannot_be_compared_says_why(viewer, session, path, words):
    answer = viewer.get(f"/sessions/demo/cycles/{path}")
    assert answer.status_code == 404
    assert words in answer.content


def test_hostile_words_are_harmless(viewer, retried):
    Cycle.objects.filter(number=10).update(message=HOSTILE, pod_name=HOSTILE)
    html = viewer.get("/sessions/demo/cycles/10/with/13/").content.decode()
    assert "<script>alert" not in html
