"""Grammars with bins: text, own file and table of rules give the same vectors, on every rule and hypothesis."""

from __future__ import annotations

import dataclasses
import gzip
import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_tables import pool_of, rule_features, summed, vectors

from luthier.core.errors import InputError, LuthierError
from luthier.core.files.io import line_blocks
from luthier.core.plugins import available
from luthier.features.counts import TARGET_WORDS
from luthier.features.fit_bins import BinOptions, bins_of_grammar, bins_of_pool
from luthier.features.induction import PACKAGE, induce_features, induce_grammar, induce_pool
from luthier.features.rewrite_grammar import Rewriter, rewrite_grammar
from luthier.grammar.reading import read_grammar

pytestmark = pytest.mark.filterwarnings("ignore::luthier.core.errors.LuthierWarning")
SIDES = ["a ||| b", "a [X,1] ||| [X,1] b c", "a b ||| [1]", "c [X,1] ||| [1] d", "d ||| ", "e ||| f g h"]
RULE = st.tuples(
    st.sampled_from(SIDES),
    st.fixed_dictionaries(
        {},
        optional={
            "p": st.sampled_from([0.0, 0.1, 1 / 3, 2 / 3, 0.666666666667, 1.0]),
            "c": st.sampled_from([1.0, 2.0, 7.0, 1e6]),
            "other": st.sampled_from([-1.0, 0.0]),
        },
    ),
)
RULES = st.lists(RULE, min_size=1, max_size=8).filter(lambda rules: {n for _, r in rules for n in r} >= {"p", "c"})


def line(sides, features):
    return f"[X] ||| {sides} ||| {' '.join(f'{name}={value!r}' for name, value in features.items())} ||| \n"


def rewritten(text, bins):
    """Return a text with bins, in blocks of few bytes."""
    rewriter, out = Rewriter(bins), b""
    for block in line_blocks(io.BufferedReader(io.BytesIO(text.encode())), "grammar", block_bytes=50):
        out += rewriter.rewrite(block, "grammar").tobytes()
    rewriter.finish("grammar")
    return out.decode()


def grammar_vectors(grammar):
    """Return {text of a rule: its features without zeros}, of rules whose texts differ."""
    return {
        (rule.source, rule.target): {name: value for name, value in rule.features.items() if value}
        for rule in grammar.rules()
    }


@settings(max_examples=30)
@given(RULES, st.sampled_from(sorted(available(PACKAGE))), st.integers(1, 4), st.booleans())
def test_three_ways_one_vector(tmp_path_factory, rules, induction, n_bins, keep):
    rules = list(dict(rules).items())  # texts that differ
    if not {name for _, rule in rules for name in rule} >= {"p", "c"}:
        return
    path = tmp_path_factory.mktemp("grammars") / "grammar"
    path.write_text("".join(line(*rule) for rule in rules))
    grammar = read_grammar(path)
    conjunctions = [("c", "p")] if keep else []
    options = BinOptions(bins=n_bins, induction=induction, keep=["p"] if keep else [], conjunctions=conjunctions)
    bins = bins_of_grammar(grammar, ["p", "c"], options)
    expected = grammar_vectors(induce_grammar(grammar, bins))
    path.write_text(rewritten(path.read_text(), bins))
    text = grammar_vectors(read_grammar(path))
    table = vectors(induce_features(rule_features([rule for _, rule in rules]), bins))
    for (rule, _), row in zip(rules, table, strict=True):
        source, target = rule.split(" ||| ")
        gap = "[X,1]" in source  # [1] is a gap where the source side has one
        key = (source, target.strip().replace("[1]", "[X,1]") if gap else target.strip())
        assert row == pytest.approx(expected[key], rel=1e-11)
        assert text[key] == pytest.approx(expected[key], rel=1e-11)


