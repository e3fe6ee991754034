"""Deciding a rule: in every reading both sides become one expression per element, or differ.

A proof holds for all sizes, extents, points and values of the leaves; the readings enumerate ranks
and axis numbers up to a few (see `ostinato.rewrite.prove.setting` for why that is enough). A law
that computes with masks of axes, or names a permutation, is decided for every mask or order of a
few axes only: it is ``bounded``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from ostinato.rewrite.engine.rule import REAL, Exactness, Rule
from ostinato.rewrite.prove import asserted
from ostinato.rewrite.prove.application import Less, Test, Value, key
from ostinato.rewrite.prove.facts import assume, known_inside
from ostinato.rewrite.prove.general import generalized
from ostinato.rewrite.prove.induction import by_induction, by_steps, one_step, telescoped
from ostinato.rewrite.prove.integers import Poly, Var, poly
from ostinato.rewrite.prove.model import are_apart, difference, rounding
from ostinato.rewrite.prove.normal import exact, real, signless
from ostinato.rewrite.prove.range_folds import (
    Form,
    computed,
    equal_in_segments,
    restricted,
    segmented,
)
from ostinato.rewrite.prove.reading import (
    MOST_MASKED_AXES,
    Law,
    computes_with_masks,
    gaining,
    law,
    readings,
)
from ostinato.rewrite.prove.real_equality import (
    by_cases,
    equal_in_parts,
    equal_scalars,
    fractions_in_segments,
    spread,
)
from ostinato.rewrite.prove.setting import (
    STEPS,
    Conflict,
    Impossible,
    Misfit,
    Point,
    Setting,
    Unsupported,
)
from ostinato.rewrite.prove.situations import about_orders, situations
from ostinato.rewrite.prove.special_values import Steps, special_difference
from ostinato.rewrite.prove.term_meaning import Meaning, Undecided
from ostinato.rewrite.prove.term_operators import Element, Tensor, factors
from ostinato.rewrite.relations.meanings import Typed
from ostinato.rewrite.relations.row import row
from ostinato.rewrite.relations.sexpr import Tree, show

Outcome = Literal["proved", "bounded", "failed", "unproved"]
OUTCOMES: tuple[Outcome, ...] = ("proved", "bounded", "failed", "unproved")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is known of a rule: how many readings were decided, and what failed or is missing.

    ``methods``: what showed that the sides are equal, in any of the readings.
    """

    rule: str
    outcome: Outcome
    readings: int
    why: str = ""
    methods: tuple[str, ...] = ()

    def __str__(self) -> str:
        about = f": {self.why}" if self.why else ""
        return f"{self.rule}  {self.outcome} ({self.readings} readings){about}"


METHODS = (
    "normal form",
    "ranges cut where they end",
    "cases of conditions",
    "induction",
    "cases of truth values",
    "identities of functions",
)
MOST_TRIED = 6  # readings with special values, which do not depend on ranks
MOST_KINDS = 64  # of readings, the first of each with special values too
NO_CLAIM = "only asks for terms"  # or that a shape is what it is

_FORMS: dict[Exactness, Form] = {
    "exact": exact,
    "zero signs": signless,
    **dict.fromkeys(REAL, real),
}


class Refuted(Exception):
    """The two sides differ, with an example."""


class Open(Exception):
    """Neither a proof nor an example was found."""


def prove(rule: Rule) -> Verdict:
    """Decide one rule, and whether it keeps every bit where it says so."""
    verdict, exact = _proved(rule), rule.to_the_bit if rule.bits else None
    if exact is None or verdict.outcome not in ("proved", "bounded"):
        return verdict
    further = _proved(exact)
    if further.outcome != verdict.outcome:
        return replace(further, why=f"as it keeps every bit: {further.why}")
    methods = tuple(m for m in METHODS if m in {*verdict.methods, *further.methods})
    return replace(verdict, readings=verdict.readings + further.readings, methods=methods)


