"""Imports go one way: every package stands on a floor, and every wrapped library has one door."""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src"

# What each package may import, from the ground up. Inside a package likewise: its folders in order
# from the ground up, each of which may import those before it; files beside them import all.
FLOORS: Mapping[str, tuple[str, ...]] = {
    "pdg": (),
    "export": ("pdg",),
    "machine": ("pdg", "runtime"),
    "provenance": ("pdg",),
    "report": ("pdg", "provenance"),
    "runtime": ("pdg", "report"),
    "language": ("pdg", "provenance"),
    "optim": ("pdg", "provenance", "language"),
    "nn": ("pdg", "provenance", "language", "optim"),
    "rewrite": ("pdg", "provenance", "machine"),
    "codegen": ("pdg", "machine"),
    "compiler": (
        *("pdg", "machine", "provenance", "report", "runtime", "language", "rewrite", "codegen"),
        "export",
    ),
    "rl": ("pdg", "provenance", "language", "optim", "nn", "compiler"),
    "certificate": ("pdg", "machine", "provenance", "runtime", "rewrite", "codegen", "compiler"),
    "inspection": (
        *("pdg", "machine", "provenance", "report", "runtime", "rewrite", "codegen", "compiler"),
    ),
    "calibration": ("pdg", "machine", "runtime", "language", "codegen", "compiler"),
    "cli": (
        *("pdg", "machine", "report", "runtime", "language", "rewrite", "compiler", "nn", "rl"),
        *("certificate", "inspection", "calibration"),
    ),
}
STOREYS: Mapping[str, tuple[str, ...]] = {
    "pdg": ("(files)", "isl", "text", "demand", "grad"),
    "rewrite": ("relations", "terms", "engine", "rules", "load", "extract", "prove", "(files)"),
    "codegen": (
        *("ir", "loops", "(files)", "systems", "lowering", "scheduling", "memory", "masks"),
        *("planning", "cost", "emit", "cpu", "cuda"),  # no pass knows a target by its name
    ),
    "runtime": ("disk", "machine_code", "run", "cache"),
    "report": ("drawing", "(files)"),
}
# The only modules that may import each wrapped library.
DOORS = {
    "islpy": ("ostinato.pdg.isl",),
    "egglog": ("ostinato.rewrite.engine.egglog_session",),
    "numba": ("ostinato.codegen.cpu", "ostinato.codegen.cuda", "ostinato.runtime"),
    "llvmlite": ("ostinato.codegen.cpu", "ostinato.runtime"),
}
# Named in a text, and imported when it is needed: what these are is given to the lower floor.
LATE = {
    ("ostinato.compiler.compiled", "ostinato.certificate.document.write"),
    ("ostinato.compiler.compiled", "ostinato.certificate.make.certificate_of"),
    ("ostinato.language.protocols", "ostinato"),
    ("ostinato.language.surface", "ostinato.inspection.rule_questions"),
    ("ostinato.language.surface", "ostinato.optim.optimizer"),
    ("ostinato.language.surface", "ostinato.rewrite.registry"),
    ("ostinato.provenance.place", "ostinato.nn.module"),
}
# Circles of files in a package, with imports in functions and of types: which are left, and why.
CIRCLES: Mapping[str, frozenset[str]] = {
    # An index is a tensor at a point, and the shape of a tensor is of indices. Where episodes end,
    # what an operator of tensors does is written in operators of tensors.
    "language": frozenset(
        {
            *("language.tensor", "language.dims", "language.array.indexing"),
            *(f"language.ragged.{n}" for n in ("dispatch", "ending", "folds", "moves")),
            *("language.ragged.operators", "language.ragged.reads"),
        }
    ),
    # A plan keeps what its kernels pass through, which is found from the plan once.
    "planning": frozenset({f"codegen.planning.{n}" for n in ("planned", "rounds", "walks")}),
    # Algorithms may be copied as they are: they are written in the public names, which list them.
    "rl": frozenset(
        {
            "rl",
            *(f"rl.algorithms.{n}" for n in ("a2c", "dqn", "evolution", "impala", "ppo")),
            *(f"rl.algorithms.{n}" for n in ("qr_dqn", "recurrent_ppo", "reinforce", "sac", "td3")),
        }
    ),
}


@cache
def modules() -> dict[str, Path]:
    paths = sorted((SOURCE / "ostinato").rglob("*.py"))
    return {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
        for path in paths
    }


