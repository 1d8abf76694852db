"""A small decoder that any machine can run: every word has two translations, every hypothesis three features.

It writes the K best of all combinations, in Moses' format; the file MODE says what goes wrong with it.

  toy_decoder.py MODE WEIGHTS SOURCE KBEST K
"""

import itertools
import json
import sys
import time
from pathlib import Path

NAMES = ("plain", "short", "last")


def weights_of(path):
    """Read ``name value``, ``name=value``, a [weight] section or JSON."""
    text = Path(path).read_text()
    if text.startswith("{"):
        return json.loads(text)
    lines = [line.replace("= ", " ").replace("=", " ").split() for line in text.splitlines() if "[" not in line]
    return {name: float(value) for name, value in lines}


def hypotheses(sentence):
    """Yield words and features of every combination."""
    words = sentence.split()[:6]
    for choice in itertools.product((0, 1), repeat=len(words)):
        found = [word.upper() if picked else word + "x" for word, picked in zip(words, choice, strict=True)]
        position = sum(place * picked for place, picked in enumerate(choice))
        yield " ".join(found), (sum(choice), -sum(map(len, found)) / 7, position / 3)


def main():
    mode, weights_path, source, kbest, k = sys.argv[1:6]
    mode = Path(mode).read_text()
    weights = weights_of(weights_path)
    lists = []
    for number, sentence in enumerate(Path(source).read_text().splitlines()):
        scored = []
        for text, features in hypotheses(sentence):
            total = sum(weights.get(name, 0) * value for name, value in zip(NAMES, features, strict=True))
            scored.append((-total if mode != "deaf" else -features[0], text, features))
        for total, text, features in sorted(scored)[: int(k)]:
            named = " ".join(f"{name}= {value:.6f}" for name, value in zip(NAMES, features, strict=True))
            lists.append(f"{number} ||| {text} ||| {named} ||| {-total:.6f}")
    go_wrong(mode, lists)
    Path(kbest).write_text("".join(f"{line}\n" for line in lists))


def go_wrong(mode, lists):
    """Do what the mode says."""
    if mode == "slow":
        time.sleep(0.05)
    if mode == "fail":
        sys.stderr.write("searching sentence 3\nout of luck\n")
        sys.exit(7)
    if mode == "garbage":
        lists[4] = "\x00\x01 no list at all"
    if mode == "repeat":
        lists += lists[:3]
    if mode == "fewer":
        lists[:] = [line for line in lists if not line.startswith("2 |")]
    if mode == "silent":
        sys.exit(0)


main()
