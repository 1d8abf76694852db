"""Decoders that take the options and files of cdec, Moses and Joshua, and print what these print; all search alike.

Every word stays as it is or is written in capitals; a hypothesis has two features. The first argument names the
program.
"""

import argparse
import itertools
import re
import sys
from pathlib import Path

NAMES = ("Capitals", "Place")


def hypotheses(sentence, weights, k):
    """Return the k best of all combinations: total, text, features."""
    found = []
    words = sentence.split()
    for choice in itertools.product((0, 1), repeat=len(words)):
        text = " ".join(word.upper() if picked else word for word, picked in zip(words, choice, strict=True))
        features = (float(sum(choice)), sum(place * picked for place, picked in enumerate(choice)) / 2)
        found.append((sum(weights.get(n, 0.0) * f for n, f in zip(NAMES, features, strict=True)), text, features))
    return sorted(found, key=lambda row: -row[0])[:k]


def name_value(path):
    return {name: float(value) for name, value in map(str.split, Path(path).read_text().splitlines())}


def print_lists(source, weights, k, file, equals):
    for number, sentence in enumerate(source.splitlines()):
        for total, text, features in hypotheses(sentence, weights, k):
            named = " ".join(f"{name}{equals}{value:g}" for name, value in zip(NAMES, features, strict=True))
            file.write(f"{number} ||| {text} ||| {named} ||| {total:g}\n")


def cdec(arguments):
    parser = argparse.ArgumentParser()
    for option in ("-c", "-w", "-i", "-k"):
        parser.add_argument(option, required=True)
    parser.add_argument("-r", action="store_true")
    given = parser.parse_args(arguments)
    assert Path(given.c).is_file()
    print_lists(Path(given.i).read_text(), name_value(given.w), int(given.k), sys.stdout, "=")


def moses(arguments):
    parser = argparse.ArgumentParser()
    for option in ("-f", "-i"):
        parser.add_argument(option, required=True)
    parser.add_argument("-n-best-list", dest="lists", nargs=3, required=True)
    given = parser.parse_args(arguments)
    sections = dict(re.findall(r"(?m)^\[(\S+)\]\n((?:[^\[\n].*\n)*)", Path(given.f).read_text()))
    assert "feature" in sections
    weights = {name: float(value) for name, value in re.findall(r"(\S+)= (\S+)", sections["weight"])}
    path, k, distinct = given.lists
    assert distinct == "distinct"
    with open(path, "w") as file:
        print_lists(Path(given.i).read_text(), weights, int(k), file, "= ")
    sys.stdout.write("the best translations go to standard output\n")


def joshua(arguments):
    parser = argparse.ArgumentParser()
    for option in ("-c", "-weights-file", "-top-n"):
        parser.add_argument(option, required=True)
    given = parser.parse_args(arguments)
    assert Path(given.c).is_file()
    print_lists(sys.stdin.read(), name_value(given.weights_file), int(given.top_n), sys.stdout, "=")


{"cdec": cdec, "moses": moses, "joshua-decoder": joshua}[sys.argv[1]](sys.argv[2:])
