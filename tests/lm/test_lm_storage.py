"""The file beside an ARPA file: made once, made again when it must be, never believed when it is wrong."""

from __future__ import annotations

import os

import numpy as np
import pytest

from luthier.core.errors import InputError
from luthier.core.files.array_file import open_arrays, save_arrays
from luthier.lm import storage
from luthier.lm.arpa_reading import read_arpa
from luthier.lm.model import append, join, new_states
from luthier.lm.storage import KIND, load_model, open_lm, save_model
from plain_models import arpa_text, random_model, random_words

TEXTS = [" ".join(random_words(np.random.default_rng(seed), 7, 8)) for seed in range(10)]


def write_model(path, seed, order=3):
    path.write_text(arpa_text(random_model(np.random.default_rng(seed), order)))
    return path


@pytest.fixture
def arpa(tmp_path):
    return write_model(tmp_path / "lm.arpa", 0)


def kept(path):
    return path.with_name(path.name + ".luthier")


def at_rest(path):
    """Make a file look as if it had been written long ago."""
    os.utime(path, ns=(0, 10**18))


@pytest.fixture
def readings(monkeypatch):
    """The ARPA files that were read."""
    paths = []
    monkeypatch.setattr(storage, "read_arpa", lambda path: paths.append(path) or read_arpa(path))
    return paths


def test_the_second_opening_reads_no_arpa_and_scores_the_same(arpa, readings):
    first = open_lm(arpa)
    second = open_lm(arpa)
    assert len(readings) == 1
    assert kept(arpa).exists()
    assert not second.tables.records.flags.writeable
    assert second.counts == first.counts
    assert list(second.words) == list(first.words)
    assert np.array_equal(first.score(TEXTS).probs, second.score(TEXTS).probs)
    assert np.array_equal(open_lm(kept(arpa)).score(TEXTS).probs, first.score(TEXTS).probs)


def test_a_changed_arpa_is_read_again(arpa, readings):
    before = open_lm(arpa).score(TEXTS).probs
    write_model(arpa, 1)
    assert not np.array_equal(open_lm(arpa).score(TEXTS).probs, before)
    assert len(readings) == 2


def test_a_change_of_the_same_size_and_time_is_noticed_where_the_clock_cannot_tell(arpa, readings):
    text, stamp = arpa.read_text(), arpa.stat().st_mtime_ns
    before = open_lm(arpa).score(TEXTS).probs
    digit = text.index("\ta\t") - 1
    arpa.write_text(text[:digit] + ("1" if text[digit] != "1" else "2") + text[digit + 1 :])
    os.utime(arpa, ns=(stamp, stamp))
    assert arpa.stat().st_size == len(text)
    assert not np.array_equal(open_lm(arpa).score(TEXTS).probs, before)
    assert len(readings) == 2


def test_a_touched_arpa_is_not_read_again_and_one_at_rest_is_not_even_hashed(arpa, readings, monkeypatch):
    at_rest(arpa)
    open_lm(arpa)
    monkeypatch.setattr("luthier.lm.storage.hashlib", None)  # whoever asks for a digest now fails
    open_lm(arpa)
    monkeypatch.undo()
    os.utime(arpa)
    open_lm(arpa)
    assert len(readings) == 1


def test_a_folder_that_cannot_be_written_to_is_no_obstacle(arpa, run_cli, tmp_path):
    kept(arpa).mkdir()
    (tmp_path / "text").write_text("a b\n")
    code, _, err = run_cli("engine", "perplexity", arpa, tmp_path / "text")
    assert code == 0
    assert "the opened model is not kept for next time: " in err


def test_a_full_disk_is_no_obstacle_and_leaves_nothing(arpa, run_cli, tmp_path, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    (tmp_path / "text").write_text("a b\n")
    monkeypatch.setattr("luthier.core.files.io.os.fsync", full)
    code, _, err = run_cli("engine", "perplexity", arpa, tmp_path / "text")
    assert code == 0
    assert "no space left on device" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lm.arpa", "text"]


def test_a_model_from_a_pipe_is_read_and_nothing_is_kept(arpa, tmp_path):
    import threading

    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_bytes(arpa.read_bytes()))
    writer.start()
    model = open_lm(pipe)
    writer.join()
    assert np.array_equal(model.score(TEXTS).probs, open_lm(arpa).score(TEXTS).probs)
    assert not kept(pipe).exists()


def test_a_missing_model_and_a_folder_are_told(tmp_path):
    with pytest.raises(InputError, match="expected a readable file, found no such file"):
        open_lm(tmp_path / "none.arpa")
    with pytest.raises(InputError, match="expected a file, found a folder"):
        open_lm(tmp_path)


