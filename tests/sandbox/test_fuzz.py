"""Whatever is sent, the answer is an object or a Status that blames the client; never a fault of the server."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.sandbox.running import Running
from tests.sandbox.speaking import JSON_PATCH, MERGE, PODS, STRATEGIC

FIELDS = """
metadata name namespace labels annotations finalizers spec status nodeName containers conditions type priority
schedulingGates tolerations resources requests limits target deletionTimestamp ports $patch preconditions
gracePeriodSeconds terminationGracePeriodSeconds uid op path value /spec add delete p
"""
WORDS = st.sampled_from(FIELDS.split())
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-9, 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
)
JSON = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5)
)
POD = st.fixed_dictionaries(
    {"metadata": st.just({"name": "p"}) | JSON}, optional={"spec": JSON, "status": JSON}
)


@pytest.fixture(autouse=True)
def pod(sandbox: Running) -> None:
    sandbox.ok("POST", PODS, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}})


CALLS = [
    pytest.param("POST", PODS, "application/json", id="create"),
    pytest.param("PUT", f"{PODS}/p", "application/json", id="update"),
    pytest.param("PUT", f"{PODS}/p/status", "application/json", id="update the status"),
    pytest.param("POST", f"{PODS}/p/binding", "application/json", id="bind"),
    pytest.param("POST", f"{PODS}/p/eviction", "application/json", id="evict"),
    pytest.param("DELETE", f"{PODS}/p", "application/json", id="delete"),
    pytest.param("PATCH", f"{PODS}/p", MERGE, id="merge"),
    pytest.param("PATCH", f"{PODS}/p/status", STRATEGIC, id="strategic merge"),
    pytest.param("PATCH", f"{PODS}/p", JSON_PATCH, id="json patch"),
    pytest.param("POST", "/api/v1/nodes", "application/json", id="create a node"),
    pytest.param(
        "POST", "/api/v1/namespaces/default/events", "application/json", id="create an event"
    ),
    pytest.param(
        "POST",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        "application/json",
        id="create a class",
    ),
]


@pytest.mark.parametrize(("method", "path", "form"), CALLS)
@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(body=POD | JSON)
def test_no_body_is_a_fault_of_the_server(
    sandbox: Running, method: str, path: str, form: str, body: Any
) -> None:
    answer = sandbox.call(method, path, body, form=form)
    assert answer.status_code < 500, answer.text
    assert isinstance(answer.json(), dict)
    for kind in ("pods", "nodes"):
        sandbox.ok("GET", f"/api/v1/{kind}")
