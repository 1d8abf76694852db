"""What a cluster is called, and which are refused.

Whoever reaches a Dask scheduler runs code as the user who started it. So an address without encryption must be of this
machine, unless the user says that the network may be trusted.
"""

from __future__ import annotations

import dataclasses
import ipaddress
import json
import re
import threading
import time
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from luthier.core.errors import InputError, LuthierError
from luthier.core.progress import notice
from luthier.core.tasks import Shared, Units, Work, path_of
from luthier.distributed.worker import unit_key

# One unit in this process, and no other: to see what is wrong with it where it can be seen.


@dataclasses.dataclass(frozen=True)
class Replay:
    """Runs the unit of this key; then the job ends as if it had been interrupted."""

    key: str

    def results(self, work: Work, given: Shared, units: Units, stop: threading.Event) -> Iterator[tuple[int, Any]]:
        """Yield the one result, and set `stop`."""
        path = path_of(work)
        for number, unit in units.items():
            if unit_key(path, unit) == self.key:
                began = time.perf_counter()
                yield number, work(given.value, unit)
                notice(f"unit {number} ended well after {time.perf_counter() - began:.1f} s, alone in this process")
                stop.set()
                return
        raise LuthierError(f"none of these {len(units)} units is {self.key}: it is done, or of another command")


LOCAL, REPLAY = "local", "replay"
MOST_WORKERS = 1024
FORMS = "local:N, tcp://HOST:PORT, tls://HOST:PORT, replay:UNIT or the file that a scheduler wrote"
MOST_BYTES = 1 << 20  # of a scheduler's file


@dataclasses.dataclass(frozen=True)
class Certificates:
    """Files of an encrypted connection: the authority's certificate, ours, and our key; '' as Dask is configured."""

    authority: str = ""
    own: str = ""
    key: str = ""


@dataclasses.dataclass(frozen=True)
class ClusterAddress:
    """A cluster as the user named it.

    Attributes
    ----------
    kind : 'local', 'replay', 'tcp' or 'tls'
    text : the address of the scheduler; the unit of 'replay'
    workers : how many to start, of 'local'
    """

    kind: str
    text: str = ""
    workers: int = 0

    @classmethod
    def parse(cls, text: str, *, insecure: bool = False) -> ClusterAddress:
        """Return what a text names.

        Raises
        ------
        LuthierError
            If it names no cluster, or one on another machine that is not encrypted, unless `insecure`.
        """
        kind, _, rest = text.partition(":")
        if kind == LOCAL:
            if not (rest.isascii() and rest.isdigit() and 1 <= int(rest) <= MOST_WORKERS):
                raise LuthierError(f"expected local:N with N from 1 to {MOST_WORKERS}, found {text!r}")
            return cls(LOCAL, workers=int(rest))
        if kind == REPLAY:
            if not re.fullmatch("[0-9a-f]{16}", rest):
                raise LuthierError(f"expected replay: and the 16 digits of a unit, found {text!r}")
            return cls(REPLAY, rest)
        if "://" not in text:
            return cls.parse(_address_in(text), insecure=insecure)
        return _checked(text, insecure=insecure)


def _checked(text: str, *, insecure: bool) -> ClusterAddress:
    """Return the cluster of a scheduler's address that may be used."""
    try:
        parts = urllib.parse.urlsplit(text)
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if host is None or port is None or parts.scheme not in ("tcp", "tls") or text.count("/") != 2 or parts.username:
        raise LuthierError(f"expected {FORMS}, found {text!r}")
    if parts.scheme == "tcp" and not insecure and not is_loopback(host):
        raise LuthierError(
            f"{text}: whoever reaches this scheduler, or listens on the way, can run programs as you, for nothing is "
            "encrypted. hint: use tls://, or say `cluster_insecure` where you trust the whole network"
        )
    return ClusterAddress(parts.scheme, text)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine for certain: names other than localhost are asked of nobody.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("192.168.0.1"), is_loopback("example.org")
    (True, True, False, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address_in(path: str) -> str:
    """Return the address in a file that a scheduler wrote."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES)
    except FileNotFoundError:
        raise LuthierError(f"expected {FORMS}, found {path!r}, and there is no such file") from None
    try:
        address = json.loads(data)["address"]
    except (ValueError, TypeError, KeyError, RecursionError):
        address = None
    if not isinstance(address, str) or "://" not in address:
        raise InputError(
            expected="a scheduler's file, with its address",
            found="something else",
            path=str(Path(path)),
            hint="'dask scheduler' writes one where its option scheduler-file names it",
        )
    return address
