"""VolumeBinding: each claim gets the smallest volume that fits or a place to make one, and no two pods get the same."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from schedviz.kube import volumes
from schedviz.scheduler.framework import (
    SUCCESS,
    CycleState,
    Error,
    Snapshot,
    UnschedulableAndUnresolvable,
)
from schedviz.scheduler.framework.status import Code
from schedviz.scheduler.plugins.volume_binding import SCORING, VolumeBinding
from tests import make
from tests.scheduler.plugins.storage import ZONE, capacity, claim, on, storage_class, volume

AFFINITY = "node(s) didn't match PersistentVolume's node affinity"
NO_VOLUME = "node(s) didn't find available persistent volumes to bind"
NO_SPACE = "node(s) did not have enough free storage"
NO_SUCH = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)"
NODES = [
    make.node("a", labels={ZONE: "za"}),
    make.node("b", labels={ZONE: "zb"}),
    make.node("c", labels={ZONE: "zb"}),
]
SLOW, FAST = storage_class(), storage_class("fast", "csi.example.com")
PV, PVC = "PersistentVolume", "PersistentVolumeClaim"


def world(*others) -> Snapshot:
    return make.told(make.snapshot(NODES), SLOW, FAST, *others)


def refusals(*others, uses=("x",)) -> dict:
    """The reasons of each node that is refused."""
    said = make.filtered(VolumeBinding(), make.using(*uses), world(*others))
    assert all(
        s.is_success or s.code.name == "UNSCHEDULABLE_AND_UNRESOLVABLE" for s in said.values()
    )
    return {name: status.reasons for name, status in said.items() if not status.is_success}


def reserved(nodes: Snapshot, node: str, *uses: str, name: str = "p"):
    """A pod's cycle up to Reserve on this node."""
    plugin, pod = VolumeBinding(), make.using(*uses, name=name)
    state, said = make.pre_filtered(plugin, pod, nodes)
    assert said.is_success
    plugin.filter_nodes(state, pod, nodes)
    assert plugin.reserve(state, pod, node) is None
    return plugin, state, pod


def kept_for(nodes: Snapshot, name: str) -> str:
    found = volumes.read_volume(nodes.listers.get(PV, name).raw).claim
    return found[1] if found else ""


# ---- PreFilter -----------------------------------------------------------------------------------------------------

OWNED = [{"controller": True, "uid": "default/p", "name": "p", "kind": "Pod"}]
SCRATCH = [{"name": "s", "ephemeral": {}}]


@pytest.mark.parametrize(
    ("others", "pod", "reason"),
    [
        pytest.param([], make.using("x"), 'persistentvolumeclaim "x" not found', id="no claim"),
        pytest.param(
            [claim("x", storage_class="now")],
            make.using("x"),
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that does not wait for its pod",
        ),
        pytest.param(
            [claim("x", volumeName="v")],
            make.using("x"),
            "pod has unbound immediate PersistentVolumeClaims",
            id="a claim that named its volume and is not bound yet",
        ),
        pytest.param(
            [claim("x", bound_to="v", phase="Lost")],
            make.using("x"),
            'persistentvolumeclaim "x" bound to non-existent persistentvolume "v"',
            id="a claim that lost its volume",
        ),
        pytest.param(
            [claim("x", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            make.using("x"),
            'persistentvolumeclaim "x" is being deleted',
            id="a claim that goes",
        ),
        pytest.param(
            [],
            make.pod(volumes=SCRATCH),
            'waiting for ephemeral volume controller to create the persistentvolumeclaim "p-s"',
            id="an ephemeral volume whose claim is not made yet",
        ),
        pytest.param(
            [claim("p-s")],
            make.pod(volumes=SCRATCH),
            "PVC default/p-s was not created for pod default/p (pod is not owner)",
            id="an ephemeral volume whose claim is another's",
        ),
    ],
)
def test_pre_filter_refuses(others, pod, reason):
    _, said = make.pre_filtered(VolumeBinding(), pod, world(*others))
    assert said == UnschedulableAndUnresolvable(reason)


def test_an_ephemeral_volume_of_its_own_is_a_claim_like_any_other():
    own = claim("p-s", bound_to="v", meta={"ownerReferences": OWNED, "annotations": {}})
    _, said = make.pre_filtered(VolumeBinding(), make.pod(volumes=SCRATCH), world(own))
    assert said.reasons == ("pod has unbound immediate PersistentVolumeClaims",)
    waiting = claim("p-s", meta={"ownerReferences": OWNED})
    _, said = make.pre_filtered(VolumeBinding(), make.pod(volumes=SCRATCH), world(waiting))
    assert said.is_success


def test_a_pod_without_claims_is_passed_by():
    plugin, nodes = VolumeBinding(), world()
    state, said = make.pre_filtered(plugin, make.pod(), nodes)
    assert said.code is Code.SKIP
    assert plugin.reserve(state, make.pod(), "a") is None
    assert plugin.pre_bind(state, make.pod(), "a").code is Code.SKIP


def test_without_its_pre_filter_nothing_is_found():
    with pytest.raises(KeyError, match="not found"):
        VolumeBinding().filter_nodes(CycleState(), make.pod(), world())


# ---- Filter --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([volume("v", **on("a"))], {"b": (AFFINITY,), "c": (AFFINITY,)}, id="on one"),
        pytest.param([volume("v", **on("zb", key=ZONE))], {"a": (AFFINITY,)}, id="in a zone"),
        pytest.param([volume("v")], {}, id="from everywhere"),
        pytest.param([], dict.fromkeys("abc", (NO_SUCH,)), id="a volume that is not there"),
    ],
)
def test_the_volumes_that_a_pod_has_must_be_reached(others, expected):
    assert refusals(claim("x", bound_to="v"), *others) == expected


