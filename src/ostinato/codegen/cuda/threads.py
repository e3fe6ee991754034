"""Bind a kernel to the threads of a block.

An item of a phase is done by one block. All its threads run the kernel: the turns of a loop in
lanes are dealt out to them, a product is computed by all, and what is left over is done by one of
them, or computed by each for itself. Between two accesses of one tensor of which one writes, and
which different threads may make, stands a barrier of the block.

Variables outside of loops in lanes have one value in all threads, so that all of them take the same
way through loops and choices, and meet at every barrier. What one thread alone has computed may
only be stored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ostinato.codegen.cuda.dealt import THREAD, THREADS, Dealt, nest
from ostinato.codegen.cuda.kept import fresh as unused
from ostinato.codegen.cuda.kept import has_turns
from ostinato.codegen.cuda.loop_order import Order
from ostinato.codegen.cuda.one_thread import ARENA
from ostinato.codegen.cuda.rewriting import (
    calls,
    calls_in,
    given,
    indices,
    named,
    names,
    opened,
    together,
)
from ostinato.codegen.cuda.rows import LANE, Rows, of_row
from ostinato.codegen.cuda.shared_sums import BARRIER, DTYPES, PARTS, TERMS_OF_ROWS, Fold
from ostinato.codegen.cuda.touches import NOTHING, Touched, forget
from ostinato.codegen.loops.expression import Call, Compare, Constant, Expression, Name, operands
from ostinato.codegen.loops.statements import (
    Add,
    Body,
    Break,
    Definition,
    Do,
    For,
    If,
    Let,
    Nothing,
    Remark,
    Return,
    Statement,
    While,
    Write,
    every,
    values,
)

SUMS = "the memory of a block"  # what its threads add up: no tensor has such a name
ROWS = frozenset(("argsort", "top", "shuffle", "searchleft", "searchright"))
"""What one thread does for a row: makers of functions of rows."""
SHUFFLE = "linked_shuffle"  # what all threads do for a row


@dataclass
class Threads(Dealt):
    """Binds one kernel."""

    is_of_grid: bool = False  # its threads are those of all blocks, which share no memory
    alone: set[str] = field(default_factory=set[str])  # what only one thread knows
    leaving: list[list[Touched]] = field(default_factory=list[list[Touched]])

    def __post_init__(self) -> None:
        super().__post_init__()
        definitions = self.function.definitions
        self.products = {n for d in definitions if d.maker == "matmul" for n in d.names}
        self.together = {n for d in definitions if d.maker in ("matmul", SHUFFLE) for n in d.names}
        self.rows: Mapping[str, Touched] = {
            d.names[0]: self._of_definition(d) for d in definitions if d.maker in {*ROWS, SHUFFLE}
        }
        self.lists = {n for d in definitions if d.maker == "living" for n in d.names}
        self.masks: dict[str, tuple[Expression, ...]] = {}
        self.all = frozenset(self.function.tensors)
        self.order = Order(self.accesses, self.touched)
        self.shared_bytes = 0  # of the block, for the parts of sums

    def _of_definition(self, of: Definition) -> Touched:
        found = [self.accesses[x.id] for x in of.args if isinstance(x, Name)]
        reads = frozenset(x.tensor for x in found if not x.is_store)
        return Touched(reads, frozenset(x.tensor for x in found if x.is_store))

    def bound(self) -> Body:
        """The body for one thread of a block."""
        body = self.function.body[1:]  # the first statement takes two addresses apart
        return self.body(body, NOTHING)[0]

    # ------------------------------------------------------------ what a statement touches

    def touched(self, body: Body) -> Touched:
        """What statements read and write."""
        found = NOTHING
        for each in calls(body):
            found = found | self._by_call(each)
        return found

    def read(self, *of: Expression) -> Touched:
        found = NOTHING
        for x in of:
            for each in calls_in(x):
                found = found | self._by_call(each)
        return found

    def _by_call(self, of: Call) -> Touched:
        if of.function in self.products:
            return Touched(self.all | {SUMS}, self.all | {SUMS})
        if of.function in self.rows:
            return self.rows[of.function]
        if of.function.startswith("transpose_"):
            return Touched(self.all, self.all)
        access = self.accesses.get(of.function)
        if access is None:
            return NOTHING
        tensors = frozenset((access.tensor,))
        return Touched(writes=tensors) if access.is_store else Touched(reads=tensors)

    # ------------------------------------------------------------ bodies

    def body(self, body: Body, since: Touched) -> tuple[Body, Touched]:
        """Statements with barriers; ``since`` was touched after the last one before them."""
        out: list[Statement] = []
        for statement in body:
            made, since = self.statement(statement, since)
            out += made
        return tuple(out), since

    def after(self, touched: Touched, since: Touched) -> tuple[list[Statement], Touched]:
        """A barrier, if what follows needs one, and what is touched since the last one then."""
        if since.conflicts(touched):
            return [BARRIER], touched
        return [], since | touched

    def statement(self, of: Statement, since: Touched) -> tuple[list[Statement], Touched]:
        match of:
            case Remark() | Nothing() | Return():
                return [of], since
            case Break():
                self.leaving[-1].append(since)
                return [of], since
            case Let((name,), Call(function, args)) if function in self.lists:
                self.masks[name] = args[1:]
                return [], since
            case Let(names, value):
                return self.uniform(of, names, value, since)
            case Add(name, value):
                return self.uniform(of, (name,), value, since)
            case Write():
                raise AssertionError(f"{self.function.name} writes words")
            case Do(Call("prefetch")):
                return [], since
            case Do():
                return self.done(of, since)
            case For(binding="lanes"):
                return self.lanes(of, since)
            case For() | While() | If() if not self.is_cooperative((of,)):
                return self.serial(of, since)
            case For() | While():
                return self.loop(of, since)
            case If():
                return self.choice(of, since)
            case other:
                raise AssertionError(f"no binding of {other}")

    def is_cooperative(self, body: Body) -> bool:
        """Whether several threads have something to do in the statements."""
        return any(
            (isinstance(s, For) and s.binding == "lanes")
            or (isinstance(s, Do) and s.call.function in self.together)
            for s in every(body)
        ) or any(map(_leaves, body))

    def uniform(
        self, of: Let | Add, names: Sequence[str], value: Expression, since: Touched
    ) -> tuple[list[Statement], Touched]:
        """Every thread computes the value for itself."""
        if self.alone & {*named(value), *(names if isinstance(of, Add) else ())}:
            self.alone.update(names)
        else:
            self.alone.difference_update(names)
        touched = self.read(value)
        self.forget(names)
        if touched == NOTHING and isinstance(of, Let) and names[0] not in named(value):
            self.known.update({name: value for name in names if len(names) == 1})
        barrier, since = self.after(touched, since)
        return [*barrier, self.plain(of)], since

    def forget(self, names: Iterable[str]) -> None:
        """What the names stood for is no longer so."""
        forget(self.known, names)

    def begin(self, body: Body) -> None:
        """What statements give a value may have had another one, or none."""
        self.forget({*given(body), *indices(body)})

    def done(self, of: Do, since: Touched) -> tuple[list[Statement], Touched]:
        """A store, which one thread makes; a product or a shuffle, which all compute."""
        if of.call.function in self.together:
            self.require_known(*of.call.args)
            barrier, since = self.after(self.touched((of,)), since)
            made = self.product if of.call.function in self.products else self.shuffle
            return [*barrier, made(of)], since
        barrier, since = self.after(self.touched((of,)).by_one(), since)
        return [*barrier, _by_one((self.plain(of),))], since

    def product(self, of: Do) -> Do:
        """Every thread takes a part of the elements; a list of living rows is their mask."""
        _, *rest = of.call.args
        flat: list[Expression] = []
        for given_ in rest:
            for each in operands(given_):
                known = self.masks.get(each.id) if isinstance(each, Name) else None
                flat += known if known is not None else (self.value(each),)
        args = (Name(ARENA), *flat, Name(THREAD), Name(THREADS))
        return Do(Call(of.call.function, args), of.remark)

    def shuffle(self, of: Do) -> Do:
        """Every thread finds the places of some elements."""
        _, *rest = of.call.args
        args = (Name(ARENA), *map(self.value, rest), Name(THREAD), Name(THREADS))
        return Do(Call(of.call.function, args), of.remark)

    def serial(self, of: For | While | If, since: Touched) -> tuple[list[Statement], Touched]:
        """What has no lanes: computed by all threads if nobody waits for its stores."""
        touched = self.touched((of,))
        self.begin((of,))
        if isinstance(of, For) and (body := self.fold(of)):
            return self.folded(of, body, since)
        if touched.reads & touched.writes:
            barrier, since = self.after(touched.by_one(), since)
            self.alone.update(given((of,)))
            return [*barrier, _by_one(self.private(of))], since
        stored = Touched(written_by_one=touched.writes)
        barrier, since = self.after(Touched(touched.reads) | stored, since)
        self.require_known(*values(of))
        return [*barrier, *self.shared(of)], since

    def fold(self, of: For) -> Body:
        """A loop that adds many terms, as all threads share it; nothing if it is no such loop."""
        if self.is_of_grid:
            return ()
        found = self.stays(of, is_alone=True)
        types = {x.name: x.access.dtype for x in found}
        loop = self.with_variables(of, found, self.private)
        made = Fold(loop, lambda name: types.get(name) or self.dtype(name))
        if not made.fits(self.function.exact):
            return ()
        self.shared_bytes = max(self.shared_bytes, made.shared_bytes)
        if self.alone & ({*names((loop,))} - made.inner):
            return ()
        self.alone.update(made.inner)
        body = made.shared(lambda name: unused(name, self.taken), THREAD, THREADS)
        back = self.put_back(found)
        return self.around(of, found, body, (_by_one(back),) if back else ())

    def folded(self, of: For, body: Body, since: Touched) -> tuple[list[Statement], Touched]:
        """Barriers around a loop that all threads share."""
        touched = self.touched((of,))
        taken = Touched(touched.reads | touched.writes, frozenset((SUMS,)))
        barrier, since = self.after(taken, since)
        end = Touched(frozenset((SUMS,)), written_by_one=touched.writes)
        return [*barrier, *body], since | end

    def dtype(self, name: str) -> str | None:
        """The type of a variable, if what it begins with says so."""
        found: set[str | None] = set()
        for s in every(self.function.body):
            match s:
                case Let((first,), Call(function, args)) if first == name:
                    if not any(name in named(x) for x in args):
                        access = self.accesses.get(function)
                        found.add(access.dtype if access else DTYPES.get(function))
                case _:
                    pass
        return found.pop() if len(found) == 1 else None

    def shared(self, of: Statement) -> Body:
        """A statement that all threads run; one of them stores."""
        if isinstance(of, For):
            return self.steps(of, self.shared, is_alone=False)
        made = self.plain(of)
        return (_by_one((made,)) if isinstance(of, Do) else opened(made, self.shared),)

    def loop(self, of: For | While, since: Touched) -> tuple[list[Statement], Touched]:
        """A loop that all threads run, taken apart where it can be, by rows where it can be."""
        if isinstance(of, For):
            out: list[Statement] = []
            apart = self.order.apart(of)
            if len(apart) > 1:
                for each in apart:
                    made, since = self.statement(each, since)
                    out += made
                return out, since
            exchanged = self.order.exchanged(of, self.known)
            if exchanged is not None:
                return self.turns(exchanged, since)
            self.require_known(*values(of))
            self.begin((of,))
            looked = Rows(self.accesses, dict(self.known))
            if looked.fits(of):
                found = self.touched((of,))
                sums = self.sums_of_rows(of, looked.most)
                if sums:
                    taken = replace(found, writes=found.writes | {SUMS})
                    barrier, since = self.after(taken, since)
                    return [*barrier, *sums], since | Touched(frozenset((SUMS,)), found.writes)
                barrier, since = self.after(found, since)
                return [*barrier, self.by_rows(of, looked.most)], since
        return self.turns(of, since)

    def turns(self, of: For | While, since: Touched) -> tuple[list[Statement], Touched]:
        """A loop whose turns come after what was before, or another turn."""
        self.require_known(*values(of))
        self.begin((of,))
        barrier, since = self.after(self.read(*values(of)), since)
        self.leaving.append([])
        _, end = self.body(of.body, since)
        again = since | end | self.read(*values(of))
        self.leaving[-1].clear()
        body, end = self.body(of.body, again)
        left = self.leaving.pop()
        self.begin((of,))
        made = self.plain(of)
        assert isinstance(made, For | While)
        out = [*barrier, replace(made, body=body)]
        for each in left:
            end = end | each
        return out, end | since

    def choice(self, of: If, since: Touched) -> tuple[list[Statement], Touched]:
        self.require_known(of.test)
        barrier, since = self.after(self.read(of.test), since)
        then, one = self.body(of.then, since)
        self.begin(of.then)
        other, two = self.body(of.other, since)
        self.begin(of.other)
        return [*barrier, If(self.value(of.test), then, other)], one | two

    def require_known(self, *of: Expression) -> None:
        """Refuse what only one thread knows where all of them need it."""
        unknown = self.alone & {name for x in of for name in named(x)}
        assert not unknown, f"{self.function.name}: one thread alone knows {sorted(unknown)}"

    # ------------------------------------------------------------ lanes

    def lanes(self, of: For, since: Touched) -> tuple[list[Statement], Touched]:
        """Deal out the turns of loops in lanes that stand directly inside each other."""
        barrier, since = self.after(self.touched((of,)), since)
        loops, body = nest(of)
        self.begin((of,))
        self.alone.difference_update(given(body))  # every thread has its own there
        bounds = [x for loop in loops for x in loop.bounds]
        self.require_known(*bounds, *(x for s in every(body) for x in values(s)))
        return [*barrier, *self.dealt(loops, body)], since

    # ------------------------------------------------------------ rows

    def sums_of_rows(self, of: For, most: int) -> Body:
        """A loop that adds many terms for each of a few rows, as several threads share each."""
        if self.is_of_grid or 2 * most > PARTS:
            return ()
        (loop,) = of_row(of, most)
        assert isinstance(loop, For)
        kept = self.stays(loop, is_alone=True)
        types = {x.name: x.access.dtype for x in kept}
        variables = {x.access.tensor for x in kept}
        stores = self.order.stores_apart(loop, self.known, variables)
        made = Fold(self.with_variables(loop, kept, self.private), types.get, stores=stores)
        sums = [x for x in kept if x.is_written]
        if (
            not made.fits(self.function.exact, TERMS_OF_ROWS)
            or {x.name for x in sums} != made.sums.keys()
        ):
            return ()
        self.shared_bytes = max(self.shared_bytes, made.shared_bytes)
        self.begin((of,))
        self.alone.difference_update(given((of,)))
        rest = [x for x in kept if x not in sums or made.sums[x.name].operation != "+"]

        def fresh(name: str) -> str:
            return unused(name, self.taken)

        terms, ends = made.by_rows(fresh, LANE, most, Name(THREAD), THREADS)
        *heads, turns = terms
        assert isinstance(turns, For)
        row, *after = turns.body
        taken = together(map(self.taken_from, rest))
        turns = replace(turns, body=(row, *taken, *after))
        own = (*together(map(self.taken_from, sums)), *ends, *self.put_back(sums))
        bounds = (Name(THREAD), Constant(most), Name(THREADS))
        whole = (*heads, turns, BARRIER, For(LANE, bounds, own))
        test = has_turns(of)
        return whole if test is None else (If(self.value(test), whole),)

    def by_rows(self, of: For, most: int) -> Statement:
        """Every thread takes its own rows, and runs all steps of each before the next one."""
        body = (of,)
        self.begin(body)
        self.alone.difference_update(given(body))
        self.require_known(*(x for s in every(body) for x in values(s)))
        inner = together(map(self.private, of_row(of, most)))
        bounds = (Name(THREAD), Constant(most), Name(THREADS))
        return For(LANE, bounds, inner)


def _by_one(body: Body) -> If:
    """What one thread of a block does."""
    return If(Compare("==", Name(THREAD), Constant(0)), body)


def _leaves(of: Statement) -> bool:
    """Whether a statement leaves a loop that it stands in."""
    return isinstance(of, Break) or (
        isinstance(of, If) and any(map(_leaves, (*of.then, *of.other)))
    )
