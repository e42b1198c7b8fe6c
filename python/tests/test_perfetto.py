"""Exports for Perfetto, as Perfetto's own schema reads them."""

from __future__ import annotations

import importlib
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

SYSTEM = Path(__file__).parents[2] / "systems" / "servers.toml"

# What protoc makes has no types.
SCHEMA: Any = importlib.import_module("perfetto.protos.perfetto.trace.perfetto_trace_pb2")
PROTOBUF: Any = importlib.import_module("google.protobuf.message")
UNKNOWN: Any = importlib.import_module("google.protobuf.unknown_fields")


def messages(message: Any) -> list[Any]:
    """A message and all that are in it."""
    found = [message]
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in [value] if isinstance(value, PROTOBUF.Message) else value:
                found += messages(inner)
    return found


def test_perfetto_knows_each_field_and_finds_each_track(tmp_path: Path) -> None:
    program = os.environ.get("BULKHEAD_COMMAND")
    if program is None:
        pytest.skip("BULKHEAD_COMMAND does not name the command bulkhead (`make test-python` does)")
    trace, exported = str(tmp_path / "a.trace"), tmp_path / "a.pftrace"
    simulate = [program, "sim", str(SYSTEM), "--until", "300ms", "--trace", trace]
    subprocess.run(simulate, check=True, stdout=subprocess.DEVNULL)
    export = [program, "trace", "export", trace, "--to", "perfetto", "-o", str(exported)]
    subprocess.run(export, check=True, stdout=subprocess.DEVNULL)
    packets = SCHEMA.Trace.FromString(exported.read_bytes()).packet
    assert len(packets) > 1_000
    for packet in packets:
        assert not any(len(UNKNOWN.UnknownFieldSet(message)) for message in messages(packet)), packet

    tracks = {it.track_descriptor.uuid: it.track_descriptor for it in packets if it.HasField("track_descriptor")}
    assert all(track.parent_uuid in tracks for track in tracks.values() if track.parent_uuid)
    events = [packet for packet in packets if packet.HasField("track_event")]
    times = [packet.timestamp for packet in events]
    assert times == sorted(times)
    depth: Counter[int] = Counter()
    kinds: Counter[int] = Counter()
    for packet in events:
        event = packet.track_event
        track = tracks[event.track_uuid]
        kinds[event.type] += 1
        if event.type == SCHEMA.TrackEvent.TYPE_COUNTER:
            assert track.HasField("counter")
        elif event.type == SCHEMA.TrackEvent.TYPE_SLICE_BEGIN:
            depth[event.track_uuid] += 1
            assert event.name
        elif event.type == SCHEMA.TrackEvent.TYPE_SLICE_END:
            depth[event.track_uuid] -= 1
            assert depth[event.track_uuid] >= 0, "a slice ends that did not begin"
    for kind in (SCHEMA.TrackEvent.TYPE_COUNTER, SCHEMA.TrackEvent.TYPE_SLICE_BEGIN, SCHEMA.TrackEvent.TYPE_SLICE_END):
        assert kinds[kind] > 0
