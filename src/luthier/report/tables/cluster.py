"""The workers of a cluster as a table."""

from __future__ import annotations

from typing import Any

from luthier.core.cluster.checked import ClusterCheck, WorkerCheck
from luthier.report.console import as_text, stack, table


def cluster_table(check: ClusterCheck) -> Any:
    """Return a row for each worker, and below why those cannot be used that cannot."""
    columns = ("worker", "host", "processor", "cores", "memory", "pool opened in", "re-ranks a second")
    rows = [_row(worker) for worker in check.workers if worker.machine]
    same = ", ".join(f"{name} {value}" for name, value in check.versions)
    faults = [as_text(f"{worker.address}: {worker.fault}") for worker in check.workers if worker.fault]
    return stack(table("Cluster", columns, rows, caption=f"all of them: {same}"), *faults)


def _row(worker: WorkerCheck) -> list[str]:
    machine = worker.machine
    assert machine is not None
    opened = "" if worker.open_seconds is None else f"{worker.open_seconds:.2f} s"
    rate = "" if worker.rerank_rate is None else f"{worker.rerank_rate / 1e6:.1f} M"
    memory = f"{machine.memory / 1e9:.0f} GB" if machine.memory else ""
    return [worker.address, machine.where, machine.processor, str(machine.cores), memory, opened, rate]
