"""What several tests need."""

from __future__ import annotations

import signal

# Shells start what runs in the background with SIGINT ignored, and processes that tests start would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

EXPERIMENT = """title = "Servers"
seed = 5
systems = 40
systems_per_shard = 2

[grid]
utilization = { from = 0.3, to = 0.7, step = 0.2 }

[servers]
vcpus = 2
simulate_ms = 400
"""
