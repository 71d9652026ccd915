"""The same small cluster with volumes: claims, volumes, and a controller that binds them when it gets to it."""

from __future__ import annotations

from typing import Any

from schedviz.kube.volumes import BIND_COMPLETED, NO_PROVISIONER, SELECTED_NODE
from schedviz.sandbox import patches
from schedviz.scheduler.framework.steps import Effect, PatchObject
from tests import make
from tests.scheduler import playing

PV, PVC = "PersistentVolume", "PersistentVolumeClaim"
WORDS = (*playing.WORDS, "add claim pod", "add volume", "delete volume", "bind volumes")
LATER = {"volumeBindingMode": "WaitForFirstConsumer"}


class VolumePlay(playing.Play):
    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        for name, provisioner in (("local", NO_PROVISIONER), ("made", "csi.example.com")):
            self._put(
                "StorageClass", make.raw("StorageClass", name, provisioner=provisioner, **LATER)
            )

    # ---- one thing -------------------------------------------------------------------------------------------------

    def _add_claim_pod(self, n: int) -> None:
        self._n += 1
        name, claim = f"p{self._n}", f"c{self._n}"
        spec = {
            "storageClassName": ["local", "made"][n % 2],
            "resources": {"requests": {"storage": f"{1 + n % 3}Gi"}},
        }
        self._put(PVC, make.raw(PVC, claim, namespace="default", spec=spec))
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
        self._put("Pod", make.raw_pod(name, volumes=volumes, requests={"cpu": "1"}))

    def _add_volume(self, n: int, **spec: Any) -> None:
        self._n += 1
        terms = [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["ab"[n % 2]]}]}]
        made = {
            "capacity": {"storage": f"{1 + n % 4}Gi"},
            "storageClassName": "local",
            "nodeAffinity": {"required": {"nodeSelectorTerms": terms}},
        }
        status = {"phase": "Available"}
        self._put(PV, make.raw(PV, f"v{self._n}", spec=made | spec, status=status))

    def _delete_volume(self, n: int) -> None:
        free = [raw for raw in self.of(PV) if "claimRef" not in raw["spec"]]
        if free:
            self._delete(PV, free[n % len(free)]["metadata"]["name"])

    def _bind_volumes(self, n: int) -> None:
        """What the controllers do for one claim."""
        open_ones = [raw for raw in self.of(PVC) if not raw["spec"].get("volumeName")]
        if not open_ones:
            return
        claim = open_ones[n % len(open_ones)]
        node = (claim["metadata"].get("annotations") or {}).get(SELECTED_NODE)
        kept = self._kept_for(claim)
        if kept is None and node is not None and ("Node", node) not in self.raw:
            self._patch(claim, {"metadata": {"annotations": {SELECTED_NODE: None}}})
        elif kept is None and node is not None:
            ref = {key: claim["metadata"][key] for key in ("namespace", "name", "uid")}
            zone = self.raw["Node", node]["metadata"]["labels"]["zone"]
            self._add_volume("ab".index(zone), claimRef=ref, storageClassName="made")
            kept = self._kept_for(claim)
        if kept is not None:
            self._patch(kept, {"status": {"phase": "Bound"}})
            done = {"metadata": {"annotations": {BIND_COMPLETED: "yes"}}}
            self._patch(claim, done | {"spec": {"volumeName": kept["metadata"]["name"]}})

    # ---- the API server --------------------------------------------------------------------------------------------

    def of(self, kind: str) -> list[dict[str, Any]]:
        return [raw for (of_kind, _), raw in self.raw.items() if of_kind == kind]

    def _kept_for(self, claim: dict[str, Any]) -> dict[str, Any] | None:
        uid = claim["metadata"]["uid"]
        kept = [raw for raw in self.of(PV) if raw["spec"].get("claimRef", {}).get("uid") == uid]
        return kept[0] if kept else None

    def _patch(self, raw: dict[str, Any], patch: dict[str, Any]) -> None:
        self._put(raw["kind"], patches.merge(raw, patch))

    def _perform(self, effect: Effect, is_ok: bool, status: int) -> tuple[bool, int]:
        action = effect.action
        if not isinstance(action, PatchObject):
            return super()._perform(effect, is_ok, status)
        raw = self.raw.get((action.kind, action.name))
        if raw is None:
            return False, 404
        if raw["metadata"]["resourceVersion"] != action.resource_version:
            return False, 409
        self._patch(raw, action.patch)
        return is_ok, status

    def _keep(self, effect: Effect) -> None:
        if isinstance(effect.action, PatchObject):
            assert effect.cycle in self.records, "an effect before its record"
            self.effects.append(effect)
        else:
            super()._keep(effect)

    def settle(self) -> None:
        """And the controllers do their part."""
        self._put("Node", make.raw_node("b", allocatable={"cpu": "999"}, labels={"zone": "b"}))
        for _ in self.of(PVC):
            self._add_volume(3)
        super().settle()

    def meanwhile(self) -> None:
        for n in range(len(self.of(PVC))):
            self.do("bind volumes", n)
