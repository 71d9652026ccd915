"""What a plugin writes, it can read in the same cycle."""

from __future__ import annotations

import pytest

from schedviz.scheduler.framework import CycleState


def test_read_gives_what_was_written():
    state = CycleState()
    state.write("key", 1)
    assert state.read("key") == state.get("key") == 1


def test_reading_what_nobody_wrote_is_not_found():
    assert CycleState().get("key") is None
    with pytest.raises(KeyError, match="not found"):
        CycleState().read("key")
