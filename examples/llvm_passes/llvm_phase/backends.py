"""Three ways to run LLVM on one module: its C library, the command ``opt``, or llvmlite.

All take and give textual IR (see ``canonical``). Used in the worker process only: LLVM may end the
process it is in.
The target triple is taken out, so that passes know no target and give the same on every machine.
"""

import ctypes
import ctypes.util
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import ClassVar, Protocol

__all__ = ["BACKENDS", "Backend", "RefusedError", "canonical", "find"]

LIBRARIES = (
    ("libLLVM-14", ("libLLVM-14.so.1", "libLLVM-14.so")),
    ("libLLVM-15", ("libLLVM-15.so.1", "libLLVM-15.so")),
    ("libLLVM-19", ("libLLVM.so.19.1", "libLLVM-19.so.1", "libLLVM-19.so")),
)
"""Name of the backend, and the files it may be in, by preference."""

SPELLINGS = {
    # Later releases end the process where one round is not enough, unless they are told so.
    "instcombine": ("instcombine<no-verify-fixpoint>", "instcombine"),
    "loweratomic": ("loweratomic", "lower-atomic"),
    "lowerinvoke": ("lowerinvoke", "lower-invoke"),
    "lowerswitch": ("lowerswitch", "lower-switch"),
}
"""Names of passes that are not the same in all releases; the first that is known is taken."""

HEADER = re.compile(r"^(?:;.*|source_filename = .*|target triple = .*)\n", re.MULTILINE)
COMMENT = re.compile(r" *; preds = .*")
OPT_SECONDS = 60


class RefusedError(Exception):
    """LLVM has refused a module or a pass, and lives on."""


class Backend(Protocol):
    """Something that runs LLVM."""

    name: str

    def run(self, ir: str, passes: str) -> str:
        """Canonical IR after a pipeline, which may be empty; raises RefusedError.

        Args:
            ir: canonical, too.
            passes: names as ``opt -passes=…`` takes them.
        """


def canonical(ir: str) -> str:
    """Textual IR without comments, file name and target, so that equal modules have equal texts."""
    return COMMENT.sub("", HEADER.sub("", ir)).strip("\n") + "\n"


class Library:
    """``LLVMRunPasses`` of LLVM's C API, by ctypes.

    Args:
        name: of the backend.
        files: names of the shared library; the first that can be loaded is taken.

    Raises:
        OSError: none can be loaded.
    """

    def __init__(self, name: str, files: tuple[str, ...]) -> None:
        self.name = name
        self._lib = _load(files)
        pointer, text = ctypes.c_void_p, ctypes.c_char_p
        for function, result, arguments in (
            ("LLVMContextCreate", pointer, ()),
            ("LLVMContextDispose", None, (pointer,)),
            ("LLVMCreateMemoryBufferWithMemoryRangeCopy", pointer, (text, ctypes.c_size_t, text)),
            ("LLVMParseIRInContext", ctypes.c_int, (pointer,) * 4),
            ("LLVMDisposeModule", None, (pointer,)),
            ("LLVMPrintModuleToString", pointer, (pointer,)),
            ("LLVMDisposeMessage", None, (pointer,)),
            ("LLVMCreatePassBuilderOptions", pointer, ()),
            ("LLVMDisposePassBuilderOptions", None, (pointer,)),
            ("LLVMRunPasses", pointer, (pointer, text, pointer, pointer)),
            ("LLVMGetErrorMessage", pointer, (pointer,)),
            ("LLVMDisposeErrorMessage", None, (pointer,)),
        ):
            getattr(self._lib, function).restype = result
            getattr(self._lib, function).argtypes = arguments

    def run(self, ir: str, passes: str) -> str:
        """Textual IR after a pipeline; raises RefusedError."""
        # Names of types are unique in a context: in an old one they would get other suffixes.
        context = self._lib.LLVMContextCreate()
        try:
            module = self._parse(context, ir.encode(errors="surrogateescape"))
            try:
                self._run(module, passes)
                return canonical(self._text(self._lib.LLVMPrintModuleToString(module)))
            finally:
                self._lib.LLVMDisposeModule(module)
        finally:
            self._lib.LLVMContextDispose(context)

    def _parse(self, context: int, ir: bytes) -> ctypes.c_void_p:
        buffer = self._lib.LLVMCreateMemoryBufferWithMemoryRangeCopy(ir, len(ir), b"program")
        module, message = ctypes.c_void_p(), ctypes.c_void_p()
        if self._lib.LLVMParseIRInContext(
            context, buffer, ctypes.byref(module), ctypes.byref(message)
        ):
            raise RefusedError(f"not LLVM IR: {self._text(message.value).strip()}")
        return module

    def _run(self, module: ctypes.c_void_p, passes: str) -> None:
        if not passes:
            return
        for names in SPELLINGS.get(passes, (passes,)):
            options = self._lib.LLVMCreatePassBuilderOptions()
            error = self._lib.LLVMRunPasses(module, names.encode(), None, options)
            self._lib.LLVMDisposePassBuilderOptions(options)
            if not error:
                return
            pointer = self._lib.LLVMGetErrorMessage(error)
            message = ctypes.string_at(pointer).decode(errors="replace")
            self._lib.LLVMDisposeErrorMessage(pointer)
        raise RefusedError(message)

    def _text(self, pointer: int | None) -> str:
        """The text at an address, which is freed."""
        if pointer is None:
            return ""
        text = ctypes.string_at(pointer).decode(errors="surrogateescape")
        self._lib.LLVMDisposeMessage(pointer)
        return text


