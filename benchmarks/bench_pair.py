"""How hard the synthetic language pair is, and how fast it is made.

    python benchmarks/bench_pair.py [--train 10000] [--test 300] [--seed 0]

Stand-ins for a translation system are trained on the spot: the likeliest word for each word (IBM model 1), and
phrases in the order of the source with a trigram model (alignments by model 1 in both directions, grown from
their intersection; fixed weights, a beam). Neither moves words beyond a phrase. A third one is given the source
in the order of the first reference and the true alignments: it shows what is left when all reordering is solved.
They are scored by sacrebleu against four references, beside one reference scored against the other three.
"""

import argparse
import math
import time
from collections import Counter, defaultdict

import numpy as np
import sacrebleu

from luthier.synthetic.pair.pair import Pair, PairGenerator

LONGEST_PHRASE, BEAM, OPTIONS = 5, 40, 12
WEIGHTS = {"direct": 0.6, "inverse": 0.4, "lm": 0.6, "words": 0.5, "phrases": -0.2}
EPOCHS = 5
NULL = "<null>"


def bleu(hypotheses: list[str], references: list[list[str]]) -> float:
    """Return corpus BLEU of tokenised lines; `references` are streams, each as long as the hypotheses."""
    score: float = sacrebleu.corpus_bleu(hypotheses, references, tokenize="none", force=True).score
    return score


