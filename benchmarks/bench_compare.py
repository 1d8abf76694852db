"""Comparing systems: CPU seconds of the whole job, statistics included, and of its parts.

    python benchmarks/bench_compare.py [--data FOLDER]

With a data folder: MultEval's example, three systems of three runs on 2,489 sentences, BLEU, TER and length,
10,000 shuffles and 1,000 resamples (MultEval itself: 639 s). Without: the same sizes, generated.
"""

import time

import numpy as np

from bench_common import machine, parse_arguments, show


def example(data):
    """Return paths of MultEval's example: name → runs, and the references."""
    folder = data / "multeval-example"
    files = {
        name: [str(folder / f"hyps.lc.tok.en.{name}.opt{run}.gz") for run in range(3)]
        for name in ("baseline", "sys1", "sys2")
    }
    return files, [str(folder / "refs.test2010.lc.tok.en.0.gz")]


def generated(folder, seed):
    """Return paths of three generated systems of three runs on 2,489 sentences, two of them the same."""
    from luthier.core.files.io import write_lines
    from luthier.kbest.rerank import rerank, selected_texts
    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    pool = SyntheticLists(sentences=2489, k=20).generate(seed)
    start = np.array(list(pool.provenance["decoder_weights"].values()))
    rng = np.random.default_rng(seed)
    refs = folder / "refs"
    write_lines(refs, pool.references.texts)
    files = {}
    for name, shift in (("baseline", 0.0), ("sys1", 0.02)):
        files[name] = []
        for run in range(3):
            weights = start + shift * (np.arange(len(start)) == 0) + 0.01 * rng.standard_normal(len(start))
            path = folder / f"{name}.{run}"
            write_lines(path, selected_texts(pool, rerank(pool, weights)))
            files[name].append(str(path))
    return {**files, "sys2": files["baseline"]}, [str(refs)]


def bench(label, files, refs, seed):
    from luthier.evaluation.comparison import Settings, compare
    from luthier.jobs.compare import systems_from_files
    from luthier.metrics.loading import load_metrics

    metrics = load_metrics("bleu,ter,length")
    for _ in range(2):  # the second time with warm kernels
        start = time.process_time()
        systems, _ = systems_from_files(files, refs, metrics)
        middle = time.process_time()
        comparison = compare(systems, metrics, Settings(seed=seed))
        end = time.process_time()
    rows = [
        ("reading and statistics", f"{middle - start:.2f} s"),
        ("10,000 shuffles, 1,000 resamples", f"{end - middle:.2f} s"),
        ("together (limit: 10 s)", f"{end - start:.2f} s"),
    ]
    show(f"comparing: {label}", ("", "CPU"), rows)
    from luthier.report.console import show as print_table
    from luthier.report.tables.comparison import comparison_text

    print_table(comparison_text(comparison))


def main():
    import tempfile
    from pathlib import Path

    from luthier.core.threads import hold_blas

    hold_blas(1)
    arguments = parse_arguments(__doc__)
    print(machine())
    with tempfile.TemporaryDirectory() as name:
        bench("generated", *generated(Path(name), arguments.seed), arguments.seed)
    if arguments.data:
        bench("MultEval's example", *example(arguments.data), arguments.seed)


if __name__ == "__main__":
    main()