NONE_HERE = dict.fromkeys("abc", (NO_VOLUME,))


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([volume("v")], {}, id="one for all"),
        pytest.param([volume("v", **on("a"))], {"b": (NO_VOLUME,), "c": (NO_VOLUME,)}, id="local"),
        pytest.param([], NONE_HERE, id="none"),
        pytest.param([volume("v", "4Gi")], NONE_HERE, id="too small"),
        pytest.param([volume("v", storage_class="other")], NONE_HERE, id="of another class"),
        pytest.param([volume("v", phase="Released")], NONE_HERE, id="not free any more"),
        pytest.param([volume("v", kept_for="y")], NONE_HERE, id="kept for another claim"),
        pytest.param([volume("v", accessModes=["ReadOnlyMany"])], NONE_HERE, id="read only"),
        pytest.param([volume("v", volumeMode="Block")], NONE_HERE, id="a block device"),
        pytest.param([volume("v", volumeAttributesClassName="gold")], NONE_HERE, id="attributes"),
        pytest.param(
            [volume("v", meta={"deletionTimestamp": "2026-01-01T00:00:00Z"})], NONE_HERE, id="going"
        ),
        pytest.param([volume("v", kept_for="x", phase="")], {}, id="kept for it"),
        pytest.param([volume("v", kept_for="x uid-x", phase="")], {}, id="kept for it by uid"),
        pytest.param([volume("v", kept_for="x older")], NONE_HERE, id="kept for one of its name"),
        pytest.param(
            [volume("v", kept_for="x", **on("b")), volume("w")],
            {"a": (NO_VOLUME,), "c": (NO_VOLUME,)},
            id="the one that is kept for it rules out all others",
        ),
    ],
)
def test_a_claim_is_matched_with_the_volumes_there_are(others, expected):
    assert refusals(claim("x"), *others) == expected


def test_a_claims_selector_chooses_among_volumes():
    gold = {"matchLabels": {"tier": "gold"}}
    assert refusals(claim("x", selector=gold), volume("v")) == NONE_HERE
    assert refusals(claim("x", selector=gold), volume("v", meta={"labels": {"tier": "gold"}})) == {}


def test_where_a_driver_took_over_its_own_label_says_the_zone():
    took_over = {"annotations": {volumes.MIGRATED: "kubernetes.io/gce-pd"}}
    disk = volume("v", gcePersistentDisk={"pdName": "d"}, meta={"labels": {ZONE: "za"}})
    nodes = make.told(
        make.snapshot(
            [
                make.node("old"),
                make.node("here", labels={"topology.gke.io/zone": "za"}),
                make.node("there", labels={"topology.gke.io/zone": "zb"}),
            ]
        ),
        claim("x", bound_to="v"),
        disk,
        make.other("CSINode", "here", meta=took_over),
        make.other("CSINode", "there", meta=took_over),
    )
    said = make.filtered(VolumeBinding(), make.using("x"), nodes)
    assert [name for name, status in said.items() if status.is_success] == ["old", "here"]