def _proved(rule: Rule) -> Verdict:
    """Decide a rule as it says in general."""
    found = law(rule)
    count, seen = 0, set[tuple[object, ...]]()
    try:
        asserted.check(found)
        for setting in settings(found):
            kind = _kind(setting)
            is_other = kind not in seen and len(seen) < MOST_KINDS
            _decide(found, setting, count < MOST_TRIED or is_other)
            seen.add(kind)
            count += 1
    except (Refuted, asserted.Unfounded) as problem:
        return Verdict(rule.name, "failed", count, str(problem))
    except (Unsupported, Open) as problem:
        return Verdict(rule.name, "unproved", count, str(problem))
    except KeyError as problem:  # a variable that stands in facts only
        return Verdict(rule.name, "unproved", count, f"nothing says what {problem} stands for")
    methods = tuple(m for m in METHODS if m in found.methods) or (NO_CLAIM,)
    if not count:
        return Verdict(rule.name, "unproved", 0, "no reading of the rule was found")
    if rule.valid == "everywhere" and (fact := known_inside(found)):
        about = f"the fact `{fact}` says nothing of points outside the box"
        return Verdict(rule.name, "failed", count, about)
    what = "mask" if computes_with_masks(found) else "order" if about_orders(found) else ""
    if what:
        about = f"every {what} of {MOST_MASKED_AXES} axes"
        return Verdict(rule.name, "bounded", count, about, methods)
    return Verdict(rule.name, "proved", count, methods=methods)


def _kind(setting: Setting) -> tuple[object, ...]:
    """What special values see of a reading: the folds, and which dimensions and axes are equal."""
    numbers = tuple(setting.numbers.values())
    return (*setting.dims.items(), *setting.texts.items(), *map(numbers.index, numbers))


def try_specials(rule: Rule) -> str:
    """An example with special values for which a rule does not hold, "" if none was found.

    Every choice of a few values for the elements of a few steps is tried.
    """
    found = law(rule)
    for setting in itertools.islice(settings(found), MOST_TRIED):
        setting.frozen = True
        for sides in _claims(found, setting):
            try:
                _try_specials(found, setting, sides, _described(setting))
            except Refuted as problem:
                return str(problem)
    return ""


def settings(found: Law) -> Iterator[Setting]:
    """The readings in which the left side and the facts have a meaning."""

    def fits(thick: Setting) -> bool:
        try:
            if gaining(found):  # ranks are alike for all kinds of ranges
                thick = next(situations(found, thick))
            with Meaning(thick, {}) as meaning:
                assume(found, thick, meaning)
        except Conflict:
            pass
        except (Impossible, Misfit, StopIteration):
            return False
        return True

    def possible(plain: Setting) -> Iterator[Setting]:
        plain.inside = found.rule.valid == "inside the box"
        plain.signs = found.rule.exact == "exact"
        for setting in situations(found, plain):
            try:
                with Meaning(setting, {}) as meaning:
                    assume(found, setting, meaning)
            except (Impossible, Misfit):
                continue
            yield setting

    for plain in readings(found, fits):
        yield from possible(plain)


def _decide(found: Law, setting: Setting, tries: bool) -> None:
    """Prove one reading; ``tries`` special values as well.

    Errors: Refuted; Open; Unsupported.
    """
    setting.frozen = True
    about = _described(setting)
    point = setting.point()
    for left, right in _claims(found, setting):
        try:
            with Meaning(setting, {}) as meaning:
                _same_shape(setting, meaning.of(left), meaning.of(right), point)
        except (Misfit, Impossible) as problem:
            raise Refuted(f"{show(right)}: {problem} ({about})") from problem
        try:
            _equal_elements(found, setting, (left, right), about)
        except Open:
            _try_specials(found, setting, (left, right), about)  # an example says more
            raise
        if tries:
            _try_specials(found, setting, (left, right), about)
    for fact in found.also:
        _check_also(setting, fact, point, about)


def _claims(found: Law, setting: Setting) -> Iterator[tuple[Tree, Tree]]:
    """The equalities that a rule asserts."""
    if found.left != found.right:
        yield found.left, found.right
    for fact in found.also:
        match fact:
            case ("equal", term, ("ranged", dim, _, _, flag, x) as meant):
                yield term, meant
                if Meaning(setting, {}).number(flag):
                    yield x, ("at", dim, "any index", x)
            case ("equal", term, meant):
                yield term, meant
            case ("define", str(name), number, term):
                yield _definition(found, setting, name, number), term
            case _:
                pass


