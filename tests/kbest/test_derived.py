"""Features made by formulas: their values, their complaints, and that they go with weights to other lists."""

from __future__ import annotations

import numpy as np
import pytest
from small_pools import make_pool

from luthier.core.errors import InputError, LuthierError
from luthier.jobs.rerank import RerankOptions, rerank_files
from luthier.kbest.derived import Derived, add_derived, derived_of, with_derived
from luthier.kbest.merge import Transforms
from luthier.kbest.storage.pool_file import open_pool, save_pool
from luthier.kbest.weights import Weights, read_weights, write_weights

LISTS = [[("a bc", (-4, 1, 0)), ("äöü", (-3, 0, 2))], [("x y z", (-6, 2, 0)), ("", (0, 0, 0))]]


def pool(**parts):
    return make_pool(LISTS, ("lm", "tm", "rare"), sparse=1, **parts)


def test_lengths_and_formulas():
    found = Transforms(add=["words", "chars", "lp=lm/max(words,1)**0.5", "twice=2*lp", "r=rare+1"]).apply(pool())
    assert found.features.names == ("lm", "tm", "words", "chars", "lp", "twice", "r", "rare")
    assert found.features.column("words").tolist() == [2, 1, 3, 0]
    assert found.features.column("chars").tolist() == [4, 3, 5, 0]
    assert found.features.column("lp").tolist() == [-4 / 2**0.5, -3, -6 / 3**0.5, 0]
    assert found.features.column("twice").tolist() == (2 * found.features.column("lp")).tolist()
    assert found.features.column("r").tolist() == [1, 3, 1, 1]
    assert found.features.column("rare").tolist() == [0, 2, 0, 0]


def test_columns_can_be_used():
    found = Transforms(add=["rate=words/duration"]).apply(pool(columns={"duration": np.array([1.0, 2, 4, 8])}))
    assert found.features.column("rate").tolist() == [2, 0.5, 0.75, 0]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("lp=lm/words", r"lp = lm/words is not finite for 1 hypotheses, the first of them number 2 of sentence '1' "
                        r"\(lm = 0, words = 0\)"),
        ("lp=log(tm)", "the first of them number 2 of sentence '0'"),
        ("x=wods", "no feature is called 'wods'. hint: did you mean 'words'"),
        ("lm=1", "there is a feature 'lm' already"),
        ("c=1/0", r"c = 1/0 is not finite for 4 hypotheses, .* of sentence '0' \(a number alone\)"),
        ("words=lm", "'words' is the length of a hypothesis. hint: give the new feature another name"),
        ("lp", "expected words or chars, or NAME=FORMULA to add, found 'lp'"),
        ("a b=lm", "a name without white space"),
        ("=lm", "a name without white space"),
        ("x=lm;tm", "expected a formula"),
    ],
)  # fmt: skip
def test_complaints(text, complaint):
    with pytest.raises(LuthierError, match=complaint):
        Transforms(add=[text]).apply(pool())


def test_what_was_added_is_remembered(tmp_path):
    made = add_derived(pool(), [Derived.parse("lp=lm*words**a"), Derived.parse("words")], {"a": 0.5})
    assert derived_of(made) == {"lp": "lm * words ** 0.5", "words": "words"}
    save_pool(made, tmp_path / "p.arrow")
    assert derived_of(open_pool(tmp_path / "p.arrow")) == derived_of(made)
    assert derived_of(Transforms(drop=["lp"]).apply(made)) == {"words": "words"}
    assert derived_of(Transforms(rename={"lm": "x"}).apply(made)) == {"words": "words"}
    assert derived_of(Transforms(rename={"words": "x"}).apply(made)) == {}
    again = with_derived(pool(), derived_of(made))
    assert again.features.dense.tolist() == made.features.dense.tolist()
    assert with_derived(made, derived_of(made)) is made


@pytest.mark.parametrize("name", ["w.txt", "w.json", "w.ini"])
def test_weights_carry_formulas(tmp_path, name):
    weights = Weights({"lm": 1.0, "tm": 0.0, "rare": 0.0, "lp": -2.0}, {"lp": "lm/max(words, 1)"})
    write_weights(weights, tmp_path / name)
    again = read_weights(tmp_path / name)
    assert (dict(again), dict(again.derived)) == (dict(weights), dict(weights.derived))
    out = tmp_path / "out.txt"
    rerank_files([pool()], [str(tmp_path / name)], [str(out)], RerankOptions())
    # 1·lm − 2·lm/words: 0 and 3; −2 and 0
    assert out.read_text() == "äöü\n\n"


def test_formulas_of_one_name_must_agree(tmp_path):
    for name, formula in (("v.txt", "lm"), ("w.txt", "tm")):
        write_weights(Weights({"x": 1.0}, {"x": formula}), tmp_path / name)
    files = [str(tmp_path / name) for name in ("v.txt", "w.txt")]
    with pytest.raises(LuthierError, match="another formula"):
        rerank_files([pool()], files, [str(tmp_path / "a"), str(tmp_path / "b")], RerankOptions())
    (tmp_path / "w.json").write_text('{"weights": {"x": 1}, "add": {"x": 3}}')
    with pytest.raises(InputError, match="expected a formula for 'x', found 3"):
        read_weights(tmp_path / "w.json")
