"""Causal language model: log-probability of the hypothesis given the source, by transformers, from a local folder.

Needs the extra ``neural`` (torch and transformers). Nothing is fetched, and no code of the folder is run.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from luthier.core.errors import LuthierError
from luthier.core.params import param
from luthier.scorers._scorer import Item, Scorer


@dataclasses.dataclass(frozen=True)
class Method(Scorer):
    """Sum of the natural log-probabilities of the hypothesis's tokens after the prompt."""

    model: str = param("", help="folder of the model and its tokenizer, as save_pretrained writes it")
    template: str = param("{src}\n", help="the prompt, in which {src} is the source; '' is none")
    per_token: bool = param(False, help="divide by the number of tokens")
    device: str = param("cpu", help="where it runs, as torch names it: cpu, cuda, cuda:1, mps")
    most_tokens: int = param(0, low=0, help="tokens of prompt and hypothesis; 0 is the model's own limit")

    @functools.cached_property
    def _opened(self) -> tuple[Any, Any, Any]:
        if not Path(self.model).is_dir() or not self.model:
            raise LuthierError(
                f"expected the folder of a `model` for the scorer causal-lm, found {self.model!r}. "
                "hint: `option` model=FOLDER; nothing is fetched"
            )
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise LuthierError(f"the scorer causal-lm needs torch and transformers: {error}. "
                               "hint: pip install 'luthier[neural]'") from None  # fmt: skip
        settings = {"local_files_only": True, "trust_remote_code": False}
        try:
            tokenizer = AutoTokenizer.from_pretrained(self.model, **settings)
            model = AutoModelForCausalLM.from_pretrained(self.model, **settings).to(self.device).eval()
        except (OSError, ValueError, RuntimeError) as error:
            first = str(error).strip().splitlines()
            raise LuthierError(
                f"{self.model}: expected a causal model, found {first[0] if first else error!r}"
            ) from None
        return torch, tokenizer, model

    def score(self, batch: Sequence[Item]) -> Sequence[float]:
        """Return the log-probability of each hypothesis."""
        torch, tokenizer, model = self._opened
        pairs = [self._tokens(tokenizer, item) for item in batch]
        limit = self.most_tokens or getattr(model.config, "max_position_embeddings", 0) or 0
        for item, (prompt, answer) in zip(batch, pairs, strict=True):
            if limit and len(prompt) + len(answer) > limit:
                raise LuthierError(
                    f"sentence {item.id!r}: expected at most {limit} tokens, found {len(prompt) + len(answer)}"
                )
        width = max(len(prompt) + len(answer) for prompt, answer in pairs)
        rows = [[*prompt, *answer] + [0] * (width - len(prompt) - len(answer)) for prompt, answer in pairs]
        mask = [
            [1] * (len(prompt) + len(answer)) + [0] * (width - len(prompt) - len(answer)) for prompt, answer in pairs
        ]
        with torch.no_grad():
            ids = torch.tensor(rows, device=self.device)
            logits = model(input_ids=ids, attention_mask=torch.tensor(mask, device=self.device)).logits
            logs = torch.log_softmax(logits[:, :-1].float(), dim=-1).gather(2, ids[:, 1:, None])[:, :, 0].double().cpu()
        found = []
        for row, (prompt, answer) in zip(logs, pairs, strict=True):
            total = float(row[len(prompt) - 1 : len(prompt) + len(answer) - 1].sum())
            found.append(total / max(len(answer), 1) if self.per_token else total)
        return found

    def _tokens(self, tokenizer: Any, item: Item) -> tuple[list[int], list[int]]:
        """Return the tokens of the prompt, at least one, and those of the hypothesis."""
        prompt = tokenizer(self.template.replace("{src}", item.src), add_special_tokens=True)["input_ids"]
        if not prompt:
            start = tokenizer.bos_token_id if tokenizer.bos_token_id is not None else tokenizer.eos_token_id
            if start is None:
                raise LuthierError("the model has no token to begin with. hint: `option` template='{src} '")
            prompt = [start]
        return list(prompt), list(tokenizer(item.hyp, add_special_tokens=False)["input_ids"])
