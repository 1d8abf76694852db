"""Kernels that other kernels call are compiled without machine code of their own: their callers have it inside.

Machine code, and a wrapper for Python, took a sixth of all compiling. A kernel that Python calls later, too, is then
compiled in full. What is used of Numba here is not documented: where it is missing, all goes on as ever. Only our own
kernels are treated so, in a host's process as well.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompileResult, Flags
from numba.core.dispatcher import Dispatcher

NEEDED = (
    (CPUCodeLibrary, "_finalize_final_module _finalize_dynamic_globals _verify_declare_only_symbols"),
    (CompileResult, "_replace _find_referenced_environments"),
    (Flags, "no_compile no_cpython_wrapper no_cfunc_wrapper"),
    (Dispatcher, "compile add_overload"),
)


class _NoCode:
    """Stands where Numba has the function that Python calls."""


class InnerKernels:
    """Knows whether a kernel of ours is being compiled; Numba compiles one at a time, whichever thread asks."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_known = all(hasattr(kind, name) for kind, names in NEEDED for name in names.split())

    def treat(self, compiled: Any) -> None:
        """Let a kernel be compiled without code of its own wherever another kernel of ours asks for it."""
        if not self._is_known or not hasattr(compiled._compiler, "_customize_flags"):
            return
        compiler, context, overloads = compiled._compiler, compiled.targetctx, compiled.overloads
        compile_whole, add, find, usual_flags = (
            compiler.compile,
            compiled.add_overload,
            compiled.compile,
            compiler._customize_flags,
        )

        def flags(given: Any) -> Any:
            given = usual_flags(given)
            if self._depth > 1:
                given.no_compile = given.no_cpython_wrapper = given.no_cfunc_wrapper = True
            return given

        def compile_one(arguments: Any, return_type: Any) -> Any:
            self._depth += 1
            try:
                result = compile_whole(arguments, return_type)
            finally:
                self._depth -= 1
            if result.entry_point is None:
                return _without_code(result, context)
            if not self._depth:
                for environment in result._find_referenced_environments():  # of the kernels inside
                    context.codegen().set_env(environment.env_name, environment)
            return result

        def add_one(result: Any) -> None:
            if isinstance(result.entry_point, _NoCode):
                overloads[tuple(result.signature.args)] = result
            else:
                add(result)

        def find_one(types: Any) -> Any:
            known = overloads.get(types) if isinstance(types, tuple) and not self._depth else None
            if known is not None and isinstance(known.entry_point, _NoCode):
                del overloads[types]
            return find(types)

        compiler._customize_flags, compiler.compile = flags, compile_one
        compiled.add_overload, compiled.compile = add_one, find_one


def has_code(result: Any) -> bool:
    """Return whether a compiled kernel can be called by Python, and so be kept."""
    return not isinstance(result.entry_point, _NoCode)


def _without_code(result: Any, context: Any) -> Any:
    """Return a result that other kernels can call, and whose library is linked into theirs without being emitted."""
    library, stand_in = result.library, _NoCode()

    def finish() -> None:
        library._finalize_dynamic_globals()
        library._verify_declare_only_symbols()
        library._finalized = True

    library._finalize_final_module = finish
    context.insert_user_function(stand_in, result.fndesc, [library])
    return result._replace(entry_point=stand_in)
