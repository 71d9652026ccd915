"""Nodes that already have the pod's images are liked more, the larger the images and the wider they are spread.

Mirrors pkg/scheduler/framework/plugins/imagelocality (v1.36).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedviz.kube.objects import Pod
from schedviz.scheduler.framework import CycleState, Plugin, Snapshot

MIB = 1024 * 1024
MIN_THRESHOLD = 23 * MIB
MAX_CONTAINER_THRESHOLD = 1000 * MIB


class ImageLocality(Plugin):
    """Favour nodes that need not pull the images."""

    def score_nodes(
        self, state: CycleState, pod: Pod, nodes: Snapshot, rows: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        known = [one for one in map(nodes.image, pod.images) if one is not None]
        highest = MAX_CONTAINER_THRESHOLD * pod.n_image_containers
        if not known or highest <= MIN_THRESHOLD:
            return np.zeros(len(rows), dtype=np.int64)
        sums = np.zeros(len(nodes), dtype=np.int64)
        for image in known:
            sums[image.present] += int(float(image.size) * (image.n_nodes / len(nodes)))
        clamped = np.clip(sums[rows], MIN_THRESHOLD, highest)
        return 100 * (clamped - MIN_THRESHOLD) // (highest - MIN_THRESHOLD)