def test_two_claims_need_two_volumes():
    both = claim("x"), claim("y", "2Gi")
    assert refusals(*both, volume("v"), uses="xy") == NONE_HERE
    assert refusals(*both, volume("v"), volume("w", "2Gi", **on("a")), uses="xy") == {
        "b": (NO_VOLUME,),
        "c": (NO_VOLUME,),
    }


def test_what_is_bound_and_what_is_not_are_told_together():
    mine = volume("v", kept_for="x uid-x", phase="Bound", **on("a"))
    told = refusals(claim("x", bound_to="v"), claim("y"), mine, uses="xy")
    assert told == {"a": (NO_VOLUME,), "b": (AFFINITY, NO_VOLUME), "c": (AFFINITY, NO_VOLUME)}


IN_ZONE_B = [{"matchLabelExpressions": [{"key": ZONE, "values": ["zb"]}]}]
COUNTING = make.other("CSIDriver", "csi.example.com", spec={"storageCapacity": True})
ROOMS = [capacity("ra", "4Gi", of="fast", zone="za"), capacity("rb", "9Gi", of="fast", zone="zb")]


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        pytest.param([claim("x", storage_class="fast")], {}, id="made anywhere"),
        pytest.param(
            [claim("x", storage_class="fast"), storage_class("fast", "p", allowedTopologies=[])],
            {},
            id="no topologies named",
        ),
        pytest.param(
            [
                claim("x", storage_class="fast"),
                storage_class("fast", "p", allowedTopologies=IN_ZONE_B),
            ],
            {"a": (NO_VOLUME,)},
            id="in one zone only",
        ),
        pytest.param(
            [
                claim("x", storage_class="fast"),
                storage_class("fast", "p", allowedTopologies=[{"matchLabelExpressions": []}]),
            ],
            NONE_HERE,
            id="an empty term allows nothing",
        ),
        pytest.param(
            [claim("x", storage_class="fast", node="b")],
            {"a": (NO_VOLUME,), "c": (NO_VOLUME,)},
            id="where it was begun to be made",
        ),
        pytest.param(
            [claim("x", node="b"), volume("v")],
            {"a": (NO_VOLUME,), "b": (NO_VOLUME,), "c": (NO_VOLUME,)},
            id="a claim that was sent somewhere takes no volume that is there",
        ),
        pytest.param(
            [claim("x", storage_class="fast"), COUNTING, *ROOMS],
            {"a": (NO_SPACE,)},
            id="where there is room",
        ),
        pytest.param(
            [claim("x", storage_class="fast"), *ROOMS], {}, id="a driver that does not count"
        ),
        pytest.param(
            [claim("x", storage_class="fast"), COUNTING],
            dict.fromkeys("abc", (NO_SPACE,)),
            id="no room is told of",
        ),
        pytest.param(
            [
                claim("x", storage_class="fast"),
                COUNTING,
                capacity("r", "99Gi", of="fast", maximumVolumeSize="4Gi"),
            ],
            dict.fromkeys("abc", (NO_SPACE,)),
            id="room, but no volume so large",
        ),
        pytest.param(
            [
                claim("x", storage_class="fast"),
                COUNTING,
                capacity("r", "99Gi", of="fast", nodeTopology=None),
            ],
            dict.fromkeys("abc", (NO_SPACE,)),
            id="room that no node reaches",
        ),
        pytest.param(
            [claim("x", storage_class="fast"), volume("v", storage_class="fast"), COUNTING],
            {},
            id="a volume that is there needs no room",
        ),
    ],
)
def test_a_volume_is_made_where_its_class_makes_them(others, expected):
    assert refusals(*others) == expected


# ---- Reserve -------------------------------------------------------------------------------------------------------


def test_the_smallest_claim_takes_the_smallest_volume():
    nodes = world(
        claim("big", "4Gi"),
        claim("small", "1Gi"),
        volume("v9", "9Gi"),
        volume("v5", "5Gi"),
        volume("v2", "2Gi"),
        volume("v1", "1Gi", **on("b")),
    )
    plugin, state, pod = reserved(nodes, "a", "big", "small")
    assert {name: kept_for(nodes, name) for name in ("v1", "v2", "v5", "v9")} == {
        "v1": "",
        "v2": "small",
        "v5": "big",
        "v9": "",
    }
    plugin.unreserve(state, pod, "a")
    reserved(nodes, "b", "big", "small")
    assert [kept_for(nodes, name) for name in ("v1", "v2", "v5")] == ["small", "", "big"]


