"""A cluster of this machine listens to its own processes only: others lack the certificates of the run."""

import asyncio

import pytest

pytest.importorskip("distributed")

from distributed.comm import connect

import distributed
from luthier.core.errors import LuthierError
from luthier.distributed import engine
from luthier.distributed.address import ClusterAddress
from luthier.distributed.engine import connected

pytestmark = [pytest.mark.slow, pytest.mark.compiled, pytest.mark.filterwarnings("ignore")]


async def _connected(place, security):
    """Open a connection as a stranger would, and close it."""
    comm = await asyncio.wait_for(connect(place, timeout=2, **security.get_connection_args("client")), timeout=10)
    comm.abort()


def test_nobody_else_can_connect():
    with connected(ClusterAddress.parse("local:1")) as cluster:
        address = cluster._client.scheduler.address
        workers = list(cluster._client.scheduler_info()["workers"])
        assert address.startswith("tls://127.0.0.1:")
        assert all(worker.startswith("tls://127.0.0.1:") for worker in workers)
        for place in (address, address.replace("tls://", "tcp://"), workers[0]):
            for security in (distributed.Security(), distributed.Security.temporary()):
                with pytest.raises((OSError, TimeoutError, ValueError, TypeError, RuntimeError)):
                    asyncio.run(_connected(place, security))


def test_without_the_library_it_is_said(monkeypatch):
    def missing():
        raise ImportError("no cryptography")

    monkeypatch.setattr(engine.distributed.Security, "temporary", missing)
    with (
        pytest.raises(LuthierError, match=r"expected the library cryptography.*pip install 'luthier\[cluster\]'"),
        connected(ClusterAddress.parse("local:1")),
    ):
        pass
