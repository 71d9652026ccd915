"""Label and field selectors of lists, over the whole grammar."""

from __future__ import annotations

import pytest

from schedviz.sandbox.selectors import test_of as selects
from schedviz.sandbox.status import ApiError

WEB = {
    "metadata": {
        "name": "web-1",
        "namespace": "shop",
        "labels": {"app": "web", "tier": "front", "example.com/size": "7", "empty": ""},
    },
    "spec": {"nodeName": "n1", "schedulerName": "default-scheduler"},
    "status": {"phase": "Running"},
}


@pytest.mark.parametrize(
    ("labels", "fields", "expected"),
    [
        pytest.param("app=web", "", True, id="equal"),
        pytest.param("app==web", "", True, id="equal with two signs"),
        pytest.param("app = web", "", True, id="equal with spaces"),
        pytest.param("app=api", "", False, id="another value"),
        pytest.param("app!=api", "", True, id="unequal"),
        pytest.param("nothing!=api", "", True, id="unequal holds where the key is absent"),
        pytest.param("app in (api, web)", "", True, id="in"),
        pytest.param("app in (api,db)", "", False, id="not in"),
        pytest.param("app notin (api,db)", "", True, id="notin"),
        pytest.param("nothing notin (api)", "", True, id="notin holds where the key is absent"),
        pytest.param("app notin (web)", "", False, id="notin its value"),
        pytest.param("app", "", True, id="exists"),
        pytest.param("!app", "", False, id="does not exist"),
        pytest.param("!nothing", "", True, id="an absent key does not exist"),
        pytest.param("empty=", "", True, id="equal to nothing"),
        pytest.param("example.com/size", "", True, id="a key with a prefix"),
        pytest.param("app=web,tier=front", "", True, id="all of several"),
        pytest.param("app in (web,api),tier!=front", "", False, id="not all of several"),
        pytest.param("app in (web),!nothing, tier", "", True, id="a mixture"),
        pytest.param("example.com/size>6", "", True, id="greater"),
        pytest.param("example.com/size<6", "", False, id="less"),
        pytest.param("", "metadata.name=web-1", True, id="by name"),
        pytest.param("", "metadata.namespace=shop", True, id="by namespace"),
        pytest.param("", "spec.nodeName=n1", True, id="by node"),
        pytest.param("", "spec.nodeName!=", True, id="bound at all"),
        pytest.param("", "spec.nodeName=", False, id="not bound"),
        pytest.param("", "spec.schedulerName=default-scheduler", True, id="by scheduler"),
        pytest.param("", "status.phase!=Running", False, id="not of that phase"),
        pytest.param("", "status.phase=Running,spec.nodeName=n2", False, id="not all fields"),
        pytest.param("app=web", "status.phase=Running", True, id="labels and fields"),
    ],
)
def test_a_selector_picks(labels: str, fields: str, expected: bool) -> None:
    test = selects(labels, fields)
    assert test is not None
    assert test(WEB) is expected


def test_no_selector_is_no_test() -> None:
    assert selects("", "") is None


@pytest.mark.parametrize(
    ("labels", "fields"),
    [
        pytest.param("app in web", "", id="in without parentheses"),
        pytest.param("=web", "", id="no key"),
        pytest.param("app=web tier=front", "", id="no comma"),
        pytest.param("app=(", "", id="an open parenthesis"),
        pytest.param("size>big", "", id="greater than a word"),
        pytest.param("", "spec.color=blue", id="a field that can't be selected"),
        pytest.param("", "metadata.name", id="a field without a value"),
    ],
)
def test_nonsense_is_refused(labels: str, fields: str) -> None:
    with pytest.raises(ApiError) as refused:
        selects(labels, fields)
    assert refused.value.code == 400
