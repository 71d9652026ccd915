"""Every question has few queries, pages by keyset, and answers what was recorded."""

from __future__ import annotations

import pytest

from schedviz.web import readers
from schedviz.web.models import Audit
from tests.web import people, sample

pytestmark = pytest.mark.django_db


@pytest.fixture
def session():
    session = people.session()
    sample.fill(session, n_bound=8, n_pending=4)
    return session


def pages(question, **options):
    """All pages of a list, one after the other."""
    rows, after = [], None
    while True:
        page = question(after=after, **options)
        rows.append([row.pk for row in page.rows])
        if page.next is None:
            return rows
        after = page.next


@pytest.mark.parametrize(
    ("question", "n_queries"),
    [
        pytest.param(lambda s: readers.sessions_list(), 1, id="sessions"),
        pytest.param(lambda s: readers.session_by_name("demo"), 1, id="a session"),
        pytest.param(lambda s: readers.board_snapshot(s.pk), 4, id="the board"),
        pytest.param(lambda s: readers.cycle_detail(s, 3), 1, id="a cycle"),
        pytest.param(lambda s: readers.cycles_page(s), 1, id="cycles"),
        pytest.param(lambda s: readers.pod_detail(s, "uid-3"), 3, id="a pod"),
        pytest.param(lambda s: readers.pods_page(s), 1, id="pods"),
        pytest.param(lambda s: readers.audit_page(), 1, id="the audit log"),
    ],
)
def test_queries_are_few(session, django_assert_num_queries, question, n_queries):
    with django_assert_num_queries(n_queries):
        question(session)


def test_lists_do_not_load_the_heavy_columns(session, django_assert_num_queries):
    with django_assert_num_queries(1):
        assert {"blob", "summary"} <= readers.cycles_page(session).rows[0].get_deferred_fields()


@pytest.mark.parametrize("limit", [1, 5, 12, 100])
def test_pages_join_without_gap_or_twin(session, limit):
    for question, whole in ((readers.cycles_page, 12), (readers.pods_page, 12)):
        rows = pages(lambda q=question, **o: q(session, **o), limit=limit)
        flat = [pk for page in rows for pk in page]
        assert len(flat) == len(set(flat)) == whole


@pytest.mark.parametrize("after", ["", "x", "-1", "9" * 40, "W10", "bnVsbA", "é", "WyJhIl0"])
def test_a_nonsense_key_shows_the_first_page(session, after):
    for question in (readers.cycles_page, readers.pods_page):
        assert len(question(session, after=after).rows) == 12


def test_cycles_newest_first_of_one_outcome(session):
    rows = readers.cycles_page(session, outcome="bound").rows
    assert [row.number for row in rows] == [8, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("options", "n_pods"),
    [
        pytest.param({"lane": "bound"}, 8, id="a lane"),
        pytest.param({"text": "pod-1"}, 4, id="a part of the name"),
        pytest.param({"text": "team-a/pod-1"}, 4, id="with its namespace"),
        pytest.param({"text": "team-b/pod-1"}, 0, id="another namespace"),
    ],
)
def test_pods_that_match(session, options, n_pods):
    assert len(readers.pods_page(session, **options).rows) == n_pods


def test_a_pod_with_its_attempts_and_moves(session):
    detail = readers.pod_detail(session, "uid-3")
    assert detail.pod.lane == "bound"
    assert [row.number for row in detail.cycles] == [3]
    assert [move.cause for move in detail.moves] == ["Bound", "Assumed", "Popped"]


@pytest.mark.parametrize("number", [0, 99])
def test_a_cycle_that_is_not_there(session, number):
    assert readers.cycle_detail(session, number) is None


def test_the_board_has_all_that_waits_and_what_was_bound_lately(session):
    snapshot = readers.board_snapshot(session.pk)
    lanes = sorted(row["lane"] for row in snapshot["pods"])
    assert lanes == ["backoff"] * 2 + ["bound"] * 8 + ["unschedulable"] * 2
    assert [row["name"] for row in snapshot["nodes"]] == list(sample.node_names(6))
    assert snapshot["seq"] == session.seq


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        pytest.param({"desired": "stopped", "state": "stopped"}, "stopped", id="as wanted"),
        pytest.param({"desired": "running", "state": "stopped"}, "waiting", id="nobody has it"),
        pytest.param({"desired": "running", "state": "starting"}, "starting", id="on its way"),
        pytest.param({"desired": "running", "state": "running"}, "running", id="all is well"),
        pytest.param({"desired": "stopped", "state": "running"}, "stopping", id="still there"),
        pytest.param({"desired": "running", "state": "failed"}, "failed", id="failed"),
        pytest.param({"desired": "stopped", "state": "failed"}, "stopped", id="no more tries"),
        pytest.param({"state": "running", "heartbeat_at": 90.0}, "stale", id="silent too long"),
    ],
)
def test_the_state_in_one_word(fields, word):
    session = people.session(**{"heartbeat_at": 100.0} | fields)
    assert readers.session_status(session, now=101.0)[0] == word


def test_the_audit_log_of_a_session_and_a_person(session):
    other = people.session("other")
    for user, of in (("olga", session), ("olga", other), ("alice", session)):
        Audit.objects.create(user=user, action="x", session=of, outcome="ok")
    assert len(readers.audit_page(session=session, user="olga").rows) == 1
    assert [row.user for row in readers.audit_page().rows] == ["alice", "olga", "olga"]
