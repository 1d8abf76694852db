"""Options of every command that scores by metrics."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from luthier.core.files.written import Written
    from luthier.kbest.weights import Weights


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
        "--metric",
        default=default,
        metavar="M",
        help=_Naming(
            "metrics, comma separated: NAMES; column:NAME for a score of the lists such as COMET; with "
            "parameters such as bleu(order=2); weighted sums such as '0.5*ter - 0.5*bleu_nist' "
            f"(default: {default or 'none'}; 'luthier list metrics' says more)"
        ),
    )
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


# Options of commands that read or write weights.


def add_strict_option(parser: argparse.ArgumentParser) -> None:
    """Add --strict."""
    parser.add_argument(
        "--strict", action="store_true", help="refuse weights for features that the lists lack (default: they count 0)"
    )


def add_writing_options(parser: argparse.ArgumentParser) -> None:
    """Add how weights are written."""
    parser.add_argument(
        "--normalize", metavar="HOW", help="l1, l2, or the name of a feature whose weight becomes 1 (or -1)"
    )
    parser.add_argument(
        "--template",
        metavar="F",
        help="a decoder's configuration (moses.ini, joshua.config): write it with these weights",
    )


def check_writing(options: argparse.Namespace, names: Sequence[str]) -> None:
    """Raise what can be said of --normalize and --template before there are weights: a job may take hours."""
    from luthier.corpus.lines import read_lines
    from luthier.kbest.weights import Weights

    if options.normalize is not None:
        Weights(dict.fromkeys(names, 1.0)).normalized(options.normalize)
    if options.template:
        list(read_lines(options.template))


def normalized(weights: Weights, options: argparse.Namespace) -> Weights:
    """Return the weights as --normalize says."""
    return weights if options.normalize is None else weights.normalized(options.normalize)


def write_in_any_case(weights: Weights, path: str, options: argparse.Namespace, written: Written) -> None:
    """Write weights that took long to find; where that cannot be done as asked, as JSON beside."""
    from luthier.core.errors import LuthierError
    from luthier.kbest.weights import write_weights

    with written.answer(path):
        try:
            files = write_weights_as(normalized(weights, options), path, options)
        except LuthierError as error:
            try:
                write_weights(weights, f"{path}.json", style="json")
            except LuthierError:
                raise error from None
            raise LuthierError(f"{error}. The weights as they were found are in {path}.json") from None
        written.paths += [file for file in files if file != path]


def write_weights_as(weights: Weights, path: str, options: argparse.Namespace, style: Any = None) -> list[str]:
    """Write weights, into the --template if there is one; return the files."""
    if options.template:
        from luthier.kbest.weight_templates import write_into_template

        return write_into_template(weights, options.template, path)
    from luthier.kbest.weights import write_weights

    write_weights(weights, path, style=style)
    return [path]
