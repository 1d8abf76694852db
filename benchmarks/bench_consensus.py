"""Expected utilities of all pairs of a list: pairs a second on one core, beside sacrebleu and mbrs; pruning; growth.

python benchmarks/bench_consensus.py [--data FOLDER] [--mbrs PYTHON] [--proof]

Ours is from strings: distinct texts, words and characters included. `--mbrs` names a Python that has mbrs, in an
environment of its own; it is called as its users call it, with one worker. `--proof` compares pruned winners with
exact ones on 10,000 lists, and measures growth in hypotheses and sentences.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import sacrebleu

from bench_common import argument_parser, cpu_seconds, in_fresh_process, machine, peak_megabytes, show

SACREBLEU = {
    "chrf": lambda: sacrebleu.CHRF(),
    "chrf++": lambda: sacrebleu.CHRF(word_order=2),
    "bleu(sentence_smoothing=exp)": lambda: sacrebleu.BLEU(effective_order=True, tokenize="none", force=True),
    "ter": lambda: sacrebleu.TER(),
}
TARGETS = {"chrf": 2.5, "bleu(sentence_smoothing=exp)": 4.0, "ter": 2.0, "wer": 10.0}
UTILITIES = (*SACREBLEU, "wer", "cer", "per")
RIVAL_LISTS = 2
MBRS = """
import json, os, sys
from mbrs.decoders import DecoderMBR
from mbrs.metrics import MetricBLEU, MetricChrF, MetricTER
lists, few = json.load(open(sys.argv[1])), int(sys.argv[2])
metrics = {
    "chrf": (MetricChrF(MetricChrF.Config(num_workers=1)), few),
    "chrf, in Rust": (MetricChrF(MetricChrF.Config(fastchrf=True)), 100),
    "bleu(sentence_smoothing=exp)": (MetricBLEU(MetricBLEU.Config(num_workers=1, tokenize="none", force=True)), few),
    "ter": (MetricTER(MetricTER.Config(num_workers=1)), few),
}
out = {}
for name, (metric, n) in metrics.items():
    decoder = DecoderMBR(DecoderMBR.Config(), metric)
    decoder.decode(lists[0][:4], lists[0][:4])
    begin, chosen = sum(os.times()[:4]), []
    for texts in lists[:n]:
        chosen.append(decoder.decode(texts, texts, nbest=1).idx[0])
    seconds = sum(os.times()[:4]) - begin
    out[name] = {"seconds": seconds, "pairs": sum(len(t) ** 2 for t in lists[:n]), "chosen": chosen}
