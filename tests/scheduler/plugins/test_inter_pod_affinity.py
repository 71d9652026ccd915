"""InterPodAffinity: required company and distance, and preferences in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schedviz.scheduler.framework import Unschedulable, UnschedulableAndUnresolvable
from schedviz.scheduler.framework.status import SUCCESS, Code
from schedviz.scheduler.plugins.inter_pod_affinity import InterPodAffinity
from tests import make

AFFINITY = UnschedulableAndUnresolvable("node(s) didn't match pod affinity rules")
ANTI = Unschedulable("node(s) didn't match pod anti-affinity rules")
EXISTING = Unschedulable("node(s) didn't satisfy existing pods anti-affinity rules")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
HOST = "kubernetes.io/hostname"
NODES = [
    make.node("a1", labels={"zone": "a"}),
    make.node("a2", labels={"zone": "a"}),
    make.node("b1", labels={"zone": "b"}),
    make.node("none"),
]


def term(app="db", key="zone", **words):
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}, **words}


def near(*terms):
    return {"podAffinity": {REQUIRED: list(terms)}}


def away(*terms):
    return {"podAntiAffinity": {REQUIRED: list(terms)}}


def liking(weight, a_term):
    return {"podAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": a_term}]}}


def disliking(weight, a_term):
    return {"podAntiAffinity": {PREFERRED: [{"weight": weight, "podAffinityTerm": a_term}]}}


def app(name="web", node="", affinity=None, **words):
    spec = {"affinity": affinity} if affinity else {}
    words.setdefault("labels", {"app": name})
    words.setdefault("meta", {"uid": f"{name}-{node}-{words.get('namespace', '')}"})
    return make.pod(name, node=node, **spec, **words)


GONE = {"uid": "gone", "deletionTimestamp": "2026-01-01T00:00:00Z"}
TEAM = {"namespaceSelector": {"matchLabels": {"team": "x"}}}


@pytest.mark.parametrize(
    ("pod", "pods", "refused"),
    [
        pytest.param(
            app(affinity=near(term())),
            [app("db", "a1")],
            {"b1": AFFINITY, "none": AFFINITY},
            id="near",
        ),
        pytest.param(
            app(affinity=away(term())), [app("db", "a1")], {"a1": ANTI, "a2": ANTI}, id="away"
        ),
        pytest.param(
            app("db"),
            [app("web", "a1", away(term()))],
            {"a1": EXISTING, "a2": EXISTING},
            id="kept away by others",
        ),
        pytest.param(
            app(affinity=near(term(), term("cache"))),
            [app("db", "a1"), app("cache", "a1")],
            dict.fromkeys(["a1", "a2", "b1", "none"], AFFINITY),
            id="company must match all terms at once",
        ),
        pytest.param(
            app("db", affinity=near(term())),
            [],
            {"none": AFFINITY},
            id="the first may be its own company",
        ),
        pytest.param(
            app("db", affinity=near(term())),
            [app("db", "b1")],
            {"a1": AFFINITY, "a2": AFFINITY, "none": AFFINITY},
            id="the second may not",
        ),
        pytest.param(
            app(affinity=near(term())),
            [app("db", "a1", meta=GONE)],
            {"b1": AFFINITY, "none": AFFINITY},
            id="terminating pods count",
        ),
        pytest.param(
            app(affinity=away(term())),
            [app("db", "a1", namespace="other")],
            {},
            id="another namespace",
        ),
        pytest.param(
            app(affinity=away(term(namespaces=["other"]))),
            [app("db", "a1", namespace="other")],
            {"a1": ANTI, "a2": ANTI},
            id="a named namespace",
        ),
        pytest.param(
            app(affinity=away(term(namespaceSelector={}))),
            [app("db", "a1", namespace="other")],
            {"a1": ANTI, "a2": ANTI},
            id="every namespace",
        ),
        pytest.param(
            app(affinity=away(term(**TEAM))),
            [app("db", "a1", namespace="team"), app("db", "b1", namespace="other")],
            {"a1": ANTI, "a2": ANTI},
            id="namespaces by label",
        ),
        pytest.param(
            app("db", namespace="team"),
            [app("web", "a1", away(term(**TEAM)), namespace="other")],
            {"a1": EXISTING, "a2": EXISTING},
            id="kept away by a term about labelled namespaces",
        ),
        pytest.param(
            app(affinity=away({"topologyKey": "zone"})),
            [app("db", "a1")],
            {},
            id="no selector means nobody",
        ),
    ],
)
def test_filter(pod, pods, refused):
    nodes = make.snapshot(NODES, pods)
    nodes.listers.replace(None, make.other("Namespace", "team", meta={"labels": {"team": "x"}}))
    said = make.filtered(InterPodAffinity(), pod, nodes)
    assert {name: status for name, status in said.items() if not status.is_success} == refused


def test_of_several_reasons_the_first_is_told():
    affinity = {**near(term("cache")), **away(term("db"))}
    pods = [app("db", "a1"), app("x", "a1", away(term("web"))), app("cache", "a1"), app("db", "b1")]
    said = make.filtered(InterPodAffinity(), app(affinity=affinity), make.snapshot(NODES, pods))
    assert said == {"a1": ANTI, "a2": ANTI, "b1": AFFINITY, "none": AFFINITY}


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([], id="nobody there"),
        pytest.param([app("x", "a1", away(term("y")))], id="others' terms are about others"),
        pytest.param([app("x", "none", away(term("web")))], id="its node lacks the key"),
    ],
)
def test_pre_filter_skips_what_concerns_nobody(pods):
    _, said = make.pre_filtered(InterPodAffinity(), app(), make.snapshot(NODES, pods))
    assert said.code is Code.SKIP


HARD = InterPodAffinity.Args(hard_pod_affinity_weight=9)
NO_HARD = InterPodAffinity.Args(hard_pod_affinity_weight=0)
IGNORING = InterPodAffinity.Args(ignore_preferred_terms_of_existing_pods=True)


@pytest.mark.parametrize(
    ("args", "pod", "pods", "expected"),
    [
        pytest.param(
            None,
            app(affinity=liking(5, term())),
            [app("db", "a1"), app("db", "a2")],
            (10, 10, 0, 0),
            id="liked",
        ),
        pytest.param(
            None,
            app(affinity=disliking(5, term(key=HOST))),
            [app("db", "a1")],
            (-5, 0, 0, 0),
            id="disliked",
        ),
        pytest.param(
            None,
            app("db"),
            [app("web", "b1", liking(7, term()))],
            (0, 0, 7, 0),
            id="liked by others",
        ),
        pytest.param(
            None,
            app("db"),
            [app("web", "b1", disliking(7, term()))],
            (0, 0, -7, 0),
            id="disliked by others",
        ),
        pytest.param(
            HARD, app("db"), [app("web", "b1", near(term()))], (0, 0, 9, 0), id="needed by others"
        ),
        pytest.param(
            NO_HARD, app("db"), [app("web", "b1", near(term()))], None, id="hard weight 0"
        ),
        pytest.param(
            IGNORING, app("db"), [app("web", "b1", liking(7, term()))], None, id="others ignored"
        ),
        pytest.param(
            IGNORING,
            app("db", affinity=liking(1, term("web"))),
            [app("web", "b1", liking(7, term()))],
            (0, 0, 8, 0),
            id="not ignored when the pod has its own, as upstream",
        ),
        pytest.param(None, app(affinity=liking(5, term())), [], None, id="nothing contributes"),
    ],
)
def test_score(args, pod, pods, expected):
    said = make.scored(InterPodAffinity(args), pod, make.snapshot(NODES, pods))
    assert said == (expected and dict(zip(["a1", "a2", "b1", "none"], expected, strict=True)))


@pytest.mark.parametrize(
    ("pods", "expected"),
    [
        pytest.param([app("db", "a1")], (100, 0, 0, 0), id="from least to most"),
        pytest.param(
            [app("db", "a1"), app("db", "a2"), app("x", "a1")], (100, 100, 0, 0), id="two alike"
        ),
    ],
)
def test_normalized(pods, expected):
    nodes = make.snapshot(NODES, pods)
    said = make.scored(
        InterPodAffinity(), app(affinity=liking(5, term(key=HOST))), nodes, normalize=True
    )
    assert tuple(said.values()) == expected


# ---- one pod at a time -----------------------------------------------------------------------------------------------


def meant(a_term, pod):
    named = pod.namespace in a_term.namespaces or a_term.namespace_selector is not None
    return named and a_term.selector is not None and a_term.selector.matches(pod.labels)


def domain_has(infos, info, key, is_counted):
    value = info.labels.get(key)
    return value is not None and any(
        is_counted(p) for i in infos if i.labels.get(key) == value for p in i.pods.values()
    )


def filter_one_by_one(pod, infos, info):
    wanted = pod.affinity.required
    if wanted:
        company = [
            (i, p) for i in infos for p in i.pods.values() if all(meant(t, p) for t in wanted)
        ]
        alone = not any(t.topology_key in i.labels for i, _ in company for t in wanted)
        keyed = all(t.topology_key in info.labels for t in wanted)
        met = all(
            any(i.labels.get(t.topology_key) == info.labels.get(t.topology_key) for i, _ in company)
            for t in wanted
        )
        if not keyed or not (met or (alone and all(meant(t, pod) for t in wanted))):
            return AFFINITY
    for t in pod.anti_affinity.required:
        if domain_has(infos, info, t.topology_key, lambda p, t=t: meant(t, p)):
            return ANTI
    for i in infos:
        for p in i.pods.values():
            for t in p.anti_affinity.required:
                value = i.labels.get(t.topology_key)
                if meant(t, pod) and value is not None and info.labels.get(t.topology_key) == value:
                    return EXISTING
    return SUCCESS


def score_one_by_one(pod, infos, info):
    total = 0
    for i in infos:
        for p in i.pods.values():
            shared = [
                (weight, t)
                for sign, part in ((1, "affinity"), (-1, "anti_affinity"))
                for weight, t, about in (
                    *((sign * w, t, p) for w, t in getattr(pod, part).preferred),
                    *((sign * w, t, pod) for w, t in getattr(p, part).preferred),
                    *((1, t, pod) for t in p.affinity.required if part == "affinity"),
                )
                if meant(t, about)
            ]
            for weight, t in shared:
                value = i.labels.get(t.topology_key)
                if value is not None and info.labels.get(t.topology_key) == value:
                    total += weight
    return total


TERMS = st.builds(
    term,
    st.sampled_from(["web", "db"]),
    st.sampled_from(["zone", HOST]),
    **{},
) | st.builds(
    lambda base: {**base, "namespaceSelector": {}}, st.builds(term, st.sampled_from(["web", "db"]))
)


@st.composite
def affinities(draw):
    made = {}
    for part in ("podAffinity", "podAntiAffinity"):
        made[part] = {
            REQUIRED: draw(st.lists(TERMS, max_size=2 if draw(st.booleans()) else 0)),
            PREFERRED: [
                {"weight": draw(st.integers(1, 9)), "podAffinityTerm": one}
                for one in draw(st.lists(TERMS, max_size=1))
            ],
        }
    return made


@st.composite
def companies(draw):
    nodes = [
        make.node(f"n{n}", labels=draw(st.dictionaries(st.just("zone"), st.sampled_from("xy"))))
        for n in range(draw(st.integers(1, 4)))
    ]
    pods = [
        app(
            draw(st.sampled_from(["web", "db"])),
            draw(st.sampled_from(nodes)).name,
            draw(affinities()),
            namespace=draw(st.sampled_from(["default", "other"])),
            meta={"uid": str(n)},
        )
        for n in range(draw(st.integers(0, 5)))
    ]
    return make.snapshot(nodes, pods), app(
        draw(st.sampled_from(["web", "db"])), affinity=draw(affinities())
    )


@given(companies())
def test_columns_agree_with_one_pod_at_a_time(company):
    nodes, pod = company
    said = make.filtered(InterPodAffinity(), pod, nodes)
    scores = make.scored(InterPodAffinity(), pod, nodes)
    for info in nodes.infos:
        assert said[info.name] == filter_one_by_one(pod, nodes.infos, info)
        expected = score_one_by_one(pod, nodes.infos, info)
        assert (scores[info.name] if scores else 0) == expected
