"""The names that a generated module may import, and the digest that its text must carry.

A generated module starts with one import that lists what it uses::

    from ostinato.codegen.cpu.prelude import DRIVER, KERNEL, access, njit, tanh_f32

    # primitives 0123456789abcdef

Numba's cache on disk knows the text of the generated file, but neither the code of the primitives
it calls nor the options; `digest` stands for both.
"""

import hashlib
import importlib
from pathlib import Path

import numpy as np

from ostinato.codegen.cpu.barrier import (
    BARRIER_WORDS,
    atomic_add,
    barrier,
    load_acquire,
    pause,
    sched_yield,
    store_release,
)
from ostinato.codegen.cpu.flags import (
    DRIVER,
    KERNEL,
    host_features,
    lanes,
)
from ostinato.codegen.cpu.half import (
    bfloat16_bits_f32,
    bfloat16_value_u16,
    float16_bits_f32,
    float16_value_u16,
)
from ostinato.codegen.cpu.linking import (
    carray,
    driver,
    invoke,
    kernel,
)
from ostinato.codegen.cpu.llvm import (
    njit,
    where,
)
from ostinato.codegen.cpu.matmul import (
    matmul,
)
from ostinato.codegen.cpu.matmul_spec import (
    Matmul,
    Operand,
    Step,
)
from ostinato.codegen.cpu.memory import (
    access,
)
from ostinato.codegen.cpu.philox import (
    fold_seed,
    normal_f32,
    normal_f64,
    philox_bits,
    philox_bits_1,
    philox_bits_2,
    philox_bits_3,
    uniform_f32,
    uniform_f64,
)
from ostinato.codegen.cpu.prefetch import (
    prefetch,
)
from ostinato.codegen.cpu.scalar import (
    abs_f32,
    abs_f64,
    abs_i32,
    abs_i64,
    cast_i32_f32,
    cast_i32_f64,
    cast_i64_f32,
    cast_i64_f64,
    cast_u32_f32,
    cast_u32_f64,
    ceil_f32,
    ceil_f64,
    cos_f32,
    cos_f64,
    exp_f32,
    exp_f64,
    expm1_f32,
    expm1_f64,
    floor_f32,
    floor_f64,
    floordiv_f32,
    floordiv_f64,
    floordiv_i32,
    floordiv_i64,
    floordiv_u32,
    fma_f32,
    fma_f64,
    log1p_f32,
    log1p_f64,
    log_f32,
    log_f64,
    logaddexp_f32,
    logaddexp_f64,
    maximum_f32,
    maximum_f64,
    maximum_i32,
    maximum_i64,
    maximum_u32,
    minimum_f32,
    minimum_f64,
    minimum_i32,
    minimum_i64,
    minimum_u32,
    mod_f32,
    mod_f64,
    mod_i32,
    mod_i64,
    mod_u32,
    pow_f32,
    pow_f64,
    pow_i32,
    pow_i64,
    pow_u32,
    relu_f32,
    relu_f64,
    round_f32,
    round_f64,
    rsqrt_f32,
    rsqrt_f64,
    sigmoid_f32,
    sigmoid_f64,
    sign_f32,
    sign_f64,
    sign_i32,
    sign_i64,
    sin_f32,
    sin_f64,
    softplus_f32,
    softplus_f64,
    sqrt_f32,
    sqrt_f64,
    tan_f32,
    tan_f64,
    tanh_f32,
    tanh_f64,
)
from ostinato.codegen.cpu.sorting import (
    argsort,
    searchleft,
    searchright,
)

__all__ = [
    "BARRIER_WORDS",
    "DRIVER",
    "KERNEL",
    "Matmul",
    "Operand",
    "Step",
    "abs_f32",
    "abs_f64",
    "abs_i32",
    "abs_i64",
    "access",
    "argsort",
    "atomic_add",
    "barrier",
    "bfloat16_value_u16",
    "bfloat16_bits_f32",
    "carray",
    "cast_i32_f32",
    "cast_i32_f64",
    "cast_i64_f32",
    "cast_i64_f64",
    "cast_u32_f32",
    "cast_u32_f64",
    "ceil_f32",
    "ceil_f64",
    "cos_f32",
    "cos_f64",
    "digest",
    "driver",
    "float16_bits_f32",
    "float16_value_u16",
    "exp_f32",
    "exp_f64",
    "expm1_f32",
    "expm1_f64",
    "floor_f32",
    "floor_f64",
    "floordiv_f32",
    "floordiv_f64",
    "floordiv_i32",
    "floordiv_i64",
    "floordiv_u32",
    "fma_f32",
    "fma_f64",
    "fold_seed",
    "invoke",
    "kernel",
    "lanes",
    "load_acquire",
    "log1p_f32",
    "log1p_f64",
    "log_f32",
    "log_f64",
    "logaddexp_f32",
    "logaddexp_f64",
    "matmul",
    "maximum_f32",
    "maximum_f64",
    "maximum_i32",
    "maximum_i64",
    "maximum_u32",
    "minimum_f32",
    "minimum_f64",
    "minimum_i32",
    "minimum_i64",
    "minimum_u32",
    "mod_f32",
    "mod_f64",
    "mod_i32",
    "mod_i64",
    "mod_u32",
    "njit",
    "normal_f32",
    "normal_f64",
    "np",
    "pause",
    "philox_bits",
    "philox_bits_1",
    "philox_bits_2",
    "philox_bits_3",
    "pow_f32",
    "pow_f64",
    "pow_i32",
    "pow_i64",
    "pow_u32",
    "prefetch",
    "relu_f32",
    "relu_f64",
    "round_f32",
    "round_f64",
    "rsqrt_f32",
    "rsqrt_f64",
    "sched_yield",
    "searchleft",
    "searchright",
    "sigmoid_f32",
    "sigmoid_f64",
    "sign_f32",
    "sign_f64",
    "sign_i32",
    "sign_i64",
    "sin_f32",
    "sin_f64",
    "softplus_f32",
    "softplus_f64",
    "sqrt_f32",
    "sqrt_f64",
    "store_release",
    "tan_f32",
    "tan_f64",
    "tanh_f32",
    "tanh_f64",
    "uniform_f32",
    "uniform_f64",
    "where",
]


def digest() -> str:
    """Return 16 hex digits that change with the primitives, their libraries, and the machine."""
    parts = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    binding = importlib.import_module("llvmlite.binding")
    numba = importlib.import_module("numba")
    versions = [str(numba.__version__), str(importlib.import_module("llvmlite").__version__)]
    features = host_features()
    host = [binding.get_host_cpu_name(), *sorted(name for name, has in features.items() if has)]
    options = [repr(DRIVER), repr(KERNEL), str(int(numba.config.OPT))]
    text = "\n".join([*versions, *host, *options]).encode()
    return hashlib.sha256(b"\n".join([*parts, text])).hexdigest()[:16]
