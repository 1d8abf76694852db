"""Options of every command that scores by metrics."""

from __future__ import annotations

import argparse
from typing import Any


class _Naming(str):
    """Help that names the metrics only when it is shown: looking for them takes longer than a small score."""

    def __mod__(self, values: Any) -> str:
        from luthier.core.plugins import available

        names = ", ".join(name for name in available("luthier.metrics.methods") if name != "column")
        text: str = self.replace("NAMES", names) % values
        return text


def add_metric_options(parser: argparse.ArgumentParser, default: str | None) -> None:
    """Add --metric, its tokenizer and its direction."""
    group = parser.add_argument_group("metrics")
    group.add_argument(
        "--metric", default=default, metavar="M",
        help=_Naming(
            "metrics, comma separated: NAMES; column:NAME for a score of the lists such as COMET; with "
            "parameters such as bleu(order=2); weighted sums such as '0.5*ter - 0.5*bleu_nist' "
            f"(default: {default or 'none'}; 'luthier metrics' says more)"
        ),
    )  # fmt: skip
    group.add_argument(
        "--tokenize", metavar="T", help="13a, intl, zh, char or none, for metrics of words (default: none)"
    )
    direction = group.add_mutually_exclusive_group()
    direction.add_argument("--minimize", action="store_true", help="lower is better, where a sum leaves it open")
    direction.add_argument("--maximize", action="store_true", help="higher is better, where a sum leaves it open")


def metrics_from(options: argparse.Namespace) -> dict[str, Any]:
    """Return the metrics that were asked for, by the words that asked for them."""
    from luthier.metrics.loading import load_metrics

    maximize = True if options.maximize else False if options.minimize else None
    defaults = {"tokenizer": options.tokenize} if options.tokenize else {}
    return load_metrics(options.metric, defaults=defaults, maximize=maximize)


def metric_from(options: argparse.Namespace) -> Any:
    """Return the one metric that was asked for."""
    from luthier.core.errors import LuthierError

    metrics = metrics_from(options)
    if len(metrics) != 1:
        raise LuthierError(f"expected one metric, found {len(metrics)}. hint: a weighted sum is one metric")
    return next(iter(metrics.values()))