@cache
def imported(path: Path) -> tuple[str, ...]:
    """The dotted name of all the file imports, in functions too, and of modules in texts."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    known = modules().keys()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} imports relatively"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Constant) and node.value in known and node.value != "ostinato":
            yield str(node.value)


def is_inside(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(package + ".") for package in packages)


def place_of(name: str) -> tuple[str, str]:
    """The package and the folder in it, "(files)" for what lies beside the folders."""
    _, package, *rest = [*name.split("."), "", ""]
    inner = SOURCE / "ostinato" / package / (rest[0] or "-")
    return package, rest[0] if inner.is_dir() else "(files)"


def is_allowed(module: str, name: str) -> bool:
    (package, folder), (other, inner) = place_of(module), place_of(name)
    if package not in FLOORS or (module, name) in LATE:
        return True
    if name == "ostinato":
        users = is_inside(module, ("ostinato.rl.algorithms",))  # may be copied as they are
        return users or package in ("calibration", "cli")  # applications: of the public names
    if package != other:
        stored = is_inside(name, ("ostinato.machine.profile_store",))
        if package == "codegen" and is_inside(name, RECORDS):
            return True
        return other in FLOORS[package] and not (stored and package in PURE)
    order = STOREYS.get(package)
    return order is None or order.index(inner) <= order.index(folder)


RECORDS = (  # of what is emitted and planned: the runtime reads them
    "ostinato.runtime.machine_code.arena_layout",
    "ostinato.runtime.machine_code.ports",
)
PURE = ("rewrite", "codegen")  # decide nothing by what machine runs them, but by the given profile


def wrong_arrows(module: str, path: Path) -> list[str]:
    own = [name for name in imported(path) if is_inside(name, ("ostinato",))]
    return [name for name in own if not is_allowed(module, name)]


def wrong_doors(module: str, path: Path) -> list[str]:
    libraries = {name.partition(".")[0] for name in imported(path)}
    return [name for name in libraries & DOORS.keys() if not is_inside(module, DOORS[name])]


def circles_of(edges: Mapping[str, Collection[str]]) -> set[frozenset[str]]:
    """The groups of names that reach each other."""

    def reached(name: str) -> set[str]:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = edges.get(waiting.pop(), set())
            waiting.extend(set(new) - found)
            found.update(new)
        return found

    reach = {name: reached(name) for name in edges}
    groups = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in edges}
    return {group for group in groups if len(group) > 1}


def arrows_inside(module: str, path: Path) -> set[str]:
    """The modules of the same package that a module imports."""
    whole = (name if name in modules() else name.rpartition(".")[0] for name in imported(path))
    known = {name for name in whole if name in modules() and name != "ostinato"}
    return {name for name in known if place_of(name)[0] == place_of(module)[0]} - {module}


def wrong_in_any(wrong: Callable[[str, Path], list[str]]) -> dict[str, list[str]]:
    found = {module: wrong(module, path) for module, path in modules().items()}
    return {module: names for module, names in found.items() if names}


def test_every_module_imports_only_what_its_package_may() -> None:
    assert wrong_in_any(wrong_arrows) == {}


def test_no_files_of_a_package_import_each_other_in_a_circle() -> None:
    edges = {module: arrows_inside(module, path) for module, path in modules().items()}
    named = ({name.removeprefix("ostinato.") for name in group} for group in circles_of(edges))
    assert {frozenset(group) for group in named} == {*CIRCLES.values()}


def test_a_circle_is_seen_wherever_one_enters_it() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b", "d"}, "d": set[str](), "e": {"e"}}
    assert circles_of(edges) == {frozenset({"b", "c"})}


def test_every_module_leaves_wrapped_libraries_to_their_door() -> None:
    assert wrong_in_any(wrong_doors) == {}


def test_every_package_has_its_floor() -> None:
    folders = {path.name for path in (SOURCE / "ostinato").iterdir() if path.is_dir()}
    assert folders - {"__pycache__"} == FLOORS.keys()
    files = {path.name for path in (SOURCE / "ostinato").iterdir() if path.is_file()}
    assert files == {"__init__.py", "__main__.py", "py.typed"}


def heights() -> dict[str, int]:
    """The floor of every package: above all that it imports."""
    found: dict[str, int] = {}

    def height(package: str) -> int:
        if package not in found:
            found[package] = 1 + max(map(height, FLOORS[package]), default=0)
        return found[package]

    for package in FLOORS:
        height(package)
    return found


def test_the_floors_are_at_most_twelve() -> None:
    assert max(heights().values()) <= 12


def test_a_wrong_arrow_is_seen_also_inside_a_function_and_in_a_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.py"
    path.write_text(
        "def f():\n    from ostinato import rewrite\n    import islpy as isl\n"
        "LATER = 'ostinato.compiler.pipeline'\n"
    )
    wrong = {"ostinato.rewrite", "ostinato.compiler.pipeline"}
    assert set(wrong_arrows("ostinato.codegen.bad", path)) == wrong
    assert wrong_doors("ostinato.codegen.bad", path) == ["islpy"]


def test_no_two_files_have_the_same_name_but_in_parallel_packages() -> None:
    """A command is called like what it shows; the layers of functions are called alike."""
    seen: dict[str, str] = {}
    for module, path in modules().items():
        if path.name == "__init__.py" or is_inside(module, ("ostinato.cli",)):
            continue
        package, _, name = module.rpartition(".")
        assert name not in seen or package == "ostinato.language.functions", (module, seen[name])
        seen.setdefault(name, module)