def test_damage_anywhere_is_noticed_or_harmless_and_mended(arpa, readings):
    """Whatever byte is changed or where the file ends: the scores are right, from this file or a new one."""
    right = open_lm(arpa).score(TEXTS).probs
    whole = kept(arpa).read_bytes()
    rng = np.random.default_rng(0)
    places = [*range(0, 60, 2), *rng.integers(0, len(whole), 30).tolist()]
    for place in places:
        broken = bytearray(whole)
        broken[place] ^= 1 << int(rng.integers(8))
        kept(arpa).write_bytes(broken)
        assert np.array_equal(open_lm(arpa).score(TEXTS).probs, right), place
    for length in [0, 1, 20, 40, 100, len(whole) // 2, len(whole) - 1]:
        kept(arpa).write_bytes(whole[:length])
        with pytest.raises(InputError, match="expected a file of the kind 'language model 1', found"):
            load_model(kept(arpa))
        assert np.array_equal(open_lm(arpa).score(TEXTS).probs, right), length
    assert len(readings) > 25


def forged(path, change, parts):
    """Write a file with other numbers and other arrays, the checksum made to fit."""
    arrays, about = open_arrays(path, KIND)
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(about)
    changed = parts(arrays)
    save_arrays(path, KIND, arrays if changed is None else changed, about)


def set_part(name, place, value):
    """Return a change of one number; records are rows of a key and of p and back-off together."""

    def change(arrays):
        array = arrays[name] if name != "records" else arrays[name].view(np.float32)
        array[place] = value

    return change


def replaced(name, array):
    return lambda arrays: {**arrays, name: np.array(array)}


def unchanged(about):
    pass


HOSTILE = {
    "no order": (unchanged, replaced("numbers", [5])),
    "no numbers": (unchanged, replaced("numbers", np.zeros(0, np.int64))),
    "an order of 11": (unchanged, replaced("numbers", [5] * 12)),
    "negative counts": (unchanged, replaced("numbers", [5, -1, 1])),
    "numbers of another type": (unchanged, replaced("numbers", [5.0, 1.0])),
    "no steps": (unchanged, set_part("numbers", 0, 0)),
    "too many steps": (unchanged, set_part("numbers", 0, 10**9)),
    "an origin that is none": (lambda about: about.update(origin=[1]), None),
    "no origin": (lambda about: about.clear(), None),
    "fewer records than words": (unchanged, lambda arrays: {**arrays, "records": arrays["records"][:3]}),
    "records of another shape": (unchanged, lambda arrays: {**arrays, "records": arrays["records"].reshape(-1)}),
    "records of another type": (unchanged, lambda arrays: {**arrays, "records": arrays["records"].astype("<f8")}),
    "an array missing": (unchanged, lambda arrays: {"records": arrays["records"]}),
    "words out of range": (unchanged, set_part("words.offsets", 1, -1)),
    "words beyond their end": (unchanged, set_part("words.offsets", -1, 10**9)),
    "words that stand twice": (unchanged, set_part("words.data", slice(0, 5), ord("a"))),
    "words that are not UTF-8": (unchanged, set_part("words.data", -1, 255)),
    "a probability above 1": (unchanged, set_part("records", (0, 2), 1.0)),
    "a NaN": (unchanged, set_part("records", (3, 3), np.nan)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_file_is_refused(arpa, kind):
    change, parts = HOSTILE[kind]
    open_lm(arpa)
    forged(kept(arpa), change, parts or (lambda arrays: None))
    with pytest.raises(InputError, match=r"kind 'language model 1', found .* hint: delete the file"):
        load_model(kept(arpa))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_records_made_up_at_random_lead_nowhere_else(tmp_path, order):
    """Keys, marks and numbers of any kind: a kernel ends, and stays within its arrays (also run uncompiled)."""
    arpa = write_model(tmp_path / "lm.arpa", 3, order)
    model = open_lm(arpa)
    rng = np.random.default_rng(order)
    for trial in range(5):
        records = np.zeros(len(model.tables.records), dtype=model.tables.records.dtype)
        records["key"] = rng.integers(0, 2**64, len(records), dtype=np.uint64) if trial % 2 else model.tables.records[
            "key"] | rng.integers(0, 4, len(records)).astype(np.uint64) << np.uint64(62)  # fmt: skip
        records["prob"] = -rng.random(len(records))
        tables = model.tables._replace(records=records, probes=len(records) - model.tables.n_words)
        odd = type(model)(model.order, model.words, model.counts, tables)
        save_model(odd, kept(arpa))
        opened = load_model(kept(arpa))[0]
        assert np.isfinite(opened.score(TEXTS).probs).all()
        states = new_states(2, order)
        for word in rng.integers(0, len(model.words), 60).tolist():
            assert np.isfinite(append(opened, states, 1, word))
            if word % 3 == 0:
                assert np.isfinite(join(opened, states, 0, states, 1))
                states[1] = new_states(1, order)[0]
