"""What checked machine code calls, as LLVM text: see `ostinato.runtime.machine_code.addresses`."""

from __future__ import annotations

GATE = """\
  %checked.record = getelementptr i64, ptr {table}, i64 -{fault}
  %checked.flag = load i64, ptr %checked.record
  %checked.over = icmp ne i64 %checked.flag, 0
  br i1 %checked.over, label %checked.end, label %checked.work
checked.work:
  call void @checked.body({given})
  br label %checked.end
checked.end:
  ret void"""

LIBRARY = """
@checked.zeros = internal constant [4096 x i8] zeroinitializer, align 64
@checked.lost = internal global [4096 x i8] zeroinitializer, align 64

define internal ptr @checked.place(ptr %p, i64 %size, i64 %first, i64 %end, i64 %number, \
i64 %kind, ptr %record) noinline {
entry:
  %at = ptrtoint ptr %p to i64
  %room = sub i64 %end, %first
  %fits = icmp ule i64 %size, %room
  %last = sub i64 %room, %size
  %from = sub i64 %at, %first
  %inside = icmp ule i64 %from, %last
  %both = and i1 %fits, %inside
  %none = icmp eq i64 %size, 0
  %ok = or i1 %both, %none
  br i1 %ok, label %right, label %wrong
right:
  ret ptr %p
wrong:
  %pair = cmpxchg ptr %record, i64 0, i64 1 seq_cst seq_cst
  %is.first = extractvalue { i64, i1 } %pair, 1
  br i1 %is.first, label %note, label %instead
note:
  %w1 = getelementptr i64, ptr %record, i64 1
  %w2 = getelementptr i64, ptr %record, i64 2
  %w3 = getelementptr i64, ptr %record, i64 3
  %w4 = getelementptr i64, ptr %record, i64 4
  %w5 = getelementptr i64, ptr %record, i64 5
  %w6 = getelementptr i64, ptr %record, i64 6
  store i64 %first, ptr %w1
  store i64 %end, ptr %w2
  store i64 %at, ptr %w3
  store i64 %size, ptr %w4
  store i64 %number, ptr %w5
  store i64 %kind, ptr %w6
  br label %instead
instead:
  %is.load = icmp eq i64 %kind, 0
  %sink = select i1 %is.load, ptr @checked.zeros, ptr @checked.lost
  ret ptr %sink
}

define internal ptr @checked.lanes(ptr %p, i64 %mask, i64 %width, i64 %first, i64 %end, \
i64 %number, i64 %kind, ptr %record) noinline {
entry:
  %none = icmp eq i64 %mask, 0
  br i1 %none, label %right, label %some
some:
  %low = call i64 @llvm.cttz.i64(i64 %mask, i1 true)
  %high = call i64 @llvm.ctlz.i64(i64 %mask, i1 true)
  %past = sub i64 64, %high
  %lanes = sub i64 %past, %low
  %size = mul i64 %lanes, %width
  %skipped = mul i64 %low, %width
  %q = getelementptr i8, ptr %p, i64 %skipped
  %place = call ptr @checked.place(ptr %q, i64 %size, i64 %first, i64 %end, i64 %number, \
i64 %kind, ptr %record)
  %same = icmp eq ptr %place, %q
  %chosen = select i1 %same, ptr %p, ptr %place
  ret ptr %chosen
right:
  ret ptr %p
}
"""