def test_two_pods_in_a_row_do_not_take_the_same_volume():
    nodes = world(claim("x"), claim("y"), volume("v"), volume("w", **on("a")))
    reserved(nodes, "a", "x")
    assert kept_for(nodes, "v") == "x"
    said = make.filtered(VolumeBinding(), make.using("y", name="q"), nodes)
    assert [name for name, status in said.items() if status.is_success] == ["a"]


def test_a_claim_whose_volume_is_being_made_keeps_its_node():
    nodes = world(claim("x", storage_class="fast"))
    plugin, state, pod = reserved(nodes, "b", "x")
    said = make.filtered(VolumeBinding(), make.using("x", name="q"), nodes)
    assert [name for name, status in said.items() if status.is_success] == ["b"]
    plugin.unreserve(state, pod, "b")
    said = make.filtered(VolumeBinding(), make.using("x", name="q"), nodes)
    assert all(status.is_success for status in said.values())


def test_what_the_watch_tells_overrules_what_was_taken():
    nodes = world(claim("x"), told := volume("v"))
    plugin, state, pod = reserved(nodes, "a", "x")
    nodes.listers.replace(told, volume("v", kept_for="y uid-y"))
    plugin.unreserve(state, pod, "a")
    assert kept_for(nodes, "v") == "y"


@st.composite
def stores(draw):
    """Volumes and claims that meet, and some pods with one or two claims each."""
    sizes = st.sampled_from(["1Gi", "2Gi", "3Gi"])
    places = st.sampled_from([{}, on("a"), on("b", "c"), on("zb", key=ZONE)])
    made = [
        volume(f"v{n}", draw(sizes), kept_for=draw(st.sampled_from(["", "", "c0"])), **draw(places))
        for n in range(draw(st.integers(0, 6)))
    ]
    made += [
        claim(
            f"c{n}",
            draw(sizes),
            storage_class=draw(st.sampled_from(["slow", "slow", "fast"])),
            node=draw(st.sampled_from([None, None, None, "b"])),
        )
        for n in range(5)
    ]
    names = st.sampled_from([f"c{n}" for n in range(5)])
    pods = draw(st.lists(st.lists(names, min_size=1, max_size=3, unique=True), max_size=4))
    return made, pods


def one_by_one(nodes: Snapshot, names: list[str], info) -> bool:
    """Whether the claims can be served on one node, said the long way round."""
    claims = [volumes.read_claim(nodes.listers.get(PVC, f"default/{n}").raw) for n in names]
    there = [volumes.read_volume(v.raw) for v in nodes.listers.of(PV).values()]
    reached = [v for v in there if v.affinity is None or v.affinity.matches(info.labels, "")]
    if any(c.selected_node not in (None, info.name) for c in claims):
        return False
    left = [c for c in claims if c.selected_node is not None]
    taken: set[str] = set()
    for one in sorted((c for c in claims if c.selected_node is None), key=lambda c: c.size):
        kept = [v for v in there if v.is_for(one) and v.could_hold(one)]
        found = min(
            (v for v in reached if v.suits(one) and v.name not in taken),
            key=lambda v: (v.size, v.name),
            default=None,
        )
        if kept and one.class_name == "slow":
            found = min(kept, key=lambda v: (v.size, v.name))
            found = found if found in reached else None
        if found is None:
            left.append(one)
        else:
            taken.add(found.name)
    return all(c.class_name == "fast" for c in left)


@given(stores())
@settings(deadline=None)
def test_all_nodes_at_once_and_one_by_one_agree(made):
    others, pods = made
    nodes = world(*others)
    for names in pods:
        said = make.filtered(VolumeBinding(), make.using(*names), nodes)
        for info in nodes.infos:
            assert said[info.name].is_success == one_by_one(nodes, names, info)


@given(stores(), st.randoms(use_true_random=False))
@settings(deadline=None)
def test_no_two_pods_hold_one_volume_and_undoing_restores_all(made, chance):
    others, pods = made
    nodes = world(*others)
    before = {kind: dict(nodes.listers.of(kind)) for kind in (PV, PVC)}
    held = []
    for number, names in enumerate(pods):
        if {name for _, _, pod in held for name in uses(pod)} & set(names):
            continue
        plugin, pod = VolumeBinding(), make.using(*names, name=f"p{number}")
        state, said = make.pre_filtered(plugin, pod, nodes)
        fitting = plugin.filter_nodes(state, pod, nodes).passed if said.is_success else []
        if np.any(fitting):
            plugin.reserve(state, pod, nodes.names[chance.choice(np.flatnonzero(fitting))])
            held.append((plugin, state, pod))
    taken = [name for _, state, _ in held for _, name in state.read("VolumeBinding").static]
    assert len(taken) == len(set(taken))
    chance.shuffle(held)
    for plugin, state, pod in held:
        plugin.unreserve(state, pod, "")
    for kind, objects in before.items():
        assert dict(nodes.listers.of(kind)).keys() == objects.keys()
        assert all(nodes.listers.get(kind, key) is one for key, one in objects.items())


