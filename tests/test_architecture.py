"""The house rules, enforced: who may import whom, where Numba lives, how large things get.

To change the architecture, change a line of the tables here, with a reason.
"""

import ast
import functools
import graphlib
import re
import sys
from collections import Counter
from pathlib import Path

import pytest

import room_drawing

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "luthier"

# room → (rooms it may import besides itself, third parties)
MAY_IMPORT = {
    # threadpoolctl holds a BLAS that is loaded already; pyarrow reads zst; both inside functions only
    "core": (set(), {"numpy", "numba", "llvmlite", "threadpoolctl", "pyarrow", "fsspec", "msgspec"}),
    "distributed": ({"core"}, {"dask", "distributed"}),
    "corpus": ({"core"}, {"numpy", "sacrebleu", "sacremoses"}),
    "synthetic": ({"core", "corpus", "kbest"}, {"numpy"}),
    "alignment": ({"core", "corpus"}, {"numpy"}),
    "lm": ({"core", "corpus"}, {"numpy"}),
    "grammar": ({"core", "corpus", "alignment"}, {"numpy"}),
    "kbest": ({"core", "corpus"}, {"numpy", "scipy", "pyarrow"}),
    "metrics": ({"core", "corpus"}, {"numpy"}),
    # a consensus feature is a metric's mean score with the rest of the list
    "features": ({"core", "corpus", "grammar", "kbest", "metrics"}, {"numpy", "scipy"}),
    "geometry": ({"core"}, {"numpy", "scipy", "highspy"}),
    "decoding": (
        {"core", "corpus", "grammar", "lm", "kbest", "features", "geometry"}, {"numpy"}
    ),
    "landscape": (
        {"core", "corpus", "kbest", "metrics", "features", "geometry"}, {"numpy", "scipy"}
    ),
    "tuning": (
        {"core", "corpus", "kbest", "metrics", "features", "geometry", "landscape"},
        {"numpy", "scipy", "sklearn", "cma"},
    ),
    "scorers": ({"core", "corpus", "lm"}, {"torch", "transformers"}),
    "evaluation": ({"core", "kbest", "metrics"}, {"numpy", "scipy"}),
    "report": (
        {
            "core", "distributed", "alignment", "lm", "grammar", "kbest", "metrics", "features", "geometry", "decoding",
            "landscape", "tuning", "evaluation",
        },
        {"numpy", "matplotlib", "rich", "PIL"},  # matplotlib's own, for pictures with a palette: a third as large
    ),
    "jobs": (
        {
            "core", "distributed", "corpus", "synthetic", "alignment", "lm", "grammar", "kbest", "metrics", "features",
            "geometry", "decoding", "landscape", "tuning", "scorers", "evaluation", "report",
        },
        {"numpy"},
    ),
}  # fmt: skip
# the second door; nobody imports it but the first, which may name everything
MAY_IMPORT["explorer"] = ({*MAY_IMPORT["jobs"][0], "jobs"}, {"numpy", "starlette", "uvicorn"})
# the third door, with the second's locks: who may ask, and how a port of this machine is listened on
MAY_IMPORT["serving"] = ({"core", "corpus", "jobs", "explorer"}, {"numpy", "starlette", "uvicorn"})
MAY_IMPORT["cli"] = ({*MAY_IMPORT["jobs"][0], "jobs", "explorer", "serving"}, {"rich", "shtab"})

# Only this file of a room may import this third party.
ONLY_IN = {
    "numba": {f"core/{name}.py" for name in ("jit", *map("kernel_{}".format, ("cache", "options", "pack")))},
    "threadpoolctl": {"core/threads.py"},
    "msgspec": {"core/settings.py"},  # imported when something is checked
    "dask": {"distributed/engine.py"},  # imported when a cluster is asked for
    "distributed": {"distributed/engine.py"},
    "fsspec": {"core/files/remote.py"},  # imported when a file is named by a URL
    "sklearn": {"tuning/estimator.py"},
    "torch": {"scorers/causal_lm.py"},  # imported when it scores
    "transformers": {"scorers/causal_lm.py"},
    "cma": {"tuning/methods/cma.py"},
    "starlette": {"explorer/app.py", "explorer/middleware.py", "explorer/server.py", "serving/service.py"},
    "uvicorn": {"explorer/server.py"},
    "shtab": {"cli/commands/completion.py"},
}