class Opt:
    """The command ``opt``, one process a pass.

    Raises:
        OSError: it is not installed.
    """

    def __init__(self) -> None:
        found = next(filter(None, map(shutil.which, ("opt", "opt-14", "opt-15", "opt-19"))), None)
        if found is None:
            raise OSError("no opt on the path")
        self.name = "opt"
        self._command = found

    def run(self, ir: str, passes: str) -> str:
        """Textual IR after a pipeline; raises RefusedError."""
        for names in SPELLINGS.get(passes, (passes,)):
            done = subprocess.run(
                [self._command, "-S", f"-passes={names or 'no-op-module'}", "-o", "-", "-"],
                input=ir.encode(errors="surrogateescape"),
                capture_output=True,
                timeout=OPT_SECONDS,
                check=False,
            )
            if done.returncode == 0:
                return canonical(done.stdout.decode(errors="surrogateescape"))
            if done.returncode < 0:  # a crash of opt is a crash of the backend
                os.abort()
        raise RefusedError(done.stderr.decode(errors="replace").strip() or "opt failed")


class Llvmlite:
    """The LLVM inside llvmlite, which numba brings along; it knows fewer passes.

    ``loop-reduce`` is left out: it aborts there. It has no level −Oz; the nearest is its level 2
    without the passes that make code larger.

    Raises:
        OSError: llvmlite, or its new pass manager, is missing.
    """

    METHODS: ClassVar = {
        "adce": "aggressive_dce",
        "aggressive-instcombine": "aggressive_instcombine",
        "always-inline": "always_inliner",
        "argpromotion": "argument_promotion",
        "break-crit-edges": "break_critical_edges",
        "constmerge": "constant_merge",
        "dce": "dead_code_elimination",
        "deadargelim": "dead_arg_elimination",
        "dse": "dead_store_elimination",
        "function-attrs": "post_order_function_attributes",
        "globaldce": "global_dead_code_eliminate",
        "globalopt": "global_opt",
        "instcombine": "instruction_combine",
        "ipsccp": "ipsccp",
        "jump-threading": "jump_threading",
        "lcssa": "lcssa",
        "loop-deletion": "loop_deletion",
        "loop-rotate": "loop_rotate",
        "loop-simplify": "loop_simplify",
        "loop-unroll": "loop_unroll",
        "loweratomic": "lower_atomic",
        "lowerinvoke": "lower_invoke",
        "lowerswitch": "lower_switch",
        "memcpyopt": "mem_copy_opt",
        "mergefunc": "merge_functions",
        "newgvn": "new_gvn",
        "partial-inliner": "partial_inliner",
        "reassociate": "reassociate",
        "reg2mem": "register_to_memory",
        "rpo-function-attrs": "rpo_function_attrs",
        "sccp": "sccp",
        "simplifycfg": "simplify_cfg",
        "sink": "sinking",
        "sroa": "sroa",
        "tailcallelim": "tail_call_elimination",
    }
    LEVELS: ClassVar = {
        "default<O3>": {"speed_level": 3},
        "default<Oz>": {
            "speed_level": 2,
            "inlining_threshold": 5,
            "loop_interleaving": False,
            "loop_unrolling": False,
            "loop_vectorization": False,
            "slp_vectorization": False,
        },
    }

    def __init__(self) -> None:
        try:
            import llvmlite.binding as llvm
        except ImportError as error:
            raise OSError(f"llvmlite: {error}") from None
        if not hasattr(llvm, "create_new_module_pass_manager"):
            raise OSError("llvmlite is too old: it has no new pass manager")
        llvm.initialize_native_target()
        self.name = "llvmlite"
        self._llvm = llvm
        self._machine = llvm.Target.from_default_triple().create_target_machine()

    def run(self, ir: str, passes: str) -> str:
        """Textual IR after one pass, or after a pipeline of ``LEVELS``; raises RefusedError."""
        if passes not in self.METHODS and passes not in self.LEVELS and passes:
            raise RefusedError(f"unknown pass name '{passes}' in llvmlite")
        try:
            module = self._llvm.parse_assembly(ir)
        except RuntimeError as error:
            raise RefusedError(f"not LLVM IR: {error}") from None
        options = self._llvm.create_pipeline_tuning_options()
        for name, value in self.LEVELS.get(passes, {}).items():
            setattr(options, name, value)
        builder = self._llvm.create_pass_builder(self._machine, options)
        if passes in self.LEVELS:
            manager = builder.getModulePassManager()
        else:
            manager = self._llvm.create_new_module_pass_manager()
            if passes:
                getattr(manager, f"add_{self.METHODS[passes]}_pass")()
        manager.run(module, builder)
        return canonical(str(module))


def _load(files: tuple[str, ...]) -> ctypes.CDLL:
    for file in files[:-1]:
        try:
            return ctypes.CDLL(file)
        except OSError:
            continue
    return ctypes.CDLL(files[-1])


BACKENDS: dict[str, Callable[[], Backend]] = {
    **{name: lambda n=name, f=files: Library(n, f) for name, files in LIBRARIES},  # type: ignore[misc]
    "opt": Opt,
    "llvmlite": Llvmlite,
}
"""Name → what makes it, by preference."""


def find(name: str = "auto") -> Backend:
    """A backend by name, or the first that is installed.

    Raises:
        OSError: it is not installed, or none is.
        KeyError: no backend has that name.
    """
    if name != "auto":
        return BACKENDS[name]()
    reasons = []
    for make in BACKENDS.values():
        try:
            return make()
        except OSError as error:
            reasons.append(str(error))
    raise OSError("; ".join(reasons))
