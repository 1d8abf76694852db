"""Files by URL: fetched once, whole or not at all, private, bounded, and by named schemes only."""

import functools
import hashlib
import http.server
import os
import shutil
import stat
import threading

import pytest

from luthier.core.errors import InputError, LuthierError
from luthier.core.files import remote
from luthier.core.files.remote import cache_folder, check_url, fetch
from luthier.core.tasks import Processes, Shared, run_units
from luthier.kbest.shards.shard import shard
from luthier.kbest.storage.pool_file import PoolFile, save_pool
from luthier.metrics.loading import load_metric
from luthier.metrics.pools import with_statistics
from luthier.synthetic.lists.noisy_channel import SyntheticLists

fsspec = pytest.importorskip("fsspec")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LUTHIER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "fetched"


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


class Handler(http.server.SimpleHTTPRequestHandler):
    """Serves a folder, and remembers what was asked for."""

    asked: list[str]

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()

    def log_message(self, *words):
        pass


@pytest.fixture
def server(tmp_path):
    """Yield the address of a server of this machine, its folder, and the files that it was asked for."""
    folder = tmp_path / "served"
    folder.mkdir()
    kind = type("Own", (Handler,), {"asked": []})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(kind, directory=str(folder))) as served:
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}", folder, kind.asked
        served.shutdown()
        thread.join()


def digest_of(data):
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def test_a_file_is_fetched_once_under_its_digest_for_this_user_alone(memory, cache):
    memory.pipe("/a/pool", b"some bytes")
    place = fetch("memory://a/pool")
    assert (place.name, place.read_bytes()) == (digest_of(b"some bytes"), b"some bytes")
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert stat.S_IMODE(cache.stat().st_mode) == 0o700
    os.utime(place, (1, 1))
    before = place.stat().st_ino
    assert fetch("memory://a/pool").stat().st_ino == before  # the server says that it is still the same
    assert fetch("memory://a/elsewhere", place.name).stat().st_ino == before  # nobody is asked
    assert place.stat().st_mtime > 1  # it was used
    memory.pipe("/a/pool", b"other bytes")
    assert fetch("memory://a/pool").read_bytes() == b"other bytes"
    assert not [path for path in cache.iterdir() if path.suffix in (".new", ".tmp", ".lock")]


def test_another_file_than_was_meant_is_refused_and_not_kept(memory, cache):
    memory.pipe("/pool", b"changed")
    with pytest.raises(
        InputError, match=f"memory://pool: expected a file of the digest {'0' * 32}, found 7 bytes of .*"
    ):
        fetch("memory://pool", "0" * 32)
    assert list(cache.iterdir()) == []


def test_what_was_not_used_for_longest_makes_room(memory, cache, monkeypatch):
    monkeypatch.setenv("LUTHIER_CACHE_GB", "2.5e-8")  # 25 bytes
    for i, name in enumerate("abc"):
        memory.pipe(f"/{name}", name.encode() * 10)
        os.utime(fetch(f"memory://{name}"), (i + 1, i + 1))
    assert {path.name for path in cache.iterdir() if path.suffix == ""} == {digest_of(b"b" * 10), digest_of(b"c" * 10)}
    memory.pipe("/large", b"x" * 26)
    with pytest.raises(InputError, match=r"expected at most 2.5e-08 GB, found 2.6e-08 GB.*LUTHIER_CACHE_GB"):
        fetch("memory://large")
    assert len([path for path in cache.iterdir() if path.suffix == ""]) == 2
    monkeypatch.setenv("LUTHIER_CACHE_GB", "many")
    with pytest.raises(LuthierError, match="expected gigabytes in LUTHIER_CACHE_GB, found 'many'"):
        fetch("memory://large")


def test_schemes_chains_and_passwords_are_refused():
    with pytest.raises(LuthierError, match="s3://b/p: nothing is fetched by the scheme 's3' unless you name it"):
        check_url("s3://b/p", ["https"])
    with pytest.raises(LuthierError, match="a chain of several"):
        check_url("https://b/p::file:///etc/passwd", ["https"])
    with pytest.raises(LuthierError, match="https://…@b/p: expected a URL without a password"):
        check_url("https://me:secret@b/p", ["https"])
    check_url("https://b/p?signature=1", ["https"])


def test_what_cannot_be_fetched_is_said(memory, server, cache, monkeypatch):
    with pytest.raises(
        InputError, match=r"memory://nowhere: expected a file that can be fetched, found none \(FileNot"
    ):
        fetch("memory://nowhere")
    with pytest.raises(InputError, match=r"pool\?…: expected a file that can be fetched, found none"):
        fetch(f"{server[0]}/pool?token=secret")
    with pytest.raises(LuthierError, match=r"nothing://x: "):
        fetch("nothing://x")
    shutil.rmtree(cache)
    cache.write_text("no folder")
    with pytest.raises(LuthierError, match=r"fetched: fetched files cannot be kept here: .*LUTHIER_CACHE"):
        cache_folder()


def test_a_full_disk_leaves_nothing(memory, cache, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def write(self, data):
            raise OSError(28, "No space left on device")

    memory.pipe("/pool", b"some bytes")
    monkeypatch.setattr(remote, "open", lambda *words: Full(), raising=False)
    with pytest.raises(LuthierError, match="cannot write here: no space left on device; nothing was kept"):
        fetch("memory://pool")
    assert list(cache.iterdir()) == []


def n_rows(pool, unit):
    """Return how many hypotheses the pool has."""
    return pool.n_hypotheses


@pytest.mark.slow
@pytest.mark.compiled
def test_processes_of_a_host_fetch_a_pool_once(server, tmp_path):
    address, folder, asked = server
    pool = SyntheticLists(sentences=4, k=5, vocabulary=100).generate(1)
    save_pool(pool, folder / "pool.arrow")
    raw = (folder / "pool.arrow").read_bytes()
    by_url = PoolFile("/nowhere", pool.digest(), f"{address}/pool.arrow", digest_of(raw))
    found = run_units(n_rows, Shared(None, by_url), {i: i for i in range(4)}, engine=Processes(2))
    assert set(found.values()) == {pool.n_hypotheses}
    assert asked.count("/pool.arrow") == 1


@pytest.mark.compiled
def test_commands_take_pools_and_parts_by_url(memory, tmp_path, run_cli):
    pool = with_statistics(SyntheticLists(sentences=6, k=5, vocabulary=100).generate(1), load_metric("bleu"))
    save_pool(pool, tmp_path / "pool.arrow")
    shard(pool, 2, tmp_path / "parts")
    memory.put(str(tmp_path / "pool.arrow"), "/pool.arrow")
    memory.put(str(tmp_path / "parts"), "/parts", recursive=True)
    memory.pipe("/list.txt", b"no pool")
    named = ("--pool-scheme", "memory", "--json")
    _, expected, _ = run_cli("oracle", tmp_path / "pool.arrow", "--json")
    for at in ("memory://pool.arrow", "memory://parts/manifest.json"):
        code, out, err = run_cli("oracle", at, *named)
        assert (code, out) == (0, expected), err
    code, _, err = run_cli("oracle", "memory://pool.arrow")
    assert (code, "hint: --pool-scheme memory" in err) == (2, True), err
    code, _, err = run_cli("oracle", "memory://list.txt", *named)
    assert (code, "memory://list.txt: expected a pool, found something else" in err) == (2, True), err
