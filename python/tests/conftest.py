"""What several tests need."""

from __future__ import annotations

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