def _definition(found: Law, setting: Setting, name: str, number: Tree) -> Tree:
    """What a new recurrence must equal in this case: the old case at every point of the axis.

    Errors: Refuted where no case of this number defines what it is a twin of.
    """
    twin = setting.twin_of(name)
    for fact in found.facts:
        match fact:
            case ("define", str(old), case, right) if twin and twin[0] == old and case == number:
                dim = twin[1]
                full = f"all of {dim}"
                setting.known[full] = ("full", dim)
                axis = next(d for d, meant in setting.dims.items() if meant == dim)
                return ("sl", axis, full, right)
            case _:
                pass
    raise Refuted(f"nothing says what the case {show(number)} of {name} is")


def _same_shape(setting: Setting, a: Tensor, b: Tensor, point: Point) -> None:
    left = [setting.size(s, point) for s in a.shape]
    right = [setting.size(s, point) for s in b.shape]
    if left != right:
        shapes = (f"({', '.join(map(str, s))})" for s in (left, right))
        raise Misfit(f"shapes {' and '.join(shapes)}")


def _equal_elements(found: Law, setting: Setting, sides: tuple[Tree, Tree], about: str) -> None:
    """Compare one element: at any integers as its position, or else at those inside the shape."""
    last: tuple[Value, Value] | None = None
    for ranged in (False, True):
        last = _unequal(found, setting, sides, ranged, {})
        if last is None:
            return
    assert last is not None
    example = difference(*last)
    if example is not None:
        raise Refuted(f"{example} ({about})")
    form = _FORMS[found.rule.exact]
    if form is not real:
        example = rounding(*last, signed=form is exact)
        if example is not None:
            raise Refuted(f"not {found.rule.exact}: {example} ({about})")
    left, right = (key(form(side)) for side in last)
    raise Open(f"{left} and {right} were neither proved equal nor found to differ ({about})")


def _unequal(
    found: Law,
    setting: Setting,
    sides: tuple[Tree, Tree],
    ranged: bool,
    assumed: dict[Test, bool],
    places: dict[Var, Poly] | None = None,
) -> tuple[Value, Value] | None:
    """The two elements where they are not proved equal, splitting on tests.

    ``places``: what is known of the positions of the elements.
    """
    try:
        with Meaning(setting, assumed) as meaning:
            element = _element(meaning, sides, ranged)
            element = tuple(at.renamed(places) for at in element) if places else element
            values = _at(meaning, sides, element)
            proved = _is_proved(found, meaning, sides, values, element)
    except Undecided as split:
        found.methods.add("cases of conditions")
        if places is None and (at := _first_place(split.test)) is not None:
            pairs = (
                _unequal(found, setting, sides, ranged, assumed, {at: place})
                for place in (
                    poly(0),
                    poly(Var(f"{at.name}'", at.size - 1 if at.size else None)) + 1,
                )
            )
            return next((pair for pair in pairs if pair is not None), None)
        branches = ({**assumed, split.test: holds} for holds in (True, False))
        found_ = (_unequal(found, setting, sides, ranged, branch) for branch in branches)
        return next((pair for pair in found_ if pair is not None), None)
    return None if proved else values


def _first_place(test: Test) -> Var | None:
    """The position of which a test asks whether it is the first one."""
    if not isinstance(test, Less):
        return None
    gap = test.b - test.a
    return next((v for v in gap.variables() if v.size is not None and gap == poly(1) - v), None)


def _try_specials(found: Law, setting: Setting, sides: tuple[Tree, Tree], about: str) -> None:
    """Compare infinities, NaN and other special values too.

    Errors: Refuted.
    """
    pending: list[dict[Test, bool]] = [{}]
    while pending:
        assumed = pending.pop()
        try:
            with Meaning(setting, assumed) as meaning:
                element = _element(meaning, sides, True)
                values = one_step(meaning, sides, element) or _at(meaning, sides, element)
                sizes = meaning.of(sides[0]).shape
        except Undecided as split:
            pending += [{**assumed, split.test: holds} for holds in (True, False)]
            continue
        shape = tuple(setting.size(s, setting.point()) for s in sizes)
        steps = Steps(found, setting, assumed)
        example = special_difference(values, steps, found.rule.exact, shape)
        if example is not None:
            raise Refuted(f"{example} ({about})")


def _is_proved(
    found: Law,
    meaning: Meaning,
    sides: tuple[Tree, Tree],
    values: tuple[Value, Value],
    element: Element,
) -> bool:
    form = _FORMS[found.rule.exact]
    once, directly, in_parts = found.claims.once, partial(_directly, form), partial(_in_parts, form)
    general = generalized(*values)
    method = once("directly", directly, general)
    if not method and form is real and by_induction(meaning, sides, element, found.claims):
        method = "induction"
    method = (
        method
        or once("in parts", in_parts, general)
        or once("directly", directly, values)
        or once("in parts", in_parts, values)
    )
    found.methods |= {method} - {""}
    return method != ""


