"""What the benchmark scripts share: CPU timing, sizes, the data folder, one form of table."""

import argparse
import gzip
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

SIZES = {"toy": (50, 50), "paper": (1500, 1000), "large": (3000, 2000)}  # sentences, hypotheses of each


def argument_parser(description, size="paper"):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, help="a folder with kbest-de-en/ and multi30k/ (docs/performance.md)")
    parser.add_argument("--size", choices=SIZES, default=size, help=f"of the generated lists (default: {size})")
    parser.add_argument("--seed", type=int, default=0)
    return parser


def parse_arguments(description):
    return argument_parser(description).parse_args()


def cpu_seconds(function, repeats=3, *, warm=True):
    """Return the least CPU time of a few runs, after one that warms kernels and caches, and its result.

    Processes that a run starts, and waits for, count too. A slow rival that compiles nothing needs no warming.
    """
    if warm:
        function()
    best = float("inf")
    for _ in range(repeats):
        start = _cpu_clock()
        result = function()
        best = min(best, _cpu_clock() - start)
    return best, result


def _cpu_clock():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak_megabytes():
    """Return the peak resident memory of this process.

    `ru_maxrss` of a child counts its parent's memory too, where it was forked; Linux tells its own apart.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s+(\d+)", status.read_text()).group(1)) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_fresh_process(script, *arguments):
    """Run a script of ours that prints JSON, in a process of its own; return what it printed."""
    command = [sys.executable, script, *map(str, arguments)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def show(title, columns, rows):
    from luthier.report.console import show as print_table
    from luthier.report.console import table

    print_table(table(title, columns, rows))


def machine():
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{platform.processor() or platform.machine()}, {cores} cores, Python {platform.python_version()}"


def unpacked_list(data, folder):
    """Return the path of the De→En 1000-best list, its two parts unpacked and joined."""
    path = folder / "val.kbest1000.txt"
    with open(path, "wb") as out:
        for part in (1, 2):
            with gzip.open(data / "kbest-de-en" / f"val.kbest1000.part{part}.gz") as packed:
                out.write(packed.read())
    return path


def generated_to_tune(size, seed):
    """Return generated lists to tune on, others to judge by, and the decoder's weights."""
    import numpy as np

    from luthier.synthetic.lists.noisy_channel import SyntheticLists

    sentences, k = size
    maker = SyntheticLists(sentences=sentences, k=k, n_features=12)
    start = np.array(list(maker.decoder_weights.values()))
    return maker.generate(seed), maker.generate(seed + 1), start


def real_to_tune(data):
    """Return the De→En lists to tune on, others to judge by, and the decoder's weights."""
    from luthier import read_pool, read_weights

    lists, texts = data / "kbest-de-en", data / "multi30k"
    parts = [str(lists / f"val.kbest1000.part{part}.gz") for part in (1, 2)]
    tune = read_pool(parts, refs=[str(texts / "val.en.gz")])
    test = read_pool(str(lists / "test_2016_flickr.kbest100.gz"), refs=[str(texts / "test_2016_flickr.en.gz")])
    return tune, test, read_weights(lists / "weights.final").vector(tune.features.names)
