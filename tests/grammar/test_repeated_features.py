"""A rule that names a feature twice is refused by everybody who reads grammars: they would take different values."""

import pytest

from luthier.core.errors import InputError
from luthier.grammar.reading import read_grammar

RULE = "[X] ||| a ||| b ||| {} ||| 0-0\n"
BINS = "[X] ||| a ||| b ||| a=1\n[X] ||| c ||| d ||| a=2\n"
TOLD = "expected each feature once in a rule, found 'a' twice"


@pytest.mark.parametrize("features", ["a=2 a=4", "b=1 a=2 c=3 a=2", "a=1 a=1"])
def test_a_feature_named_twice_is_refused_with_its_line(tmp_path, features):
    (tmp_path / "g").write_text(RULE.format("a=1") + RULE.format(features))
    with pytest.raises(InputError, match=TOLD) as caught:
        read_grammar(tmp_path / "g")
    assert (caught.value.line, caught.value.path) == (2, str(tmp_path / "g"))


def test_a_value_without_a_name_may_not_repeat_a_name(tmp_path):
    (tmp_path / "g").write_text(RULE.format("PhraseModel_0=1 2"))
    with pytest.raises(InputError, match="found 'PhraseModel_0' twice"):
        read_grammar(tmp_path / "g", "cdec")


def test_features_of_different_rules_may_be_the_same(tmp_path):
    (tmp_path / "g").write_text("".join(RULE.format(f"a={k} b=2") for k in range(50)))
    assert read_grammar(tmp_path / "g").n_rules > 0


@pytest.mark.compiled
def test_every_command_that_reads_grammars_refuses_them_alike(tmp_path, run_cli, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "g").write_text(BINS)
    (tmp_path / "bad").write_text(BINS + RULE.format("a=2 a=4"))
    (tmp_path / "s").write_text("a\n")
    assert run_cli("engine", "bins", "g", "--features", "a", "-o", "bins.json")[0] == 0
    for line in (
        "engine bins bad --features a -o b.json", "engine discretize bad --bins bins.json -o out.txt",
        "engine discretize bad --bins bins.json -o out.grammar", "engine decode s --grammar bad",
    ):  # fmt: skip
        code, _, said = run_cli(*line.split())
        assert (code, f"bad:3: {TOLD}" in said) == (2, True), (line, said)
