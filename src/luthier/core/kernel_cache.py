"""Numba's cache of compiled functions, with a stamp that knows which other files a kernel is made of, and packs.

Numba's own cache looks at a kernel's own file only: after a change in a kernel that it calls from another
file, it would resume the old one. The classes used here are not documented. `core/jit.py` does without
a cache where they fail, and a test edits a callee to see that they do what we think.
"""

from __future__ import annotations

import hashlib
import io
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numba
from llvmlite import binding  # type: ignore[import-untyped]
from numba.core import caching, environment
from numba.core.runtime import _nrt_python
from numba.core.serialize import dumps

from luthier.core.kernel_files import EVERY_RUN, KernelLock, NoStamp, folders, is_writable, private_folder, stamp
from luthier.core.kernel_pack import Pack, Packed, find_pack, names_only

KEPT = "kept"
ANNOTATION = 4  # the place of the types in what Numba keeps, behind the description
HINT = "; set NUMBA_CACHE_DIR to a folder that can be written"


class _Locator(caching._CacheLocator):  # type: ignore[misc]
    """Tells Numba in which folder a kernel is kept, and by which stamp it is known to be fresh."""

    def __init__(self, function: Any, path: str) -> None:
        self._py_file = path  # Numba's warnings name it
        self._line = function.__code__.co_firstlineno
        self._stamp = stamp(path)
        self.folders: list[Path] = []  # those before the last can only be read: an image may have filled them
        self.can_write = False
        for folder in folders(path, numba.config.CACHE_DIR):
            self.folders.append(folder)
            self.can_write = is_writable(folder)
            if self.can_write:
                break

    def get_cache_path(self) -> str:
        return str(self.folders[-1])

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        """Keep kernels with checked indices (``NUMBA_BOUNDSCHECK``) apart from those without."""
        return f"{self._line}{'-checked' if numba.config.BOUNDSCHECK else ''}"

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> _Locator:
        return cls(py_func, py_file)


class _Implementation(caching.CompileResultCacheImpl):  # type: ignore[misc]
    _locator_classes = (_Locator,)


def _fields(types: Iterable[Any]) -> Iterator[tuple[str, ...]]:
    for one in types:
        if isinstance(one, numba.types.BaseTuple):
            yield tuple(getattr(one, "fields", ()))
            yield from _fields(one)


def _needed(library: Any) -> tuple[str, ...]:
    """Return the names of what compiled code uses but does not contain: functions of C, of Python and of Numba."""
    module = library._get_module_for_linking()
    names = [one.name for one in (*module.functions, *module.global_variables) if one.is_declaration]
    return tuple(name for name in names if not name.startswith("llvm."))


def _are_known(names: Iterable[str]) -> bool:
    """Return whether compiled code can be linked now: LLVM would end the program over a name that it does not know."""
    for name in names:
        if binding.address_of_symbol(name) is None:
            address = _nrt_python.c_helpers.get(name.removeprefix("NRT_"))  # Numba makes these known when it compiles
            if address is None:
                return False
            binding.add_symbol(name, address)
    return True