print(json.dumps(out))
"""


def lists_of(arguments):
    """Return real lists or synthetic ones, 1,000 × 100."""
    from luthier import read_pool
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    if arguments.data:
        return "De→En, test", read_pool(str(arguments.data / "kbest-de-en" / "test_2016_flickr.kbest100.gz"))
    return "synthetic", SyntheticLists(sentences=1000, k=100).generate(arguments.seed)


def texts_of(pool):
    texts = list(pool.texts)
    return [texts[a:b] for a, b in zip(pool.offsets.tolist(), pool.offsets[1:].tolist(), strict=False)]


def rival_sacrebleu(make, lists):
    """Return the mean score of every hypothesis, pair by pair."""
    metric = make()
    return [np.mean([metric.sentence_score(h, [r]).score for r in texts]) for texts in lists for h in texts]


def run_mbrs(python, lists):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "lists.json")
        path.write_text(json.dumps(lists[:100]))
        command = [python, "-c", MBRS, str(path), str(RIVAL_LISTS)]
        env = {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "HOME": name}
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def bench(pool, title, mbrs):
    from luthier import mbr

    lists, pairs = texts_of(pool), int((pool.list_lengths**2).sum())
    few = lists[:RIVAL_LISTS]
    n_few = sum(map(len, few))
    theirs = run_mbrs(mbrs, lists) if mbrs else {}
    rows = []
    for spec in UTILITIES:
        seconds, found = cpu_seconds(lambda spec=spec: mbr(pool, spec, threads=1), repeats=2)
        values = found.pool.features.dense[:, -1]
        rate, rival, gap = pairs / seconds / 1e6, "", ""
        if spec in SACREBLEU:
            slow, wanted = cpu_seconds(lambda spec=spec: rival_sacrebleu(SACREBLEU[spec], few), repeats=1, warm=False)
            rival = f"{sum(len(t) ** 2 for t in few) / slow:,.0f}"
            gap = f"{np.abs(np.abs(values[:n_few]) - wanted).max():.0e}"
        target = f"{TARGETS[spec]:g}" if spec in TARGETS else ""
        own = [f"{one['pairs'] / one['seconds']:,.0f}" for name, one in theirs.items() if name.split(",")[0] == spec]
        rows.append((spec, f"{rate:.1f}", target, rival, " / ".join(own), gap))
    headings = ("utility", "M pairs/s", "target", "sacrebleu, pairs/s", "mbrs, pairs/s", "largest difference")
    show(f"{title}: {pool.n_sentences:,} lists, {pairs:,} pairs", headings, rows)
    for name, one in theirs.items():
        rows = mbr(pool, select=name.split(",")[0], threads=1).rows
        same = sum(rows[i] - pool.offsets[i] == k for i, k in enumerate(one["chosen"]))
        print(f"mbrs {name}: {same} of {len(one['chosen'])} selections are the same")


def bench_pruning(pool, title, utilities=UTILITIES):
    from luthier import mbr

    rows = []
    for spec in utilities:
        exact, whole = cpu_seconds(lambda spec=spec: mbr(pool, select=spec, threads=1), repeats=2)
        seconds, found = cpu_seconds(lambda spec=spec: mbr(pool, select=spec, prune=True, threads=1), repeats=2)
        share, same = found.selection.scored / found.selection.pairs, np.array_equal(found.rows, whole.rows)
        rows.append((spec, f"{exact:.2f}", f"{seconds:.2f}", f"{exact / seconds:.1f}", f"{share:.1%}", same))
    show(f"pruning, {title}", ("utility", "exact, s", "pruned, s", "ratio", "pairs scored", "same winners"), rows)


def prove(seed):
    """Compare pruned with exact winners on 10,000 lists of the most various kinds."""
    from luthier import mbr, pool_from_frame

    rng, frame = np.random.default_rng(seed), {"id": [], "hyp": [], "lm": []}
    for i in range(10_000):
        vocabulary, length, k = rng.integers(2, 30), rng.integers(1, 15), rng.integers(1, 13)
        base = rng.integers(vocabulary, size=length)
        for j in range(k):
            words = np.where(rng.random(length) < rng.random(), base, rng.integers(vocabulary, size=length))
            frame["id"].append(i)
            frame["hyp"].append(" ".join(f"w{w}" for w in words[: rng.integers(length + 1)]))
            frame["lm"].append(float(j))
    pool = pool_from_frame(frame)
    rows = []
    for spec in (*UTILITIES, "0.5*chrf + 0.5*bleu"):
        for name, more in (("uniform", {}), ("posterior", {"posterior": {"lm": -0.4}})):
            exact = mbr(pool, select=spec, **more)
            pruned = mbr(pool, select=spec, prune=True, **more)
            scored = pruned.selection.scored / pruned.selection.pairs
            rows.append((spec, name, int((exact.rows != pruned.rows).sum()), f"{scored:.0%}"))
    rows += prove_pairs(pool)
    show("10,000 lists: exact and pruned", ("utility", "evidence", "winners that differ", "pairs scored"), rows)


def prove_pairs(pool):
    """Compare pruned with exact winners of a scorer of pairs from elsewhere: the overlap of sets of words."""
    from luthier.features.consensus.evidence import Evidence
    from luthier.features.consensus.pairs import PairScorer, select_by_scorer

    def overlap(_sentences, hypotheses, references):
        pairs = [(set(h.split()), set(r.split())) for h, r in zip(hypotheses, references, strict=True)]
        return np.array([len(h & r) / max(len(h | r), 1) for h, r in pairs])

    scorer, rows = PairScorer("overlap", overlap, 0.0, 1.0), []
    for name, evidence in (("uniform", Evidence()), ("posterior", Evidence(posterior=np.array([-0.4])))):
        exact, pruned = (select_by_scorer(pool, scorer, evidence, prune=prune) for prune in (False, True))
        differ = int((exact.rows != pruned.rows).sum())
        rows.append(("overlap, a scorer of pairs", name, differ, f"{pruned.scored / pruned.pairs:.0%}"))
    return rows


def grow():
    """Growth in hypotheses of a list and in sentences, each in a process of its own, for its memory."""
    shapes = [(50, 100), (50, 500), (50, 1000), (50, 2000), (1_000, 10), (10_000, 10), (100_000, 10)]
    found = [in_fresh_process(__file__, "--one", *shape) for shape in shapes]
    rows = [(f"{s:,} × {k:,}", *(f"{one[x]:.2f}" for x in ("chrf", "pruned", "ter")), f"{one['beside']:,.0f}")
            for (s, k), one in zip(shapes, found, strict=True)]  # fmt: skip
    show("growth, synthetic", ("lists", "chrf, s", "chrf pruned, s", "ter, s", "memory above the lists, MB"), rows)


def one_shape(sentences, k):
    from luthier import mbr
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    pool = SyntheticLists(sentences=sentences, k=k).generate(0)
    small = pool.take_sentences(np.arange(2))
    jobs = {
        "chrf": {"select": "chrf"},
        "pruned": {"select": "chrf", "prune": True},
        "ter": {"select": "ter"},
    }
    for job in jobs.values():
        mbr(small, **job)
    before, found = peak_megabytes(), {}
    for name, job in jobs.items():
        found[name], _ = cpu_seconds(lambda job=job: mbr(pool, threads=1, **job), repeats=1)
    print(json.dumps({**found, "beside": peak_megabytes() - before}))


def main():
    parser = argument_parser(__doc__)
    parser.add_argument("--mbrs", help="a Python that has mbrs")
    parser.add_argument("--proof", action="store_true", help="10,000 lists, and growth")
    parser.add_argument("--one", nargs=2, type=int, help="one shape of synthetic lists, as JSON")
    arguments = parser.parse_args()
    if arguments.one:
        one_shape(*arguments.one)
        return
    print(machine(), file=sys.stderr)
    title, pool = lists_of(arguments)
    bench(pool, title, arguments.mbrs)
    bench_pruning(pool, title)
    if arguments.data:
        from luthier import read_pool

        parts = [str(arguments.data / "kbest-de-en" / f"val.kbest1000.part{part}.gz") for part in (1, 2)]
        bench_pruning(read_pool(parts).take_sentences(np.arange(100)), "De→En, 100 lists of up to 1,000", TARGETS)
    if arguments.proof:
        prove(arguments.seed)
        grow()


if __name__ == "__main__":
    main()