def uses(pod) -> set[str]:
    return {one.name for one in volumes.claim_names(pod)}


# ---- PreBind -------------------------------------------------------------------------------------------------------


def test_pre_bind_asks_for_the_volume_to_be_kept_for_the_claim():
    nodes = world(claim("x"), told := volume("v"))
    plugin, state, pod = reserved(nodes, "a", "x")
    (action,) = plugin.pre_bind(state, pod, "a").actions
    assert (action.kind, action.name) == (PV, "v")
    assert action.resource_version == told.resource_version
    assert action.patch == {
        "metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}},
        "spec": {
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": "default",
                "name": "x",
                "uid": "uid-x",
            }
        },
    }


def test_pre_bind_asks_for_a_volume_to_be_made_for_the_node():
    nodes = world(claim("x", storage_class="fast"))
    plugin, state, pod = reserved(nodes, "b", "x")
    (action,) = plugin.pre_bind(state, pod, "b").actions
    assert (action.kind, action.namespace, action.name) == (PVC, "default", "x")
    assert action.patch == {"metadata": {"annotations": {volumes.SELECTED_NODE: "b"}}}


def test_what_is_so_already_is_not_asked_for():
    nodes = world(claim("x", storage_class="fast", node="b"), claim("y"), volume("v"))
    nodes.listers.replace(nodes.listers.get(PV, "v"), volume("v", kept_for="y uid-y"))
    plugin, state, pod = reserved(nodes, "b", "x", "y")
    wait = plugin.pre_bind(state, pod, "b")
    assert wait.actions == ()
    assert wait.until(nodes.listers, NODES[1]) is None


def failed(words: str):
    return Error(f"binding volumes: {words}")


MOVED = make.node("a", labels={"kubernetes.io/hostname": "elsewhere"})
MISMATCH = 'pv "v" node affinity doesn\'t match node "a": no matching NodeSelectorTerms'


@pytest.mark.parametrize(
    ("then", "node", "answer"),
    [
        pytest.param({}, NODES[0], None, id="nothing was told yet"),
        pytest.param({PV: volume("v", kept_for="x uid-x")}, NODES[0], None, id="the volume only"),
        pytest.param(
            {PV: volume("v", kept_for="x uid-x"), PVC: claim("x", bound_to="v")},
            NODES[0],
            SUCCESS,
            id="both",
        ),
        pytest.param({PVC: claim("x", bound_to="v")}, NODES[0], None, id="the claim first"),
        pytest.param(
            {PV: None},
            NODES[0],
            failed('failed to check binding: could not find v1.PersistentVolume "v"'),
            id="the volume is gone",
        ),
        pytest.param(
            {PVC: None},
            NODES[0],
            failed('failed to check binding: could not find v1.PersistentVolumeClaim "default/x"'),
            id="the claim is gone",
        ),
        pytest.param(
            {PV: volume("v")}, NODES[0], failed('ClaimRef got reset for pv "v"'), id="taken away"
        ),
        pytest.param(
            {}, None, failed('failed to get node "a": node "a" not found'), id="the node is gone"
        ),
        pytest.param(
            {PV: volume("v", kept_for="x uid-x", **on("a"))}, MOVED, failed(MISMATCH), id="moved"
        ),
    ],
)
def test_it_waits_until_volume_and_claim_are_bound(then, node, answer):
    nodes = world(claim("x"), volume("v"))
    plugin, state, pod = reserved(nodes, "a", "x")
    wait = plugin.pre_bind(state, pod, "a")
    for kind, new in then.items():
        old = nodes.listers.told(kind, {PV: "v", PVC: "default/x"}[kind])
        nodes.listers.replace(old, new)
    assert wait.until(nodes.listers, node) == answer


def making(node: str | None = "a", **words):
    return claim("x", storage_class="fast", node=node, **words)


