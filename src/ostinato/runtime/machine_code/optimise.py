"""LLVM modules to machine code, in this process or as a worker that reads them from a pipe.

As a program it imports nothing but llvmlite, so that it is ready before the first kernel is. Each
request is a line with the numbers of bytes and of effort, then the module's text; each answer a
line with the number of bytes, then the machine code.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import Any, BinaryIO

EFFORT = 2
MARK = "!ostinato.checked = !{}"  # a line of a module whose addresses are to be checked
PLAIN = "!ostinato.plain = !{}"  # a line of one whose code is made fast, rather than fast

_llvm: Any = importlib.import_module("llvmlite.binding")


def target_machine(effort: int = EFFORT) -> Any:
    """A code generator for this processor, as just-in-time compilation needs it.

    It belongs to the engine that is made with it, and ends with that.
    """
    _llvm.initialize_native_target()
    _llvm.initialize_native_asmprinter()
    target = _llvm.Target.from_triple(_llvm.get_process_triple())
    return target.create_target_machine(
        cpu=_llvm.get_host_cpu_name(),
        features=_llvm.get_host_cpu_features().flatten(),
        opt=effort,
        reloc="static" if target.name.startswith("x86") else "default",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def code_generator(effort: int = EFFORT) -> Any:
    """The one that makes object files with an effort."""
    return target_machine(effort)


def plain(text: str) -> Any:
    """An LLVM module whose functions are only inlined where they have to be."""
    module = _parsed(text)
    needed = _passes(0, vectors=False)
    needed.getModulePassManager().run(module, needed)
    return module


def optimised(text: str) -> Any:
    """An LLVM module after all passes.

    A cheap round comes first, as Numba has it: the vectoriser sees loops that end with their test.
    """
    module = _parsed(text)
    cheap = _passes(0, vectors=False)
    manager = cheap.getModulePassManager()
    manager.add_loop_rotate_pass()
    manager.add_instruction_combine_pass()
    manager.add_jump_threading_pass()
    manager.run(module, cheap)
    full = _passes(EFFORT, vectors=True)
    full.getModulePassManager().run(module, full)
    if "alwaysinline" in text:
        _join_forms(module)
    return module


def _parsed(text: str) -> Any:
    module = _llvm.parse_assembly(text)
    module.data_layout = str(code_generator().target_data)
    module.verify()
    return module


def _join_forms(module: Any) -> None:
    """Inline the vector forms of functions, which are called since loops became vector code."""
    late = _passes(0, vectors=False)
    manager = late.getModulePassManager()
    manager.add_instruction_combine_pass()
    manager.add_simplify_cfg_pass()
    manager.run(module, late)


def _passes(effort: int, vectors: bool) -> Any:
    tuning = _llvm.create_pipeline_tuning_options()
    tuning.speed_level = effort
    tuning.loop_vectorization = vectors
    tuning.slp_vectorization = False
    return _llvm.create_pass_builder(code_generator(), tuning)


def machine_code(text: str) -> bytes:
    """The object file of an LLVM module; what is marked checks the addresses that it uses."""
    is_plain = PLAIN in text
    module = plain(text) if is_plain else optimised(text)
    if MARK in text:
        adding = importlib.import_module("ostinato.runtime.machine_code.addresses")
        module = _llvm.parse_assembly(adding.checked(str(module)))
        module.verify()
    made: bytes = (code_generator(0) if is_plain else code_generator()).emit_object(module)
    return made


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are no more."""
    code_generator()
    for line in iter(requests.readline, b""):
        body = machine_code(requests.read(int(line)).decode())
        answers.write(b"%d\n" % len(body) + body)
        answers.flush()


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