class _Unpickler(pickle.Unpickler):
    """Reads a kept kernel without the modules of Numba that its compiler had used: only object mode looks into them."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name)
        return _environment if found is environment._rebuild_env else found


def _environment(module: str, constants: list[Any], name: str) -> Any:
    if not module.startswith("numba.") or module in sys.modules:
        return environment._rebuild_env(module, constants, name)
    made = environment.lookup_environment(name)
    if made is None:
        made = environment.Environment({"__name__": module})  # the name alone: it can be kept again
        made.consts[:], made.env_name = constants, name
        environment.Environment._memo[name] = made
    return made


def _without_bitcode(reduced: tuple[Any, ...]) -> tuple[tuple[Any, ...], bytes]:
    """Return what Numba keeps of a kernel without what only a compiler needs, and that: bitcode for its callers."""
    (library, kind, (code, bitcode)), description, *rest = reduced
    names = {description.llvm_func_name, description.llvm_cpython_wrapper_name, description.llvm_cfunc_wrapper_name}
    rest[ANNOTATION] = ""  # the types that were found, for people to read
    return ((library, kind, (code, names_only(bitcode, names))), description, *rest), bitcode


def _with_bitcode(result: Any, bitcode: bytes) -> Any:
    """Return a loaded kernel whose bitcode is parsed when another kernel inlines it: that takes longer than loading."""
    library = result.library

    def module_for_linking() -> Any:
        library._shared_module = binding.parse_bitcode(bitcode)
        del library._get_module_for_linking
        return library._shared_module

    library._get_module_for_linking = module_for_linking
    return result


def _here() -> tuple[Any, ...]:
    """Return the target for which Numba compiles in this process."""
    from numba.core.registry import cpu_target

    found: tuple[Any, ...] = cpu_target.target_context.codegen().magic_tuple()
    return found


class _File(caching.IndexDataCacheFile):  # type: ignore[misc]
    def _load_data(self, name: str) -> Any:
        with open(self._data_path(name), "rb") as file:
            return _Unpickler(file).load()


class KernelCache(caching.FunctionCache):  # type: ignore[misc]
    """What is kept of one kernel. Trouble with its files is told to `complain`, and ends nothing.

    `prepare` is called before anything is compiled, `compile_again` with the types of a packed kernel that another one
    inlines; `is_compiling` says whether a kernel is being compiled now, `waiting` shows that another process does so.
    """

    _impl_class = _Implementation

    def __init__(
        self,
        function: Any,
        *,
        complain: Callable[[str], None],
        prepare: Callable[[], None],
        compile_again: Callable[[Any], Any],
        is_compiling: Callable[[], bool],
        waiting: Callable[[], AbstractContextManager[Any]],
    ) -> None:
        super().__init__(function)
        self._complain, self._prepare = complain, prepare
        self._compile_again, self._is_compiling = compile_again, is_compiling
        self._lock, self._waiting = KernelLock(), waiting
        locator = self._impl.locator
        if not isinstance(locator, _Locator) or self._cache_file._source_stamp != stamp(locator._py_file):
            raise NoStamp("Numba does not use the stamps it is given (is NUMBA_CACHE_LOCATOR_CLASSES set?)")
        self._stamp, base = stamp(locator._py_file), self._impl.filename_base
        self._files = [_File(str(folder), base, self._stamp) for folder in locator.folders]
        self._can_write, self._is_private = locator.can_write, locator.folders[-1].parent == private_folder()

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        """Add the fields of named tuples: they may change places in a file that is no kernel file."""
        return (*super()._index_key(sig, codegen), tuple(_fields(sig)))

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return a kept kernel, or None after all is ready to compile it.

        Numba would get ready to compile in any case, which takes longer than importing NumPy does.
        """
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(sig, target_context)
            if found is None and self._can_write and not self._is_compiling():
                key = repr(self._index_key(sig, target_context.codegen())).encode()
                name = f"{self._files[-1]._index_path}.{hashlib.blake2b(key, digest_size=8).hexdigest()}"
                if self._lock.acquire(name, self._waiting):
                    found = self._load_overload(sig, target_context)
        if found is None:
            self._get_ready(target_context)
        return found

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel, and let other processes that wait for it go on."""
        try:
            super().save_overload(sig, data)
        finally:
            self.release()

    def release(self) -> None:
        """End what makes other processes wait for this kernel: it is kept by now, or will not be."""
        self._lock.release()

    def _get_ready(self, target_context: Any) -> None:
        self._prepare()
        target_context.refresh()

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        key = self._index_key(sig, target_context.codegen())
        packed = self._load_packed(sig, key, target_context)
        if packed is not None:
            return packed
        for file in self._files:
            try:
                kept = file.load(key)
                if kept is not None and kept[:2] == (self._stamp, key):
                    if not _are_known(kept[3]):
                        self._get_ready(target_context)
                    return _with_bitcode(self._impl.rebuild(target_context, kept[2]), kept[4])
            except Exception:  # whatever a damaged or unreadable file raises: it is compiled again
                continue
        if not self._can_write:
            self._complain(f"{EVERY_RUN}no folder to keep them in can be written{HINT}")
        elif self._is_private:
            self._complain(
                f"compiling kernels; no usual place can be written: they are kept in {private_folder()}{HINT}"
            )
        return None

    def _load_packed(self, sig: Any, key: tuple[Any, ...], target_context: Any) -> Any:
        """Return the kernel of the pack, or None; while another is compiled none, for it has nothing to inline."""
        pack = None if self._is_compiling() else find_pack()
        if not isinstance(pack, Pack):
            return None
        try:
            found = pack.load(self._py_func, self._stamp, key)
            if found is None:
                return None
            kept = _Unpickler(io.BytesIO(found[0])).load()
            if kept[:2] != (self._stamp, found[1]):
                return None
            if not _are_known(kept[3]):
                self._get_ready(target_context)
            result = self._impl.rebuild(target_context, kept[2])
        except Exception:  # as where a kept kernel is damaged
            return None

        def module_for_linking() -> Any:
            self._get_ready(target_context)
            return self._compile_again(sig).library._get_module_for_linking()

        result.library._get_module_for_linking = module_for_linking
        return result

    def packable(self) -> Iterator[Packed]:
        """Yield all that is kept of this kernel, without what only a compiler needs."""
        for file in self._files:
            for key, name in file._load_index().items():
                kept_stamp, kept_key, slim, needed, _ = file._load_data(name)
                if (kept_stamp, kept_key, slim[0][1]) == (self._stamp, key, "object"):
                    yield Packed(self._py_func, self._stamp, key, dumps((kept_stamp, key, slim, needed)))

    def kept(self) -> str:
        """Return 'kept' if some of this kernel is kept for this processor, else why it will be compiled."""
        target = None
        for file in self._files:
            try:
                for key in file._load_index():
                    target = key[1]
                    if target == _here():
                        return KEPT
            except Exception:
                return "what is kept is damaged"
        if target is not None:
            return "what is kept is for another processor"
        if any(Path(file._index_path).exists() for file in self._files):
            return "its source, or Numba, has changed"
        return "it was never compiled"

    def _save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled kernel with its stamp and key.

        Numba writes the index before the data and under names that are used again. A killed process, or two
        at a time, could leave an index that names the data of something else; stamp and key tell.
        """
        if not self._can_write or not callable(data.entry_point) or not self._impl.check_cachable(data):
            return
        key = self._index_key(sig, data.codegen)
        try:
            slim, bitcode = _without_bitcode(self._impl.reduce(data))
            kept = (self._stamp, key, slim, _needed(data.library), bitcode)
            try:
                self._cache_file.save(key, kept)
            except (EOFError, ValueError, pickle.UnpicklingError, AttributeError, ImportError):
                self._cache_file.flush()  # a damaged index, or one of types that are gone: it begins anew
                self._cache_file.save(key, kept)
        except AttributeError as error:  # another Numba: what was compiled serves this run
            self._complain(EVERY_RUN + str(error))
        except OSError as error:
            self._complain(f"compiled kernels cannot be kept in {self.cache_path}: {error.strerror}")
