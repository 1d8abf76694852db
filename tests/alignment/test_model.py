"""Kept models: what is saved is opened, damage is told, new text is aligned."""

import io
import json
import zipfile

import numpy as np
import pytest
from small_texts import TEXT

from luthier.alignment.aligner import align, apply_model
from luthier.alignment.model import open_model, save_model
from luthier.core.errors import InputError

SOURCE, TARGET = [s for s, _ in TEXT], [t for _, t in TEXT]


@pytest.fixture
def model_path(tmp_path):
    save_model(align(SOURCE, TARGET, "diagonal", optimize_tension=True).model, tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("method", ["model1", "diagonal", "hmm"])
def test_applied_to_its_own_text_a_model_gives_the_same(tmp_path, method):
    done = align(SOURCE, TARGET, method)
    save_model(done.model, tmp_path / "m")
    again = apply_model(open_model(tmp_path / "m"), SOURCE, TARGET)
    assert again.forward == done.forward
    assert again.backward == done.backward
    np.testing.assert_array_equal(again.scores, done.scores)
    assert again.model.method == done.model.method


def test_the_same_model_gives_the_same_bytes(tmp_path, model_path):
    save_model(open_model(model_path), tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == model_path.read_bytes()


def test_new_text_and_new_words(model_path):
    # a known sentence, a new pair of known words, a new word on each side, and a pair that is left out
    done = apply_model(
        open_model(model_path),
        ["ein kleines haus", "es ist xyz", "neu", ""],
        ["a small house", "it is uvw", "new", "x"],
    )
    links = done.symmetrized()
    assert (0, 0) in links[0]
    assert (2, 2) in links[0]
    assert (2, 2) in links[1]  # the two new words find each other
    assert links[2] == [(0, 0)]
    assert links[3] == []
    assert np.isfinite(done.scores[:3]).all()
    assert np.isnan(done.scores[3]).all()


def rewritten(path, name, change):
    """Write a model again with one array changed, or left out."""
    with zipfile.ZipFile(path) as archive:
        arrays = {entry[:-4]: np.load(io.BytesIO(archive.read(entry))) for entry in archive.namelist()}
    arrays[name] = change(arrays[name])
    with path.open("wb") as file:
        np.savez(file, **{key: value for key, value in arrays.items() if value is not None})


def larger(array):
    return np.where(np.arange(len(array)) == len(array) // 2, array.max() + 2, array).astype(array.dtype)


def other_about(array):
    about = json.loads(array.tobytes()) | {"format": "something else"}
    return np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)


def other_method(array):
    about = json.loads(array.tobytes()) | {"method": "hmm", "parameters": {"null": 7.0}}
    return np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("type_targets", larger, "target words beyond the vocabulary"),
        ("type_targets", lambda a: -1 - a, "target words beyond the vocabulary"),
        ("type_targets", lambda a: a.astype(np.int64), "type_targets of another kind"),
        ("type_offsets", larger, "type_offsets that do not fit"),
        ("type_offsets", lambda a: np.append(a, a[-1]), "another number of source words than of rows"),
        ("source_offsets", larger, "source_offsets that do not fit"),
        ("target_bytes", lambda a: a * 0 + 97, "a target word twice"),
        ("forward_probabilities", larger, "forward_probabilities that are no probabilities"),
        ("forward_null", lambda a: a * np.nan, "forward_null that do not fit"),
        ("backward_unseen", lambda a: a[:-1], "backward_unseen that do not fit"),
        ("backward_unseen", lambda a: a * 0, "backward_unseen that are no probabilities"),
        ("forward_own", lambda a: np.append(a, 1.0), "forward_own that do not fit"),
        ("backward_own", lambda a: None, "backward_own"),
        ("about", other_about, "the format 'something else'"),
        ("about", other_method, "the 'null' parameter of hmm must be"),
        ("about", lambda a: a[:-3], "expecting"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(model_path, name, change, words):
    rewritten(model_path, name, change)
    with pytest.raises(InputError) as caught:
        open_model(model_path)
    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{model_path}: expected a model that 'luthier engine align' wrote, found ")


@pytest.mark.parametrize(
    "damage", [lambda b: b[: len(b) // 2], lambda b: b"", lambda b: b"0-0 1-1\n", lambda b: b[::-1]]
)
def test_a_file_that_is_no_model_is_refused(model_path, damage):
    model_path.write_bytes(damage(model_path.read_bytes()))
    with pytest.raises(InputError, match="expected a model that 'luthier engine align' wrote"):
        open_model(model_path)


def test_every_flipped_byte_is_noticed_or_harmless(model_path):
    whole = model_path.read_bytes()
    for at in range(0, len(whole), 97):
        model_path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
        try:
            open_model(model_path)
        except InputError:
            continue


def test_no_model_at_all(tmp_path):
    with pytest.raises(InputError, match="found no such file or directory"):
        open_model(tmp_path / "none")
    with pytest.raises(InputError, match="found is a directory"):
        open_model(tmp_path)
