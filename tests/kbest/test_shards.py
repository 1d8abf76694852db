"""A sharded pool: what is written, and what is said of shards and manifests that are not what they should be."""

import json
import shutil

import numpy as np
import pytest
from small_pools import full_pool, make_pool

from luthier.core.errors import InputError, LuthierError
from luthier.kbest.shards.manifest import NAME, is_manifest, read_manifest
from luthier.kbest.shards.shard import check_files, open_shard, part_cuts, shard

LISTS = [[(f"h {i} {k}", (i - k, k % 2, 1.5 * k)) for k in range(i % 4)] for i in range(9)]  # some are empty


@pytest.fixture
def manifest(tmp_path):
    return shard(make_pool(LISTS), 3, tmp_path / "parts")


@pytest.mark.parametrize("parts", [1, 2, 9])
def test_parts_hold_every_sentence_once_in_order(tmp_path, parts):
    pool = make_pool(LISTS).with_stats("m", ("a",), np.arange(12)[:, None])
    found = read_manifest(shard(pool, parts, tmp_path / "parts").path)
    pools = [open_shard(found, number) for number in range(parts)]
    assert [text for part in pools for text in list(part.texts)] == list(pool.texts)
    assert [name for part in pools for name in list(part.sentence_ids)] == list(pool.sentence_ids)
    assert np.concatenate([part.stats["m"].values for part in pools]).ravel().tolist() == list(range(12))
    assert (found.pool, found.n_sentences, found.stats["m"].kind) == (pool.digest(), 9, "int64")
    assert found.lists == pool.take_sentences(np.flatnonzero(pool.list_lengths)).digest()


def test_every_part_of_a_pool_goes_along(tmp_path):
    pool = full_pool()
    found = shard(pool, 1, tmp_path / "parts")
    assert open_shard(found, 0).digest() == pool.digest()
    assert (found.feature_names, found.costs, found.groups) == (
        pool.features.names, pool.features.costs, pool.features.groups,
    )  # fmt: skip


def test_cuts_give_each_part_a_sentence_whatever_the_lengths():
    rng = np.random.default_rng(0)
    for _ in range(200):
        lengths = rng.integers(0, 5, rng.integers(1, 12)) * rng.integers(0, 100, 1)
        parts = int(rng.integers(1, len(lengths) + 1))
        cuts = part_cuts(np.concatenate([[0], np.cumsum(lengths)]), parts)
        assert (cuts[0], cuts[-1], len(cuts)) == (0, len(lengths), parts + 1)
        assert np.all(np.diff(cuts) >= 1)


def test_no_parts_too_many_parts_and_a_folder_in_use_are_refused(tmp_path):
    for parts in (0, 10):
        with pytest.raises(LuthierError, match="from 1 to 9 parts"):
            shard(make_pool(LISTS), parts, tmp_path / "new")
    (tmp_path / "mine").touch()
    with pytest.raises(LuthierError, match="expected an empty folder"):
        shard(make_pool(LISTS), 2, tmp_path)


def test_a_part_that_is_missing_cut_off_or_changed_is_named_with_both_digests(manifest, tmp_path):
    path, part = tmp_path / "parts" / "part-2.arrow", manifest.parts[1]
    whole = path.read_bytes()
    open_shard(manifest, 1)  # once it was right
    named = f"part-2.arrow: expected part 2 of 3, {part.digest}, found "
    path.write_bytes(whole[:-9])
    with pytest.raises(InputError, match=f"{named}a file cut off, of {part.size - 9:,} bytes"):
        check_files(manifest)
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    path.write_bytes(changed)
    with pytest.raises(InputError, match=f"{named}another file, [0-9a-f]{{32}}"):
        open_shard(manifest, 1)
    shutil.copy(tmp_path / "parts" / "part-1.arrow", path)  # a good pool, but another
    with pytest.raises(InputError, match=f"{named}a longer file, of"):
        open_shard(manifest, 1)
    path.unlink()
    with pytest.raises(InputError, match=f"{named}none"):
        open_shard(manifest, 1)
    path.write_bytes(whole)
    assert open_shard(manifest, 1).n_sentences == part.sentences


def resealed(path, change):
    """Write a manifest whose seal fits, whatever it says."""
    from luthier.kbest.shards.manifest import _seal

    said = json.loads(path.read_text())
    del said["seal"]
    change(said)
    path.write_text(json.dumps({**said, "seal": _seal(said)}))


LIES = {
    "a path": lambda said: said["parts"][0].update(file="../part-1.arrow"),
    "no count": lambda said: said["parts"][0].update(sentences=-1),
    "too full": lambda said: said["parts"][0].update(filled=99),
    "a part twice": lambda said: said["parts"].append(said["parts"][0]),
    "no parts": lambda said: said.update(parts=[]),
    "no spread": lambda said: said.update(spread=[1.0]),
    "NaN": lambda said: said.update(spread=[float("nan")] * 3),
    "no digest": lambda said: said.update(pool="x"),
    "a type": lambda said: said.update(stats={"m": {"names": ["a"], "kind": "object"}}),
    "a name twice": lambda said: said.update(feature_names=["a", "a", "b"]),
    "nothing": lambda said: said.pop("parts"),
    "no list": lambda said: said.update(feature_names={"a": 1}),
    "a version": lambda said: said.update({"luthier.parts": 2}),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_manifest_that_lies_is_refused(manifest, tmp_path, lie):
    path = tmp_path / "parts" / NAME
    resealed(path, LIES[lie])
    with pytest.raises(InputError, match=r"manifest.json: expected the manifest of a sharded pool"):
        read_manifest(path)


def test_counts_and_names_that_are_not_the_parts_own_are_refused(manifest, tmp_path):
    path = tmp_path / "parts" / NAME
    resealed(path, lambda said: said["parts"][2].update(sentences=said["parts"][2]["sentences"] + 1))
    with pytest.raises(InputError, match=r"part 3 of 3, .*, found other counts"):
        open_shard(read_manifest(path), 2)
    resealed(path, lambda said: said.update(feature_names=["a", "b", "c"]))
    with pytest.raises(InputError, match=r"part 1 of 3, .*, found other features"):
        open_shard(read_manifest(path), 0)


def test_a_manifest_that_was_changed_or_is_none_is_refused(manifest, tmp_path):
    path = tmp_path / "parts" / NAME
    raw = path.read_bytes()
    for damage in (raw.replace(b'"n_dense": 3', b'"n_dense": 2'), raw[:-20], b"[" * 100_000, b"\xff", b""):
        path.write_bytes(damage)
        with pytest.raises(InputError, match="expected the manifest of a sharded pool"):
            read_manifest(path)
    assert not is_manifest(tmp_path)
    assert not is_manifest(tmp_path / "nowhere")
    assert not is_manifest(tmp_path / "parts" / "part-1.arrow")