def _directly(form: Form, left: Value, right: Value) -> str:
    """The method that shows two values equal, of those that are tried before an induction."""
    if key(form(left)) == key(form(right)):
        return "normal form"
    if key(form(computed(left))) == key(form(computed(right))):
        return "normal form"
    if equal_in_segments(left, right, form):
        return "ranges cut where they end"
    cut = segmented(left)
    if key(form(cut)) == key(form(right)) or equal_in_segments(cut, right, form):
        return "ranges cut where they end"
    if form is not real:
        return ""
    if fractions_in_segments(left, right):
        return "ranges cut where they end"
    is_cut = equal_in_segments(real(left), real(right), real)  # what folds share is outside
    return "ranges cut where they end" if is_cut else ""


def _in_parts(form: Form, left: Value, right: Value) -> str:
    """The method that shows two real values equal, of those that are tried at last."""
    if form is not real:
        return ""
    if by_steps(left, right) or key(real(left)) == key(real(telescoped(right))):
        return "induction"
    if equal_in_parts(left, right):
        return "ranges cut where they end"
    a, b = _apart(left), _apart(right)
    if key(real(a)) == key(real(b)):
        return "ranges cut where they end"
    if by_cases(a, b):
        return "cases of truth values"
    is_identity = not are_apart(left, right) and equal_scalars(left, right)
    return "identities of functions" if is_identity else ""


def _apart(value: Value) -> Value:
    """The value with guarded folds cut, and products over ranges taken apart."""
    return spread(computed(restricted(segmented(value))))


def _at(meaning: Meaning, sides: tuple[Tree, Tree], element: Element) -> tuple[Value, Value]:
    point = meaning.setting.point()
    left, right = (meaning.of(side).at(point, element) for side in sides)
    return left, right


def _element(meaning: Meaning, sides: tuple[Tree, Tree], ranged: bool) -> Element:
    """A position in the shape of a term, of which nothing, or its range, is known."""
    setting, a = meaning.setting, meaning.of(sides[0])
    point = setting.point()
    at: list[Poly] = []
    match sides[1]:
        case ("decay", _, part, *_):  # the factor of a lag, of which there are not less than 0
            lag = Var("lag", setting.size(a.shape[0], point))
            ahead = STEPS[setting.known[str(part)][0]].gains == "first"
            at.append(poly(lag) if ahead else setting.size(a.shape[0], point) - 1 - lag)
        case _:
            pass
    for k, size in enumerate(a.shape[len(at) :], len(at)):
        index = poly(0)
        for j, factor in enumerate(factors(size)):
            length = setting.size(factor, point)
            one = length.constant == 1 and ranged
            index = index * length
            index = index if one else index + poly(Var(f"e{k}.{j}", length if ranged else None))
        at.append(index)
    return tuple(at)


def _check_also(setting: Setting, fact: Tree, point: Point, about: str) -> None:
    """The further facts that a rule asserts must hold too."""
    match fact:
        case ("set", ("shape", term), shape):
            meaning = Meaning(setting, {})
            sizes = tuple(meaning.sizes(shape))
            try:
                claimed = Tensor(sizes, meaning.of(term).at)
                _same_shape(setting, meaning.of(term), claimed, point)
            except (Misfit, Impossible) as problem:
                raise Refuted(f"{show(fact)}: {problem} ({about})") from problem
        case ("equal", *_):
            pass  # a claim of the proof
        case _:
            found = row(fact)
            if found is None or not found.relation.makes("wish", "definition", "closed", Typed):
                raise Unsupported(f"the assertion {show(fact)}")


def _described(setting: Setting) -> str:
    ranks = ", ".join(
        f"{t}: ({', '.join('1' if s.is_one else s.root().name for s in shape)})"
        for t, shape in setting.shapes.items()
    )
    numbers = "".join(f", {n} = {v}" for n, v in setting.numbers.items())
    texts = "".join(f", {n} = {v}" for n, v in setting.texts.items() if n != v)
    equal = "".join(f", {d} = {e}" for d, e in setting.dims.items() if d != e)
    return f"{ranks}{numbers}{texts}{equal}"