@pytest.mark.parametrize(
    ("then", "answer"),
    [
        pytest.param([], None, id="nothing was told yet"),
        pytest.param([making()], None, id="it is being made"),
        pytest.param([making(bound_to="v")], None, id="bound, and its volume is told of later"),
        pytest.param([making(bound_to="v"), volume("v")], SUCCESS, id="made and bound"),
        pytest.param([making(volumeName="v"), volume("v")], None, id="made, and not yet bound"),
        pytest.param(
            [making(bound_to="v"), volume("v", **on("b"))], failed(MISMATCH), id="made elsewhere"
        ),
        pytest.param(
            [making(None)],
            failed('selectedNode annotation reset for PVC "x"'),
            id="the provisioner gave up",
        ),
        pytest.param(
            [making(None, meta={"annotations": {"other": ""}})],
            failed('provisioning failed for PVC "x"'),
            id="the provisioner gave up, and other annotations are there",
        ),
        pytest.param(
            [making("b")], failed('provisioning failed for PVC "x"'), id="sent to another node"
        ),
        pytest.param(
            None,
            failed(
                "failed to check provisioning pvc: "
                'could not find v1.PersistentVolumeClaim "default/x"'
            ),
            id="the claim is gone",
        ),
    ],
)
def test_it_waits_until_the_volume_is_made_and_bound(then, answer):
    nodes = world(told := making(None))
    plugin, state, pod = reserved(nodes, "a", "x")
    wait = plugin.pre_bind(state, pod, "a")
    if then is None:
        nodes.listers.replace(told, None)
    for new in then or ():
        nodes.listers.replace(nodes.listers.told(new.kind, new.key), new)
    assert wait.until(nodes.listers, NODES[0]) == answer


def test_the_wait_ends_in_upstreams_words():
    nodes = world(claim("x"), volume("v"))
    plugin, state, pod = reserved(nodes, "a", "x")
    wait = plugin.pre_bind(state, pod, "a")
    assert wait.timeout_seconds == 600
    assert wait.timed_out == Error("binding volumes: context deadline exceeded")
    args = VolumeBinding.Args.read({"bindTimeoutSeconds": 5})
    assert VolumeBinding(args).pre_bind(state, pod, "a").timeout_seconds == 5


# ---- Score ---------------------------------------------------------------------------------------------------------


def scores(*others, gates=(SCORING,), shape=(), uses=("x",)):
    plugin = VolumeBinding(VolumeBinding.Args.read({"shape": list(shape)}))
    plugin.features = frozenset(gates)
    nodes, pod = world(*others), make.using(*uses)
    state, _ = make.pre_filtered(plugin, pod, nodes)
    rows = np.flatnonzero(plugin.filter_nodes(state, pod, nodes).passed)
    said = plugin.pre_score(state, pod, nodes, rows)
    if said is not None and said.code is Code.SKIP:
        return None
    values = plugin.score_nodes(state, pod, nodes, rows).tolist()
    return dict(zip([nodes.names[row] for row in rows], values, strict=True))


FULL = [{"utilization": 0, "score": 0}, {"utilization": 100, "score": 10}]
SIZES = volume("v", "10Gi", **on("a")), volume("w", "20Gi", **on("b"))


@pytest.mark.parametrize(
    ("others", "words", "expected"),
    [
        pytest.param(SIZES, {"gates": ()}, None, id="the gate is off, as by default"),
        pytest.param(SIZES, {}, {"a": 50, "b": 75}, id="the emptier the better"),
        pytest.param(SIZES, {"shape": FULL}, {"a": 50, "b": 25}, id="the fuller the better"),
        pytest.param(
            [*SIZES, claim("y", "3Gi", storage_class="fast"), volume("f", storage_class="fast")],
            {"uses": "xy", "shape": FULL},
            {"a": 55, "b": 43},
            id="the mean of two classes, rounded",
        ),
    ],
)
def test_scores_of_volumes_that_are_there(others, words, expected):
    assert scores(claim("x"), *others, **words) == expected


def test_scores_of_volumes_that_are_made():
    wants = claim("x", storage_class="fast"), claim("y", "1Gi", storage_class="fast")
    rooms = [
        capacity("r", "12Gi", of="fast", zone="zb"),
        capacity("s", "5Gi", of="fast", zone="za"),
    ]
    told = scores(*wants, COUNTING, *rooms, uses="xy", shape=FULL)
    assert told == {"a": 100, "b": 50, "c": 50}
    assert scores(*wants, uses="xy", shape=FULL) == {"a": 0, "b": 0, "c": 0}