def train_model1(sources: list[list[str]], targets: list[list[str]]) -> dict[tuple[str, str], float]:
    """Return t(target word | source word) after a few rounds of EM."""
    ids: tuple[dict[str, int], dict[str, int]] = ({NULL: 0}, {})
    f_ids = [[ids[0].setdefault(w, len(ids[0])) for w in [NULL, *s]] for s in sources]
    e_ids = [[ids[1].setdefault(w, len(ids[1])) for w in t] for t in targets]
    cells_f = np.concatenate([np.repeat(f, len(e)) for f, e in zip(f_ids, e_ids, strict=True)])
    cells_e = np.concatenate([np.tile(e, len(f)) for f, e in zip(f_ids, e_ids, strict=True)])
    starts = np.cumsum([0] + [len(e) for e in e_ids[:-1]])
    places = np.concatenate(
        [np.tile(a + np.arange(len(e)), len(f)) for a, f, e in zip(starts, f_ids, e_ids, strict=True)]
    )
    keys, entries = np.unique(cells_f.astype(np.int64) * len(ids[1]) + cells_e, return_inverse=True)
    key_f = keys // len(ids[1])
    t = np.ones(len(keys))
    for _ in range(EPOCHS):
        likelihood = t[entries]
        total = np.bincount(places, weights=likelihood)
        counts = np.bincount(entries, weights=likelihood / total[places])
        t = counts / np.bincount(key_f, weights=counts)[key_f]
    words = tuple(list(table) for table in ids)
    rows = zip(keys.tolist(), t.tolist(), strict=True)
    return {(words[0][k // len(ids[1])], words[1][k % len(ids[1])]): p for k, p in rows if p > 1e-6}


def viterbi(table: dict[tuple[str, str], float], source: list[str], target: list[str]) -> set[tuple[int, int]]:
    """Return the likeliest source place of each target place."""
    links = set()
    for j, word in enumerate(target):
        scores = [table.get((s, word), 0.0) for s in source]
        # Among equal ones the nearest to the diagonal.
        slope = len(source) / len(target)
        best = max(range(len(source)), key=lambda i: (scores[i], -abs(i - j * slope)))
        if scores[best] > table.get((NULL, word), 0.0):
            links.add((best, j))
    return links


def grow(forward: set[tuple[int, int]], backward: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the intersection with the neighbours of the union that touch it and reach a free word."""
    links, union = forward & backward, forward | backward
    added = True
    while added:
        added = False
        for i, j in sorted(union - links):
            touches = any((i + a, j + b) in links for a in (-1, 0, 1) for b in (-1, 0, 1))
            free = i not in {x for x, _ in links} or j not in {y for _, y in links}
            if touches and free:
                links.add((i, j))
                added = True
    return links


def phrases(source: list[str], target: list[str], links: set[tuple[int, int]]) -> list[tuple[str, str]]:
    """Return the phrase pairs consistent with the links, with unlinked target words at their edges."""
    found = []
    linked = {j for _, j in links}
    for i in range(len(source)):
        for k in range(i, min(len(source), i + LONGEST_PHRASE)):
            inside = [j for a, j in links if i <= a <= k]
            if not inside:
                continue
            low, high = min(inside), max(inside)
            if high - low >= LONGEST_PHRASE + 2 or any(low <= j <= high and not i <= a <= k for a, j in links):
                continue
            for start in range(low, -1, -1):
                if start < low and start in linked:
                    break
                for stop in range(high, len(target)):
                    if stop > high and stop in linked:
                        break
                    if stop - start < LONGEST_PHRASE + 2:
                        found.append((" ".join(source[i : k + 1]), " ".join(target[start : stop + 1])))
    return found


class Trigrams:
    """A trigram model that backs off by a constant factor."""

    def __init__(self, lines: list[list[str]]) -> None:
        self.counts: Counter[tuple[str, ...]] = Counter()
        for line in lines:
            words = ["<s>", "<s>", *line, "</s>"]
            for i in range(2, len(words)):
                for n in (1, 2, 3):
                    self.counts[tuple(words[i - n + 1 : i + 1])] += 1
                self.counts["context", words[i - 2], words[i - 1], "*"] += 1
                self.counts["context", words[i - 1], "*"] += 1
        self.total = sum(len(line) + 1 for line in lines)

    def log_prob(self, a: str, b: str, word: str) -> float:
        """Return the natural logarithm of the score of a word behind two others."""
        counts = self.counts
        if (a, b, word) in counts:
            return math.log(counts[a, b, word] / counts["context", a, b, "*"])
        if (b, word) in counts:
            return math.log(0.4 * counts[b, word] / counts["context", b, "*"])
        return math.log(0.16 * max(counts[(word,)], 0.5) / self.total)


class Phrases:
    """The monotone phrase-based stand-in."""

    def __init__(self, sources: list[list[str]], targets: list[list[str]], links: list[set[tuple[int, int]]]):
        joint: Counter[tuple[str, str]] = Counter()
        for source, target, link in zip(sources, targets, links, strict=True):
            joint.update(phrases(source, target, link))
        of_source: Counter[str] = Counter()
        of_target: Counter[str] = Counter()
        for (f, e), n in joint.items():
            of_source[f] += n
            of_target[e] += n
        table = defaultdict(list)
        for (f, e), n in joint.items():
            score = WEIGHTS["direct"] * math.log(n / of_source[f])
            score += WEIGHTS["inverse"] * math.log(n / of_target[e])
            words = e.split()
            table[f].append((score + WEIGHTS["words"] * len(words) + WEIGHTS["phrases"], words))
        self.table = {f: sorted(options, reverse=True)[:OPTIONS] for f, options in table.items()}
        self.lm = Trigrams(targets)

    def translate(self, source: list[str]) -> list[str]:
        """Return the best translation in the order of the source."""
        stacks: list[dict[tuple[str, str], tuple[float, list[str]]]] = [{} for _ in range(len(source) + 1)]
        stacks[0]["<s>", "<s>"] = (0.0, [])
        for i in range(len(source)):
            best = sorted(stacks[i].items(), key=lambda item: -item[1][0])[:BEAM]
            for k in range(i + 1, min(len(source), i + LONGEST_PHRASE) + 1):
                options = self.table.get(" ".join(source[i:k]), [])
                if not options and k == i + 1:
                    options = [(-10.0, [source[i]])]
                for (a, b), (score, words) in best:
                    for local, more in options:
                        self._extend(stacks[k], (a, b), score + local, words, more)
        ends = [(s + WEIGHTS["lm"] * self.lm.log_prob(a, b, "</s>"), w) for (a, b), (s, w) in stacks[-1].items()]
        return max(ends)[1]

    def _extend(
        self,
        stack: dict[tuple[str, str], tuple[float, list[str]]],
        state: tuple[str, str],
        score: float,
        words: list[str],
        more: list[str],
    ) -> None:
        a, b = state
        for word in more:
            score += WEIGHTS["lm"] * self.lm.log_prob(a, b, word)
            a, b = b, word
        if (a, b) not in stack or stack[a, b][0] < score:
            stack[a, b] = (score, words + more)


def describe(train: list[Pair], test: list[Pair]) -> None:
    """Print sizes, lengths, unknown words and ambiguity."""
    sources, targets = [p.source.words for p in train], [p.references[0].words for p in train]
    for name, lines in (("source", sources), ("target", targets)):
        lengths = np.array([len(line) for line in lines])
        spread = np.percentile(lengths, [5, 50, 95, 99]).astype(int).tolist()
        print(f"{name}: mean length {lengths.mean():.1f}, 5/50/95/99 % {spread}, longest {lengths.max()}")
        seen: set[str] = set()
        tokens, curve, wanted = 0, [], [1000, 3000, 10_000, 30_000, 100_000, 300_000]
        for line in lines:
            for word in line:
                tokens += 1
                seen.add(word)
                if tokens in wanted:
                    curve.append(f"{tokens}: {len(seen)}")
        print(f"{name}: {tokens} tokens, {len(seen)} types; types by tokens {', '.join(curve)}")
        sides = [p.source if name == "source" else p.references[0] for p in test]
        words = [word for side in sides for word in side.words]
        unknown = sum(word not in seen for word in words) / len(words)
        lines_with = np.mean([any(word not in seen for word in side.words) for side in sides])
        print(f"{name}: {unknown:.2%} of the test words are unknown, in {lines_with:.0%} of the sentences")
    ambiguity(train)


def ambiguity(train: list[Pair]) -> None:
    """Print how many translations a source word has by the true links, and their entropy."""
    words: dict[str, Counter[str]] = defaultdict(Counter)
    senses: dict[str, Counter[str]] = defaultdict(Counter)
    crossing, n_links = 0, 0
    for pair in train:
        target = pair.references[0]
        for i, j in pair.links:
            words[pair.source.words[i]][target.words[j]] += 1
            concept = target.labels[j].split(".")[0]
            if concept[-1:].isdigit():
                senses[pair.source.words[i]][concept] += 1
        links = np.array(pair.links).reshape(-1, 2)
        later = links[:, None, 0] < links[None, :, 0]
        crossing += int((later & (links[:, None, 1] > links[None, :, 1])).any(axis=1).sum())
        n_links += len(links)
    print(f"links that cross a later one: {crossing / n_links:.0%}")
    for name, table in (("target words", words), ("concepts", senses)):
        total = sum(sum(row.values()) for row in table.values())
        bits, kinds, several = 0.0, 0.0, 0
        for row in table.values():
            n = sum(row.values())
            bits -= sum(c * math.log2(c / n) for c in row.values()) / total
            kinds += n * len(row) / total
            several += n * (len(row) > 1)
        print(f"{name} of a source word: {kinds:.1f}, {bits:.2f} bits, several for {several / total:.0%} of tokens")


def in_target_order(pair: Pair) -> tuple[list[str], set[tuple[int, int]]]:
    """Return the source words in the order of the first reference, with the links that fit; the others stay near."""
    places: dict[int, int] = {}
    for i, j in pair.links:
        places.setdefault(i, j)
    keys, last = [], -1.0
    for i in range(len(pair.source)):
        last = float(places.get(i, last))
        keys.append(last)
    order = sorted(range(len(keys)), key=keys.__getitem__)
    moved = {i: k for k, i in enumerate(order)}
    return [pair.source.words[i] for i in order], {(moved[i], j) for i, j in pair.links}


def report(name: str, output: list[list[str]], streams: list[list[str]]) -> None:
    lines = [" ".join(words) for words in output]
    ratio = sum(map(len, output)) / sum(len(line.split()) for line in streams[0])
    print(
        f"{name}: {bleu(lines, streams):.1f} BLEU with four references, "
        f"{bleu(lines, streams[:1]):.1f} with one, length ratio {ratio:.2f}"
    )


def translate(train: list[Pair], test: list[Pair], streams: list[list[str]]) -> None:
    """Train the stand-ins and print their scores."""
    sources, targets = [list(p.source.words) for p in train], [list(p.references[0].words) for p in train]
    forward, backward = train_model1(sources, targets), train_model1(targets, sources)
    best: dict[str, tuple[float, str]] = {}
    for (f, e), p in forward.items():
        best[f] = max(best.get(f, (0.0, "")), (p, e))
    words = [[best.get(word, (0, word))[1] for word in p.source.words] for p in test]
    report("word by word", words, streams)

    links = []
    for source, target in zip(sources, targets, strict=True):
        one, two = viterbi(forward, source, target), viterbi(backward, target, source)
        links.append(grow(one, {(i, j) for j, i in two}))
    hits = sum(len(found & set(p.links)) for found, p in zip(links, train, strict=True))
    found, true = sum(map(len, links)), sum(len(p.links) for p in train)
    print(f"alignments by model 1: precision {hits / found:.2f}, recall {hits / true:.2f}")
    system = Phrases(sources, targets, links)
    report("phrases in source order", [system.translate(list(p.source.words)) for p in test], streams)
    moved = [in_target_order(p) for p in train]
    system = Phrases([s for s, _ in moved], targets, [found for _, found in moved])
    report("phrases, order given", [system.translate(in_target_order(p)[0]) for p in test], streams)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=10_000, help="training pairs")
    parser.add_argument("--test", type=int, default=300, help="test sentences")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", help="skipped: the pair is generated")
    options = parser.parse_args()
    generator = PairGenerator()
    clock = time.process_time()
    _ = generator.lexicon
    print(f"dictionary made in {time.process_time() - clock:.2f} s CPU")
    clock = time.process_time()
    train = list(generator.pairs("train", options.train, options.seed))
    spent = time.process_time() - clock
    print(f"{options.train} training pairs in {spent:.2f} s CPU, {spent / options.train * 30_000:.1f} s per 30,000")
    clock = time.process_time()
    test = list(generator.pairs("test", options.test, options.seed))
    print(f"{options.test} test sentences in {time.process_time() - clock:.2f} s CPU")
    describe(train, test)
    streams = [[str(p.references[r]) for p in test] for r in range(generator.references)]
    bounds = [bleu(streams[r], streams[:r] + streams[r + 1 :]) for r in range(len(streams))]
    print("one reference against the other three:", ", ".join(f"{b:.1f}" for b in bounds))
    print(f"the first against the second alone: {bleu(streams[0], streams[1:2]):.1f}")
    translate(train, test, streams)


if __name__ == "__main__":
    main()