# file → why it may be longer than the limit
LONG_FILES: dict[str, str] = {}
FOLDER_LIMIT, FILE_LIMIT, TEST_FILE_LIMIT, FUNCTION_LIMIT, ARGUMENT_LIMIT = 12, 400, 600, 60, 6
# folder → how many files it has to read, and why more than the limit
PLUGIN_FOLDERS = ("commands", "methods", "scorers", "readers", "writers", "tables", "figures")
LONG_FOLDERS = {"core": (18, "the floor: each file is imported by many rooms"), "jobs": (50, "one file a job")}
# More arrays travel in a NamedTuple. An inner kernel is inlined into its caller's loop, where taking an array out of a
# tuple is counted each time: it may take what its caller has taken out.
KERNEL_ARGUMENT_LIMITS = {"kernel": 10, "fast_kernel": 10, "lean_kernel": 10, "inner_kernel": 14}

FILES = sorted(SOURCE.rglob("*.py"))
ROOM_FILES = [path for path in FILES if path.parent != SOURCE]
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in ROOM_FILES
}
STANDARD_LIBRARY = sys.stdlib_module_names | {"__future__"}


def relative(path):
    return path.relative_to(SOURCE).as_posix()


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text())


@functools.cache
def functions_of(path):
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


@functools.cache
def imported_modules(path):
    modules = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{relative(path)}:{node.lineno}: imports are absolute"
            modules.append(node.module)
    return modules


def imported_files(path):
    """Return the files of rooms that a file imports: at its top, inside functions, and for type checks."""
    found = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {
                full if (full := f"{node.module}.{alias.name}") in MODULES else node.module for alias in node.names
            }
    return {MODULES[module] for module in found if module in MODULES}


def complaints(rule, paths):
    """Return what a rule has to say of files, each with the file's name; one test then shows them all."""
    paths = list(paths)
    assert paths, "no file is looked at: the rule holds for nothing"
    return [f"{path.relative_to(ROOT).as_posix()}: {fault}" for path in paths for fault in rule(path)]


def test_a_room_imports_only_what_it_may():
    def rule(path):
        room = path.relative_to(SOURCE).parts[0]
        if room not in MAY_IMPORT:
            yield f"{room} is no room of the house: give it a line in MAY_IMPORT"
            return
        rooms, third_parties = MAY_IMPORT[room]
        for module in imported_modules(path):
            top, *rest = module.split(".")
            if top == "luthier" and rest and rest[0] not in rooms | {room}:
                yield f"{room} may not import {module}"
            if top not in STANDARD_LIBRARY | {"luthier"} | third_parties:
                yield f"{room} may not import {module}"
            if relative(path) not in ONLY_IN.get(top, {relative(path)}):
                yield f"{module} has a file of its own"

    assert complaints(rule, ROOM_FILES) == []


def test_no_late_import_hides_a_knot():
    """A file imports nothing, not even inside a function, from which imports lead back to it."""
    files = {relative(path): {relative(other) for other in imported_files(path)} for path in ROOM_FILES}
    assert any(files.values()), "nothing is imported: the rule holds for nothing"
    try:
        graphlib.TopologicalSorter(files).prepare()
    except graphlib.CycleError as error:
        knot = " imports ".join(reversed(error.args[1]))
        way_out = "move what both need to the lower file, or make a method of the lower one a function of the upper one"
        pytest.fail(f"{knot}. hint: {way_out}")


def test_no_two_folders_import_each_other():
    folders = {}
    for path in ROOM_FILES:
        for other in imported_files(path):
            if other.parent != path.parent:
                between = relative(path.parent), relative(other.parent)
                folders.setdefault(between, f"{relative(path)} imports {relative(other)}")
    assert folders, "no folder imports another: the rule holds for nothing"
    faults = [
        f"{low} and {high} import each other: {folders[low, high]}, {folders[high, low]}. "
        "hint: the folder that knows less of the other is the lower one; move what it needs down to it"
        for low, high in folders
        if low < high and (high, low) in folders
    ]
    assert faults == []


def test_a_kernel_file_imports_nothing_but_numpy_math_jit_and_kernel_files():
    # a kept kernel notices that a kernel file it was compiled from has changed, and no other file;
    # typing has NamedTuple, in which many arrays travel
    def rule(path):
        for module in set(imported_modules(path)) - {"numpy", "math", "typing", "luthier.core.jit"}:
            if not re.fullmatch(r"luthier\.\w+(\.\w+)*\._\w*kernels", module):
                yield f"{module} is no kernel file"

    assert complaints(rule, (p for p in FILES if p.name.endswith("kernels.py"))) == []


def test_no_kernel_assigns_an_array_to_a_slice():
    # Numba compiles the words of an error message with it, for seconds; numbers and their names may be put there
    def has_slice(node):
        return isinstance(node, ast.Subscript) and any(isinstance(part, ast.Slice) for part in ast.walk(node.slice))

    def rule(path):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Assign):
                continue
            for target in node.targets:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts, strict=True) if both else [(target, node.value)]
                for place, value in pairs:
                    known = ast.unparse(value).removeprefix("-") in ("np.inf", "math.inf", "np.nan")
                    arrays = [n for n in ast.walk(value) if has_slice(n) or isinstance(n, ast.Attribute)]
                    if has_slice(place) and arrays and not known:
                        yield f"line {node.lineno}: {ast.unparse(node)}"

    assert complaints(rule, (p for p in FILES if p.name.endswith("kernels.py"))) == []