def test_three_ways_on_every_hypothesis(tmp_path):
    rng = np.random.default_rng(5)
    rules = [
        (f"w{k} ||| v{k}" + " u" * (k % 3), {"p": float(rng.integers(1, 9)) / 9, "c": float(rng.integers(1, 50))})
        for k in range(40)
    ]
    path = tmp_path / "grammar"
    path.write_text("".join(line(*rule) for rule in rules))
    grammar = read_grammar(path)
    options = BinOptions(bins=5, conjunctions=[("p", TARGET_WORDS)])
    bins = bins_of_grammar(grammar, ["p", "c", TARGET_WORDS], options)
    chosen = [rng.integers(0, 41, rng.integers(0, 9)).tolist() for _ in range(30)]
    glue = ("[S] ||| [S,1] [X,2] ||| [S,1] [X,2]", {"Glue": 1.0})
    every = [*((f"[X] ||| {text}", rule) for text, rule in rules), glue]
    pool = pool_of([[[every[k] for k in row] for row in chosen[:15]], [[every[k] for k in row] for row in chosen[15:]]])
    path.write_text(rewritten(path.read_text(), bins))
    texts = grammar_vectors(read_grammar(path))
    memory = grammar_vectors(induce_grammar(grammar, bins))
    assert texts == memory
    found = vectors(induce_pool(pool, bins).features)
    for row, vector in zip(chosen, found, strict=True):
        used = [memory[tuple(rules[k][0].split(" ||| "))] if k < 40 else glue[1] for k in row]
        assert vector == summed(used)


def test_target_words_stand_behind_the_features(tmp_path):
    text = (
        "[X] ||| a ||| b ||| p=1 ||| 0-0\n"
        "[X] ||| a ||| b [x] c |||  ||| 0-0\n"
        "[X] ||| a [X,1] ||| [1] b c\n"
        "[X] ||| a ||| d e |||\n"
        "[S] ||| [X,1] ||| [X,1] ||| Glue=1\n"
        "[X] ||| b ||| c ||| p=2\tq=1 |||"
    )
    path = tmp_path / "grammar"
    path.write_text(text)
    grammar = read_grammar(path)
    bins = bins_of_grammar(grammar, [TARGET_WORDS])
    assert rewritten(text, bins) == (
        "[X] ||| a ||| b ||| p=1 TargetWords_1=1 ||| 0-0\n"
        "[X] ||| a ||| b [x] c |||   TargetWords_3=1 ||| 0-0\n"
        "[X] ||| a [X,1] ||| [1] b c ||| TargetWords_2=1\n"
        "[X] ||| a ||| d e ||| TargetWords_2=1 \n"
        "[S] ||| [X,1] ||| [X,1] ||| Glue=1\n"
        "[X] ||| b ||| c ||| p=2\tq=1 TargetWords_1=1 |||\n"
    )
    with pytest.raises(LuthierError, match="there is no TargetWords to keep: it is counted"):
        bins_of_grammar(grammar, [TARGET_WORDS], BinOptions(keep=[TARGET_WORDS]))
    both = bins_of_grammar(grammar, ["p", TARGET_WORDS], BinOptions(keep=["p"]))
    assert rewritten(text, both).splitlines()[0] == "[X] ||| a ||| b ||| p=1 p_1=1 TargetWords_1=1 ||| 0-0"


def test_a_conjunction_fires_both_bins_together(tmp_path):
    text = "[X] ||| a ||| b ||| p=1 q=3 ||| 0-0\n[X] ||| b ||| c ||| q=4\n[X] ||| c ||| c ||| p=2 q=4\n"
    path = tmp_path / "grammar"
    path.write_text(text)
    bins = bins_of_grammar(read_grammar(path), ["p", "q"], BinOptions(conjunctions=[("p", "q")]))
    assert bins.names[4:] == ("p_1&q_3", "p_1&q_4", "p_2&q_3", "p_2&q_4")
    assert [group.name for group in bins.groups] == ["p", "q"]  # no order among pairs
    assert rewritten(text, bins).splitlines() == [
        "[X] ||| a ||| b ||| p_1=1 q_3=1 p_1&q_3=1 ||| 0-0",
        "[X] ||| b ||| c ||| q_4=1",
        "[X] ||| c ||| c ||| p_2=1 q_4=1 p_2&q_4=1",
    ]
    hats = bins_of_grammar(read_grammar(path), ["p", "q"], BinOptions(conjunctions=[("p", "q")], induction="hat"))
    table = vectors(induce_features(rule_features([{"p": 1.25, "q": 3.5}]), hats))[0]
    assert {name: value for name, value in table.items() if "&" in name} == {
        "p_1&q_3": 0.375, "p_1&q_4": 0.375, "p_2&q_3": 0.125, "p_2&q_4": 0.125,
    }  # fmt: skip
    for pair in (("p", "p"), ("p", "x")):
        with pytest.raises(LuthierError, match="expected pairs of different features that have bins, found 'p' and"):
            bins_of_grammar(read_grammar(path), ["p", "q"], BinOptions(conjunctions=[pair]))
    with pytest.raises(LuthierError, match="expected each conjunction of two features once"):
        bins_of_grammar(read_grammar(path), ["p", "q"], BinOptions(conjunctions=[("p", "q"), ("q", "p")]))


