"""The causal language model on a tiny model that is made here: batches against one token at a time.

`make test-neural` installs what it needs and runs it; elsewhere it is skipped.
"""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="the extra 'neural' is not installed")
transformers = pytest.importorskip("transformers", reason="the extra 'neural' is not installed")

from luthier.core.errors import LuthierError  # noqa: E402
from luthier.jobs.score_with import scorer_of  # noqa: E402
from luthier.scorers._scorer import Item  # noqa: E402

WORDS = ["<s>", "<unk>", "a", "b", "c", "d", "=", "\n"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tokenizers import Tokenizer, models, pre_tokenizers

    home = tmp_path_factory.mktemp("tiny")
    tokenizer = Tokenizer(models.WordLevel({word: k for k, word in enumerate(WORDS)}, unk_token="<unk>"))
    parts = [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Split("\n", "isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(parts)
    whole = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>")
    whole.save_pretrained(home)
    torch.manual_seed(3)
    config = transformers.GPT2Config(
        vocab_size=len(WORDS), n_positions=24, n_embd=16, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    model = transformers.GPT2LMHeadModel(config)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    model.save_pretrained(home)
    return home


@pytest.fixture
def items():
    return [Item("0", "a b", "c d"), Item("1", "a", "b b c d a"), Item("2", "c c c", ""), Item("3", "", "d")]


def one_by_one(folder, prompt, answer):
    """Return the sum of log-probabilities, each token by a call of its own."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    ids, total = tokenizer(prompt)["input_ids"] or [0], 0.0
    for token in tokenizer(answer, add_special_tokens=False)["input_ids"]:
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0, -1].double()
        total += float(logits[token] - torch.logsumexp(logits, 0))
        ids = [*ids, token]
    return total


@pytest.mark.parametrize("template", ["{src} = ", "{src}\n", ""])
def test_batches_score_as_one_token_at_a_time(folder, items, template):
    scorer = scorer_of("causal-lm", {"model": str(folder), "template": template})
    found = scorer.score(items)
    expected = [one_by_one(folder, template.replace("{src}", item.src), item.hyp) for item in items]
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-4)
    assert min(expected) < -1
    for item, score in zip(items, found, strict=True):
        assert scorer.score([item])[0] == pytest.approx(score, rel=1e-4, abs=1e-4)


def test_per_token(folder, items):
    whole = scorer_of("causal-lm", {"model": str(folder)}).score(items)
    means = scorer_of("causal-lm", {"model": str(folder), "per_token": True}).score(items)
    lengths = [2, 5, 1, 1]
    assert means == pytest.approx([total / n for total, n in zip(whole, lengths, strict=True)], rel=1e-5)


def test_what_is_too_long_or_no_model_is_refused(folder, tmp_path):
    scorer = scorer_of("causal-lm", {"model": str(folder)})
    with pytest.raises(LuthierError, match="sentence '7': expected at most 24 tokens, found 32"):
        scorer.score([Item("7", "a", "b " * 30)])
    with pytest.raises(LuthierError, match="expected a causal model, found"):
        scorer_of("causal-lm", {"model": str(tmp_path)}).score([Item("7", "a", "b")])