def test_methods_do_not_import_each_other():
    def rule(path):
        package = "luthier." + path.parent.relative_to(SOURCE).as_posix().replace("/", ".")
        yield from (m for m in imported_modules(path) if m.startswith(package + "."))

    assert complaints(rule, (p for p in FILES if p.parent.name in ("methods", "readers", "writers"))) == []


def test_files_and_functions_are_small():
    def rule(path):
        lines = len(path.read_text().splitlines())
        if lines > FILE_LIMIT and relative(path) not in LONG_FILES:
            yield f"{lines} lines"
        for node in functions_of(path):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            length = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            if length > FUNCTION_LIMIT:
                yield f"{node.name} has {length} lines"
            positional = [a for a in node.args.args if a.arg not in ("self", "cls")]
            decorators = [ast.unparse(decorator) for decorator in node.decorator_list]
            if len(positional) > max([ARGUMENT_LIMIT, *(KERNEL_ARGUMENT_LIMITS.get(d, 0) for d in decorators)]):
                yield f"{node.name} takes {len(positional)} arguments"

    assert complaints(rule, FILES) == []


def test_names_have_one_spelling():
    """Of two that are in use: optimize, color, centre, neighbour. What others have named is called, not defined."""
    stems = "discret|initial|maxim|minim|normal|optim|penal|random|regular|standard|summar|symmetr|token"
    other = re.compile(rf"colour|center|neighbor|({stems})is(e|er|ed|es|ing)$")

    def rule(path):
        for node in ast.walk(tree_of(path)):
            names = [getattr(node, "name", None)] if isinstance(node, ast.FunctionDef | ast.ClassDef) else []
            names += [node.arg] if isinstance(node, ast.arg) else []
            names += [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []
            for word in (word for name in names for word in name.lower().split("_")):
                if other.search(word):
                    yield f"line {node.lineno}: {word}"

    assert complaints(rule, FILES) == []


def test_the_exceptions_are_still_needed():
    for name, reason in LONG_FILES.items():
        assert len((SOURCE / name).read_text().splitlines()) > FILE_LIMIT
        assert reason


def test_test_files_have_names_of_their_own():
    """pytest imports them by name alone, so that two of one name cannot be collected together."""
    named = Counter(path.name for path in (ROOT / "tests").rglob("*.py") if path.name != "conftest.py")
    assert [name for name, count in named.items() if count > 1] == []


def test_test_files_are_not_too_long():
    def rule(path):
        lines = len(path.read_text().splitlines())
        if lines > TEST_FILE_LIMIT:
            yield f"{lines} lines"

    assert complaints(rule, sorted((ROOT / "tests").rglob("*.py"))) == []


def test_no_module_holds_state_that_changes():
    """Module-level lists, dictionaries and sets are constants: upper case, or `__all__` and `__path__`."""
    collections = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp

    def rule(path):
        for node in tree_of(path).body:
            if isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(node.value, collections):
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    name = getattr(target, "id", "")
                    if not (name.isupper() or name.strip("_").isupper() or name in ("__all__", "__path__")):
                        yield f"{name} can change"
        yield from ("'global'" for node in ast.walk(tree_of(path)) if isinstance(node, ast.Global))

    assert complaints(rule, FILES) == []


def test_numba_and_heavy_libraries_are_not_imported_by_the_package_itself():
    assert set(imported_modules(SOURCE / "__init__.py")) <= {
        "__future__", "importlib", "typing",
        *(m for m in imported_modules(SOURCE / "__init__.py") if m.startswith("luthier.")),  # TYPE_CHECKING
    }  # fmt: skip


def test_citations_resolve():
    bibliography = (ROOT / "docs" / "references.bib").read_text()
    known = set(re.findall(r"^@\w+\{([^,\s]+),", bibliography, re.M))
    assert len(known) == len(re.findall(r"^@\w+\{", bibliography, re.M)), "a key stands twice"
    cited = {}
    for path in [*FILES, *(ROOT / "docs").rglob("*.md")]:
        for key in re.findall(r"\[([a-z]+\d{4}[a-z]?)\]", path.read_text()):
            cited.setdefault(key, path.name)
    assert cited, "nothing is cited: the pattern is wrong"
    assert {key: name for key, name in cited.items() if key not in known} == {}


def test_the_drawing_of_the_rooms_is_what_the_imports_say():
    page = room_drawing.PAGE.read_text()
    assert room_drawing.BEGIN in page
    assert room_drawing.page_with_drawing(page) == page, "draw it anew: python tests/room_drawing.py"


def annotated_arguments(path):
    for node in functions_of(path):
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
            yield node, argument, "" if argument.annotation is None else ast.unparse(argument.annotation)


def test_no_options_without_a_type_below_the_door():
    """What the command line was given becomes typed jobs in `cli`; no namespace and no bag of values goes deeper."""
    bags = ("Any", "dict[str, Any]", "Mapping[str, Any]", "object")

    def rule(path):
        for function, argument, annotation in annotated_arguments(path):
            is_options = argument.arg in ("options", "settings", "args", "config", "configuration", "job")
            if "Namespace" in annotation or (is_options and annotation in bags):
                yield f"{function.name}({argument.arg}: {annotation})"

    assert complaints(rule, (p for p in ROOM_FILES if p.relative_to(SOURCE).parts[0] != "cli")) == []


def test_rooms_below_the_door_do_not_speak_of_flags():
    """They name an option as `skip_bad`, which `cli/parser.py` shows as a flag within a hint."""
    of_other_programs = {"kbest/fusion.py", "kbest/readers/sockeye.py", "lm/arpa_reading.py"}

    def rule(path):
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for flag in re.findall(r"(?<![\w-])--[a-z{][\w-]*", node.value):
                    yield f"line {node.lineno}: {flag}"

    below = [p for p in ROOM_FILES if p.relative_to(SOURCE).parts[0] != "cli" and relative(p) not in of_other_programs]
    assert complaints(rule, below) == []


def test_the_room_that_shows_results_knows_their_types():
    def rule(path):
        if "Protocol" in path.read_text():
            yield "a Protocol: import the result's own type"
        for function, argument, annotation in annotated_arguments(path):
            if annotation in ("dict[str, Any]", "Mapping[str, Any]"):
                yield f"{function.name}({argument.arg})"

    assert complaints(rule, sorted((SOURCE / "report").rglob("*.py"))) == []


def test_every_folder_says_what_is_read_in_which_order():
    """Its `__init__` names files and folders that are there, and three at least, unless all files are of one kind."""

    def rule(path):
        docstring = ast.get_docstring(tree_of(path)) or ""
        there = {other.stem for other in path.parent.iterdir()}
        named = {name.rstrip("/") for name in re.findall(r"`([a-z_/]+)`", docstring)}
        yield from (f"there is no {name}" for name in named - there if f"{name}_kernels" not in there)
        files = [other for other in path.parent.glob("*.py") if other.name != "__init__.py"]
        if path.parent.name in PLUGIN_FOLDERS or path.parent.parent.name == "commands":
            return  # files of one kind, which nobody reads in order
        to_read = [other for other in files if not other.name.startswith("_")]  # kernels are read beside their file
        if len(to_read) > 3 and len(named & there) < 3:
            yield f"{len(to_read)} files, and no word on where to begin"
        if len(to_read) > LONG_FOLDERS.get(relative(path.parent), (FOLDER_LIMIT, ""))[0]:
            yield f"{len(to_read)} files: give them folders"

    assert complaints(rule, (p for p in ROOM_FILES if p.name == "__init__.py")) == []


def test_tests_stand_where_what_they_test_stands():
    rooms = {path.name for path in SOURCE.iterdir() if path.is_dir()}
    apart = {"contracts", "fuzz", "soak", "lab"}  # of all rooms together
    folders = {path.name for path in (ROOT / "tests").iterdir() if list(path.glob("**/*.py"))}
    assert folders - apart <= rooms
    assert {path.name for path in (ROOT / "tests").glob("test_*.py")} == {
        "test_architecture.py",
        "test_readme.py",
        "test_words.py",
    }


def test_help_names_every_command_and_group():
    from luthier.cli.main import COMMANDS, FIRST, GROUPS
    from luthier.core.plugins import available

    own = {name for name, plugin in available(COMMANDS).items() if plugin.module.startswith(COMMANDS)}
    assert set(FIRST) <= own
    folders = {path.parent.name for path in (SOURCE / "cli" / "commands").glob("*/__init__.py")}
    assert set(GROUPS) == folders
    assert not own & folders, "a name is a command or a group"


def test_versions_agree():
    import luthier

    assert f"version: {luthier.__version__}" in (ROOT / "CITATION.cff").read_text()
    assert luthier.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_no_example_fails_by_the_clock():
    import hypothesis

    assert hypothesis.settings.default.deadline is None
    assert hypothesis.HealthCheck.too_slow in hypothesis.settings.default.suppress_health_check