def test_what_a_grammar_cannot_have_is_said(tmp_path):
    path = tmp_path / "grammar"
    path.write_text("[X] ||| a ||| b ||| p=1\n[X] ||| b ||| c ||| p=2\n")
    bins = bins_of_grammar(read_grammar(path), ["p"])
    cases = {
        "[X] ||| a ||| b ||| q=1\n": "grammar: expected rules with 'p', which the bins are of, found none. hint:",
        "[X] ||| a ||| b ||| p=nan\n": "grammar:1: expected features name=value with finite numbers, found 'p=nan'",
        "[X] ||| a ||| b ||| p=1\n[X] ||| a ||| b ||| p=1e999\n": "grammar:2: expected features name=value",
        "[X] ||| a ||| b ||| p=1\n[X] ||| a ||| b ||| p=\n": "grammar:2: expected features name=value",
        "[X] ||| a\n": "grammar:1: expected a rule of at least 3 fields",
        "[X] ||| a ||| b ||| p=1 p_2=1\n": "without the columns of these bins, found 'p_2'. hint: was it discretized",
        "[X] ||| a ||| b ||| p=1\r\n": "grammar:1:",
    }
    for text, message in cases.items():
        with pytest.raises(LuthierError) as caught:
            rewritten(text, bins)
        assert message in str(caught.value)
    with pytest.raises(LuthierError, match="found 'p_1'"):
        induce_grammar(induce_grammar(read_grammar(path), keeping(bins)), keeping(bins))
    with pytest.raises(LuthierError, match="no feature is called 'p'"):
        induce_grammar(induce_grammar(read_grammar(path), bins), bins)
    pool = pool_of([[[{"a b": 1.0}]]])
    with pytest.raises(LuthierError, match="without blanks and '=', which a grammar can have, found 'a b_1'"):
        Rewriter(bins_of_pool(pool, ["a b"]))
    with pytest.raises(LuthierError, match="found bins of whole hypotheses"):
        Rewriter(bins_of_pool(pool, ["a b"], scope="global"))
    path.write_text("")
    with pytest.raises(InputError, match="empty"):
        rewrite_grammar(path, Rewriter(bins), io.BytesIO())


def keeping(bins):
    return dataclasses.replace(bins, features=tuple(dataclasses.replace(f, keep=True) for f in bins.features))


def test_a_rule_counts_once_in_every_sentence(tmp_path):
    from luthier.core.segments import offsets_from_counts

    path = tmp_path / "grammar.gz"
    with gzip.open(path, "wt") as file:
        file.write("[X] ||| a ||| b ||| p=1\n[X] ||| b ||| c ||| p=2\n[X] ||| b ||| d ||| p=3\n")
    grammar = read_grammar(path)
    assert bins_of_grammar(grammar, ["p"]).features[0].populations.tolist() == [1, 1, 1]
    # three sentences: a; a and b; nothing
    sentences = dataclasses.replace(
        grammar, sentence_offsets=offsets_from_counts([1, 2, 0]), sentence_sides=np.array([0, 0, 1], np.int32)
    )
    bins = bins_of_grammar(sentences, ["p"])
    assert bins.features[0].populations.tolist() == [2, 1, 1]
    assert bins.origin["counted"] == "once in each sentence's grammar"
