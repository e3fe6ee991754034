"""Addresses of optimised code that are chosen between tensors get the bounds of the chosen one."""

import importlib
from typing import Any

from ostinato.runtime.machine_code.addresses import checked

llvm: Any = importlib.import_module("llvmlite.binding")

HEAD = """define void @ostinato.entry.k0(ptr %memory, ptr %table, i64 %local, i64 %key, i64 %own, \
i64 %at, i1 %test, <2 x i1> %tests) {
entry:
  %first = getelementptr i64, ptr %table, i64 %own
  %second = getelementptr i8, ptr %first, i64 8
"""

SINK = f"""{HEAD}\
  br i1 %test, label %left, label %right

left:
  %x = load i64, ptr %first
  %x.base = getelementptr i8, ptr %memory, i64 %x
  br label %both

right:
  %y = load i64, ptr %second
  %y.base = getelementptr i8, ptr %memory, i64 %y
  br label %both

both:
  %base = phi ptr [ %x.base, %left ], [ %y.base, %right ]
  %other = phi i64 [ 0, %left ], [ 1, %right ]
  %lane = insertelement <2 x i64> poison, i64 %at, i64 0
  %lanes = insertelement <2 x i64> %lane, i64 %other, i64 1
  %places = getelementptr double, ptr %base, <2 x i64> %lanes
  %got = tail call <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr> align 8 %places, \
<2 x i1> splat (i1 true), <2 x double> poison)
  ret void
}}

declare <2 x double> @llvm.masked.gather.v2f64.v2p0(<2 x ptr>, <2 x i1>, <2 x double>)
"""


def test_lanes_that_count_from_one_chosen_address_have_its_bounds() -> None:
    text = checked(SINK)
    llvm.parse_assembly(text).verify()
    kernel = text.partition("ret void")[0]
    assert kernel.count("call ptr @checked.place") == 2  # a lane each
    assert kernel.count("= phi i64") == 4  # the other one, and three bounds


CHOSEN = f"""{HEAD}\
  %x = load i64, ptr %first
  %y = load i64, ptr %second
  %x.base = getelementptr i8, ptr %memory, i64 %x
  %y.base = getelementptr i8, ptr %memory, i64 %y
  %xs.0 = insertelement <2 x ptr> poison, ptr %x.base, i64 0
  %xs = insertelement <2 x ptr> %xs.0, ptr %x.base, i64 1
  %ys.0 = insertelement <2 x ptr> poison, ptr %y.base, i64 0
  %ys = insertelement <2 x ptr> %ys.0, ptr %y.base, i64 1
  %both = select <2 x i1> %tests, <2 x ptr> %xs, <2 x ptr> %ys
  %one = extractelement <2 x ptr> %both, i64 1
  %got = load double, ptr %one, align 8
  ret void
}}
"""


def test_an_address_out_of_a_vector_of_chosen_ones_has_the_bounds_of_its_lane() -> None:
    text = checked(CHOSEN)
    llvm.parse_assembly(text).verify()
    assert text.count("= select <2 x i1> %tests, <2 x i64>") == 3  # the bounds, as the addresses
    assert text.partition("ret void")[0].count("= extractelement <2 x i64>") == 3


COPIED = f"""{HEAD}\
  br i1 %test, label %left, label %right

left:
  %ours = getelementptr i8, ptr %first, i64 16
  br label %both

right:
  %theirs = getelementptr i64, ptr %first, i64 2
  br label %both

both:
  %same = phi ptr [ %ours, %left ], [ %theirs, %right ]
  %x = load i64, ptr %same
  %x.base = getelementptr i8, ptr %memory, i64 %x
  %got = load double, ptr %x.base, align 8
  ret void
}}
"""


def test_an_address_of_the_table_that_two_blocks_computed_is_that_of_its_word() -> None:
    """Found by fuzzing: LLVM had copied a block, and its address of a word was not known."""
    text = checked(COPIED)
    llvm.parse_assembly(text).verify()
    assert text.partition("ret void")[0].count("call ptr @checked.place") == 1
