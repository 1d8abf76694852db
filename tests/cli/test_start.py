"""What the command does to start and end sooner changes nothing that anybody can see."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Classes of all kinds, made before methods are compiled late and after: they must do the same.
CLASSES = """
import copy, dataclasses, pickle
from luthier.cli.start import _compile_methods_late

def classes():
    @dataclasses.dataclass(frozen=True)
    class Point:
        x: int
        y: list = dataclasses.field(default_factory=list, compare=False)

    @dataclasses.dataclass(frozen=True)
    class Named(Point):
        name: str = "n"
        hidden: int = dataclasses.field(default=3, repr=False)

    @dataclasses.dataclass(order=True)
    class Ordered:
        a: int
        b: str = ""

    @dataclasses.dataclass(frozen=True, slots=True)
    class Slots:
        a: int

    @dataclasses.dataclass(unsafe_hash=True)
    class Hashed:
        a: int

    @dataclasses.dataclass(frozen=True)
    class Nothing:
        pass

    return Point, Named, Ordered, Slots, Hashed, Nothing

def tried(call):
    try:
        return call()
    except Exception as error:
        return type(error).__name__, str(error)

def seen(kinds):
    Point, Named, Ordered, Slots, Hashed, Nothing = kinds
    found = []
    for kind in kinds:
        arguments = () if kind is Nothing else (1,)
        one, same, other = kind(*arguments), kind(*arguments), kind(*[2 for _ in arguments])
        for _ in range(2):  # what is compiled at the first call stays
            found += [repr(one), one == same, one == other, one != same, one == 1,
                      tried(lambda: hash(one) == hash(same)),
                      tried(lambda: setattr(one, "a", 5)), tried(lambda: setattr(one, "new", 5)),
                      tried(lambda: delattr(one, "x")), tried(lambda: one < other), tried(lambda: one >= other),
                      kind.__eq__.__name__, kind.__eq__.__qualname__, kind.__match_args__, kind.__doc__,
                      tried(lambda: dataclasses.asdict(one)), tried(lambda: kind(1, 2, 3, 4, 5, 6))]
    knot = Point(1, [])
    knot.y.append(knot)
    return [*found, repr(knot), repr(copy.deepcopy(Named(1, [2])))]

before = seen(classes())
plain = dataclasses._create_fn
_compile_methods_late()
assert dataclasses._create_fn is not plain
after = seen(classes())
assert len(before) > 100
for one, other in zip(before, after, strict=True):
    assert one == other, (one, other)
print("the same")
"""

ENDS = """
import atexit, sys, threading, time
import luthier.cli.start as start
atexit.register(lambda: print("at exit"))
def late():
    time.sleep(0.3)
    print("from a thread")
{before}
start.main = lambda: print("output") or 3
sys.exit(start.command())
"""


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there Python compiles all methods of a class at once")
def test_data_classes_whose_methods_are_compiled_late_are_the_same():
    done = subprocess.run([sys.executable, "-c", CLASSES], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "the same\n"), done.stderr


@pytest.mark.parametrize(
    ("before", "said"),
    [
        ("", "output\nat exit\n"),
        ("threading.Thread(target=late).start()", "output\nfrom a thread\nat exit\n"),
        ("threading.Thread(target=late, daemon=True).start()", "output\nat exit\n"),
        ("sys.setprofile(lambda *of: None)", "output\nat exit\n"),
    ],
    ids=["alone", "a thread", "a daemon", "a profile"],
)
def test_the_end_has_all_output_and_the_exit_code_and_waits_for_threads(before, said):
    code = ENDS.format(before=before)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, said, "")


def test_the_end_is_quick_only_where_nobody_else_is_at_work():
    code = ENDS.format(before="import os\nos._exit = lambda code: print('quick') or sys.exit(code){extra}")
    quick = subprocess.run(
        [sys.executable, "-c", code.format(extra="")], capture_output=True, text=True, check=False
    ).stdout
    slow = subprocess.run(
        [sys.executable, "-c", code.format(extra="\nthreading.Thread(target=late).start()")],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    assert ("quick" in quick, "quick" in slow) == (True, False)
