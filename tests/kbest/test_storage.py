"""The pool on disk: every part comes back to the last bit, and what cannot be opened says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_pools import assert_same, full_pool, make_features, make_pool

from luthier import __version__
from luthier.core.errors import InputError, LuthierError
from luthier.kbest.storage.pool_file import FORMAT_VERSION, is_pool, open_pool, save_pool, stored_digest


@pytest.mark.parametrize(
    "pool",
    [
        full_pool(),
        full_pool().take_sentences([1]),
        full_pool().take_sentences([]),
        make_pool([[("a", (1, 2, 3))]]),
        make_pool([[], []], sparse=3),
        make_pool([[("a", ())]], ()),
    ],
    ids=["every part", "no rows", "no sentences", "fewest parts", "empty", "no features"],
)
def test_every_part_comes_back(tmp_path, pool):
    save_pool(pool, tmp_path / "p.arrow")
    assert_same(open_pool(tmp_path / "p.arrow"), pool)
    assert stored_digest(tmp_path / "p.arrow") == pool.digest()
    assert is_pool(tmp_path / "p.arrow")


@settings(max_examples=25)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=4), unique=True, max_size=4))
def test_names_of_any_characters(tmp_path_factory, names):
    path = tmp_path_factory.mktemp("names") / "p.arrow"
    pool = full_pool(
        features=make_features(np.ones((3, len(names))), names, sparse=len(names) // 2, costs=names[:1]),
        columns={name: np.arange(3) for name in names},
        stats={name: full_pool().stats["given"] for name in names},
        provenance={"names": names},
    )
    save_pool(pool, path)
    assert_same(open_pool(path), pool)


def test_opened_arrays_are_views_of_the_mapped_file(tmp_path):
    big = make_pool([[("word " * 20, (1, 2, 3))] * 5000])
    save_pool(big, tmp_path / "p.arrow")
    before = pa.total_allocated_bytes()
    pool = open_pool(tmp_path / "p.arrow")
    assert pa.total_allocated_bytes() - before < 10_000
    with open(f"/proc/{os.getpid()}/maps") as maps:
        spans = [line.split()[0].split("-") for line in maps if line.rstrip().endswith("p.arrow")]
    mapped = [(int(a, 16), int(b, 16)) for a, b in spans]
    for name, array in pool.arrays().items():
        assert not array.flags.writeable, name
        address = array.__array_interface__["data"][0]
        assert not array.size or any(a <= address < b for a, b in mapped), name


def test_an_opened_pool_outlives_the_name_of_its_file(tmp_path):
    pool = full_pool()
    save_pool(pool, tmp_path / "p.arrow")
    opened = open_pool(tmp_path / "p.arrow")
    save_pool(make_pool([[("other", (0, 0, 0))]]), tmp_path / "p.arrow")
    assert_same(opened, pool)


def test_the_same_pool_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        save_pool(full_pool(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def with_version(path, version):
    with pa.memory_map(str(path)) as source:
        table = pa.ipc.open_file(source).read_all()
        metadata = {**table.schema.metadata, b"luthier.pool": version}
        schema = table.schema.with_metadata(metadata)
        other = path.with_suffix(".other")
        with pa.OSFile(str(other), "wb") as sink, pa.ipc.new_file(sink, schema) as writer:
            writer.write_table(table.cast(schema))
    return other


@pytest.mark.parametrize("version, whose", [(b"99", "a newer luthier"), (b"0", "another luthier"), (b"x", "another")])
def test_another_version_says_which_it_is(tmp_path, version, whose):
    save_pool(full_pool(), tmp_path / "p.arrow")
    other = with_version(tmp_path / "p.arrow", version)
    with pytest.raises(InputError) as caught:
        open_pool(other)
    message = str(caught.value)
    assert f"a pool of format {FORMAT_VERSION}, the only one luthier {__version__} reads" in message
    assert f"format {version.decode()!r}, of {whose}" in message
    assert "hint: " in message
    assert is_pool(other)


def test_files_of_other_kinds(tmp_path):
    arrow = tmp_path / "other.arrow"
    table = pa.table({"a": [1]})
    with pa.OSFile(str(arrow), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    (tmp_path / "text").write_text("0 ||| a ||| lm=1 ||| 2\n")
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "magic").write_bytes(b"ARROW1\0\0")
    for name, found in [
        ("other.arrow", "an Arrow file of another kind"),
        ("text", "something else, or a file cut off"),
        ("empty", "something else, or a file cut off"),
        ("magic", "something else, or a file cut off"),
        ("none", "no such file"),
        ("", "is a directory"),
    ]:
        with pytest.raises(InputError, match=found) as caught:
            open_pool(tmp_path / name)
        assert caught.value.path == str(tmp_path / name)
        assert not is_pool(tmp_path / name)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9, 0.999])
def test_a_pool_cut_off_is_refused(tmp_path, share):
    path = tmp_path / "p.arrow"
    save_pool(full_pool(), path)
    raw = path.read_bytes()
    path.write_bytes(raw[: int(share * len(raw))])
    with pytest.raises(InputError, match="cut off"):
        open_pool(path)


def test_a_pipe_is_no_pool_and_is_not_read_from(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert not is_pool(tmp_path / "pipe")  # would wait for ever


def test_a_name_that_is_not_utf8(tmp_path):
    path = os.fsdecode(os.fsencode(tmp_path) + b"/p\xff.arrow")
    save_pool(full_pool(), path)
    assert_same(open_pool(path), full_pool())


def test_a_pool_does_not_go_to_standard_output(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LuthierError, match="cannot go to standard output"):
        save_pool(full_pool(), "-")
    assert list(tmp_path.iterdir()) == []


KILLED = """
import os, signal, sys
import pyarrow as pa
from luthier.kbest.storage.pool_file import open_pool, save_pool
def die(*args):
    os.kill(os.getpid(), signal.SIGKILL)
pa.ipc.RecordBatchFileWriter.close = die
save_pool(open_pool(sys.argv[1]), sys.argv[2])
"""


@pytest.mark.slow
def test_a_killed_write_leaves_the_old_pool_whole(tmp_path):
    old, new = make_pool([[("old", (0, 0, 0))]]), tmp_path / "new.arrow"
    save_pool(full_pool(), new)
    save_pool(old, tmp_path / "p.arrow")
    done = subprocess.run([sys.executable, "-c", KILLED, str(new), str(tmp_path / "p.arrow")])
    assert done.returncode == -signal.SIGKILL
    assert_same(open_pool(tmp_path / "p.arrow"), old)


def test_what_is_written_beside_the_arrays_is_json(tmp_path):
    save_pool(full_pool(), tmp_path / "p.arrow")
    with pa.memory_map(str(tmp_path / "p.arrow")) as source:
        meta = json.loads(pa.ipc.open_file(source).schema.metadata[b"luthier.meta"])
    assert meta["luthier"] == __version__
    assert meta["feature_names"] == list(full_pool().features.names)
