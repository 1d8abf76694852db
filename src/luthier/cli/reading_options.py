"""Options of every command that reads lists, and what they come to."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from luthier.core.errors import LuthierError

T = TypeVar("T")


def add_reading_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be said about how lists are read."""
    group = parser.add_argument_group("reading")
    group.add_argument("--refs", nargs="+", default=[], metavar="R", help="references, one file each")
    group.add_argument("--source", metavar="S", help="source sentences")
    group.add_argument("--format", default="auto", metavar="F", help="see 'luthier formats' (auto)")
    group.add_argument(
        "--format-option", action="append", default=[], metavar="NAME=VALUE",
        help="an option of the format, such as columns=am,lm for kaldi",
    )  # fmt: skip
    group.add_argument("--scores", metavar="TSV", help="the list is plain text, its scores are here (format tsv)")
    group.add_argument("--per-sentence", metavar="N", help="lines per sentence of such a list")
    group.add_argument(
        "--manifest", metavar="JSON", help="manifest of speech data: ids, references and durations of the utterances"
    )
    group.add_argument(
        "--column", action="append", default=[], metavar="NAME",
        help="this number is a score of the hypothesis (COMET, reward), to tune for as column:NAME, and no feature",
    )  # fmt: skip
    group.add_argument("--ignore", action="append", default=[], metavar="NAME", help="pass over this column of a table")
    group.add_argument(
        "--missing", choices=("error", "zero", "worst", "mean"), default="error",
        help="what a feature counts in rows of a table that lack it, while most rows have it (error)",
    )  # fmt: skip
    group.add_argument("--first-id", type=int, default=0, metavar="N", help="id of the first reference (0)")
    group.add_argument("--keyed", action="store_true", help="reference lines begin with their sentence id")
    group.add_argument("--any-order", action="store_true", help="sort by sentence instead of complaining")
    group.add_argument("--skip-bad", action="store_true", help="leave faulty lines out, count them, go on")
    group.add_argument(
        "--allow-empty", action="store_true", help="let half of the sentences, or more, have no hypotheses"
    )
    group.add_argument(
        "--unpack-any", action="store_true", help="read lists that unpack to over 256 MB and 1,000 times their size"
    )
    group.add_argument("--keep-duplicates", action="store_true", help="keep repeated hypotheses")


def add_transform_options(parser: argparse.ArgumentParser) -> None:
    """Add what can be done to features and lists on the way."""
    group = parser.add_argument_group("features and lists")
    group.add_argument("--select", action="append", default=[], metavar="NAME", help="keep this feature only")
    group.add_argument("--drop", action="append", default=[], metavar="NAME", help="leave a feature out")
    group.add_argument("--rename", action="append", default=[], metavar="OLD=NEW", help="rename a feature")
    group.add_argument("--scale", action="append", default=[], metavar="NAME=X", help="multiply a feature")
    add_feature_options(group)
    group.add_argument("--cap", type=int, metavar="K", help="keep the first K hypotheses of each list")


def add_feature_options(group: argparse._ArgumentGroup) -> None:
    """Add what can be said about features wherever lists are read."""
    group.add_argument(
        "--add", action="append", default=[], metavar="NAME=FORMULA",
        help="one more feature: words, chars, or a formula of names, numbers, + - * / **, min, max, log, exp, "
        "such as 'lp=logprob/words**0.6'",
    )  # fmt: skip
    group.add_argument(
        "--cost", action="append", default=[], metavar="NAME",
        help="the feature is a cost: lower is better (values stay as they are)",
    )  # fmt: skip


def read_options(options: argparse.Namespace) -> Any:
    """Return the `ReadOptions` of parsed arguments."""
    from luthier.core import plugins
    from luthier.kbest.reading.lists import AUTO, ReadOptions
    from luthier.kbest.reading.reader import PACKAGE

    given = pairs(options.format_option, str, "--format-option", first=True)
    if options.per_sentence and options.format == "nemo":
        given["beams"] = options.per_sentence
    elif options.scores or options.per_sentence:
        if options.format not in (AUTO, "tsv"):
            raise LuthierError("--scores and --per-sentence are for the formats tsv and nemo")
        options.format = "tsv"
        tsv = {"scores": options.scores, "per_sentence": options.per_sentence}
        given |= {name: value for name, value in tsv.items() if value}
    if given and options.format == AUTO:
        raise LuthierError("--format-option needs --format, so that it is clear whose option it is")
    typed = {}
    if given:
        from luthier.cli.fields import convert_fields

        typed = convert_fields(plugins.load(PACKAGE, options.format), given, options.format)
    return ReadOptions(
        format=options.format,
        format_options=typed,
        first_id=options.first_id,
        keyed=options.keyed,
        any_order=options.any_order,
        skip_bad=options.skip_bad,
        keep_duplicates=options.keep_duplicates,
        columns=options.column,
        ignore=options.ignore,
        missing=options.missing,
        allow_empty=options.allow_empty,
        manifest=options.manifest or "",
        costs=getattr(options, "cost", ()),
        unpack_any=options.unpack_any,
    )


def transforms(options: argparse.Namespace) -> Any:
    """Return the `Transforms` of parsed arguments."""
    from luthier.kbest.transforms import Transforms

    return Transforms(
        select=options.select,
        drop=options.drop,
        rename=pairs(options.rename, str, "--rename"),
        scale=pairs(options.scale, float, "--scale"),
        add=options.add,
        costs=options.cost,
        cap=options.cap,
    )


def pairs(items: Sequence[str], kind: Callable[[str], T], option: str, *, first: bool = False) -> dict[str, T]:
    """Return ``NAME=VALUE`` items as a dictionary, the value read by `kind`.

    Names may contain ``=``; if the `first` one ends the name, values may.
    """
    found: dict[str, T] = {}
    for item in items:
        name, equals, value = item.partition("=") if first else item.rpartition("=")
        try:
            converted = kind(value)
        except ValueError:
            equals = ""
        if not equals or not name:
            raise LuthierError(f"expected {option} NAME=VALUE, found {item!r}")
        if name in found:
            raise LuthierError(f"{option} names {name!r} twice")
        found[name] = converted
    return found
