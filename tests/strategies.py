"""Random small clusters for property tests: few names and values, so that things meet."""

from __future__ import annotations

from hypothesis import strategies as st

from tests import make

LABELS = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", "y", "1", "7"]), max_size=3)
EFFECTS = st.sampled_from(["NoSchedule", "NoExecute", "PreferNoSchedule"])
TAINTS = st.lists(
    st.builds("{}={}:{}".format, st.sampled_from("abc"), st.sampled_from(["", "x", "y"]), EFFECTS),
    max_size=3,
    unique=True,
)
TOLERATIONS = st.lists(
    st.one_of(
        st.builds("{}:{}".format, st.sampled_from(["", "a", "b"]), st.one_of(EFFECTS, st.just(""))),
        st.builds("{}={}".format, st.sampled_from("abc"), st.sampled_from(["", "x", "y"])),
    ),
    max_size=3,
)
REQUESTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "ephemeral-storage", "example.com/gpu"]),
    st.sampled_from(["0", "1", "2", "3"]),
    max_size=4,
)
ROOM = st.dictionaries(
    st.sampled_from(["cpu", "memory", "pods", "ephemeral-storage", "example.com/gpu"]),
    st.sampled_from(["0", "1", "2", "4", "9"]),
    max_size=5,
)
IMAGES = st.dictionaries(
    st.sampled_from(["app:v1", "big:v1", "side"]),
    st.sampled_from([1 << 20, 500 << 20, 900 << 20]),
    max_size=3,
)
PORTS = st.lists(
    st.fixed_dictionaries(
        {
            "containerPort": st.just(1),
            "hostPort": st.sampled_from([80, 443]),
            "hostIP": st.sampled_from(["", "10.0.0.1", "10.0.0.2"]),
            "protocol": st.sampled_from(["TCP", "UDP"]),
        }
    ),
    max_size=2,
)
EXPRESSIONS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "key": st.sampled_from("abc"),
                "operator": st.sampled_from(["In", "NotIn"]),
                "values": st.lists(st.sampled_from(["x", "y", "7"]), min_size=1, max_size=2),
            }
        ),
        st.fixed_dictionaries(
            {
                "key": st.sampled_from("abc"),
                "operator": st.sampled_from(["Exists", "DoesNotExist"]),
            }
        ),
        st.fixed_dictionaries(
            {
                "key": st.sampled_from("abc"),
                "operator": st.sampled_from(["Gt", "Lt"]),
                "values": st.just(["3"]),
            }
        ),
    ),
    max_size=2,
)
TERMS = st.lists(st.fixed_dictionaries({"matchExpressions": EXPRESSIONS}), max_size=2)


@st.composite
def nodes(draw, *, most=5):
    """Nodes n0, n1, ..."""
    return [
        make.node(
            f"n{number}",
            labels=draw(LABELS),
            taints=draw(TAINTS),
            allocatable=draw(ROOM),
            images=draw(IMAGES),
            unschedulable=draw(st.booleans()),
        )
        for number in range(draw(st.integers(0, most)))
    ]


@st.composite
def pods(draw, *, name="p", node=""):
    """One pod; `node`: where it stands."""
    spec = {
        "nodeSelector": draw(st.dictionaries(st.just("a"), st.sampled_from("xy"))),
        "containers": [
            make.container(
                "c",
                image=draw(st.sampled_from(["app:v1", "big:v1", "side"])),
                requests=draw(REQUESTS),
                ports=draw(PORTS),
            ),
            make.container("d", image="side:latest"),
        ],
    }
    terms = draw(TERMS)
    if terms:
        spec["affinity"] = {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms},
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": number + 3, "preference": term} for number, term in enumerate(terms)
                ],
            }
        }
    return make.pod(name, node=node, labels=draw(LABELS), tolerations=draw(TOLERATIONS), **spec)


@st.composite
def clusters(draw, *, most_pods=6):
    """(snapshot, incoming pod)."""
    some = draw(nodes())
    placed = [
        draw(pods(name=f"b{number}", node=draw(st.sampled_from(some)).name))
        for number in range(draw(st.integers(0, most_pods)))
        if some
    ]
    return make.snapshot(some, placed), draw(pods())
