"""The list of passes: what becomes of a program, from its dependence graph to machine code.

They run in this order. Several forms of a program may be chosen and scheduled, and where there is
no order of loops, or too little memory, some passes run again.
"""

from __future__ import annotations

from ostinato.pdg.pass_record import ADDED, Pass

PASSES: tuple[Pass, ...] = (
    # --- the dependence graph, before rules
    Pass(
        "halves", "pdg.half_storage.encoded", "Writes halves as their bits, which are integers.",
        needs="a program that is defined for all extents",
        gives="no operator takes or gives a half",
        necessary="machine code has no arithmetic of halves",
    ),
    Pass(
        "outside reads", "pdg.demand.inside.inside",
        "Writes out what is read outside its box; again at equations, if rules read so.",
        needs="every demanded read has a value",
        gives="every demanded read falls inside its box",
        necessary="rules know values inside a box only",
    ),
    Pass(
        "merged cases", "rewrite.load.merged_cases.batched_cases",
        "Joins cases that only a parallel dimension tells apart, so that it may become an axis.",
        needs="the dimensions that carry each case",
        gives="no recurrence is carried by another dimension than before",
    ),
    Pass(
        "known prefixes", "rewrite.load.known_prefix.split_prefixes",
        "Computes what follows from a prompt at once, before the loop over the other steps.",
        needs="the dimensions that carry each case",
        gives="below the bound of a known part no value needs the loop",
    ),
    Pass(
        "joined products", "rewrite.load.joined_products.find_joins",
        "Finds narrow matrix products that share an operand, for rules to join.",
        needs="which values are defined everywhere",
        gives="the equations have an order with every product joined",
    ),
    Pass(
        "tiles of ranges", "rewrite.load.range_rows.tile_dims",
        "Gives long ranges under a softmax a dimension over their tiles, for rules to use.",
        needs="lengths of ranges as index expressions",
        gives="a range with tiles is long, and never empty",
    ),
    Pass(
        "rows", "rewrite.load.program_rows.load", "Writes the program as rows of an e-graph.",
        needs="all reads inside their boxes",
        gives="one row for each node, definition and fact that rules ask for",
        necessary="rules run on rows",
    ),
    # --- rewriting
    Pass(
        "repeated parts", "rewrite.load.folded_rows.folded",
        "Keeps one copy of each part that repeats, such as a layer, for rules to see.",
        needs="rows",
        gives="what rules learn of a copy is true of the others, with other names",
        necessary="deep programs would take hundreds of thousands of rows",
    ),
    Pass(
        "rules", "rewrite.engine.saturate.saturate",
        "Applies rules until nothing new is learnt, or the budget ends.",
        needs="rows",
        gives="terms of one class are equal",
    ),
    Pass(
        "choice", "rewrite.extract.choose.Extractor",
        "Chooses a term for each class in use: cheap, and computable in order.",
        needs="equal terms, with prices at typical extents",
        gives="nothing reads its own future",
        necessary="a program has one term for each value",
    ),
    Pass(
        "local search", "rewrite.extract.improve.LocalSearch",
        "Switches choices while the program gets cheaper, paying what is shared once.",
        needs="the cheapest tree",
        gives="a choice that is no dearer",
        within="choice",
    ),
    Pass(
        "chosen program", "rewrite.extract.rebuild.rebuild",
        "Writes the chosen terms as a program.",
        needs="a choice",
        gives="outputs with the names, domains and shapes that they had",
        necessary="what follows compiles programs",
    ),
    Pass(
        "forms", "compiler.forms.fastest",
        "Schedules a few forms where all extents are hinted, and takes the fastest.",
        needs="terms of every form",
        gives="a form that is predicted to be no slower than the cheapest",
        within="chosen program",
    ),
    # --- the system of equations
    Pass(
        "equations", "codegen.lowering.lower.lower",
        "Writes the program as recurrence equations; movement becomes indices of loads.",
        needs="a program without reads of its own future",
        gives="each statement has one value for each point and element",
        necessary="loops compute equations",
    ),
    Pass(
        "limits of words", "codegen.lowering.prove_bounds.require_limits",
        "Refuses index expressions that 64 bits may not hold.",
        needs="equations",
        gives="no index overflows",
        necessary="an index that overflows reads elsewhere",
    ),
    Pass(
        "bounds", "codegen.lowering.prove_bounds.prove_bounds",
        "Proves that loads stay inside their tensors.",
        needs="equations",
        gives="a load is inside its tensor, or is clamped and nobody demands it",
        necessary="a load outside of its tensor is undefined",
    ),
    Pass(
        "padded outputs", "codegen.systems.prepare.pad_outputs",
        "Gives outputs whose shape follows the point a copy with zeros outside.",
        needs="equations",
        gives="every output is a box",
        necessary="the arrays of a user are boxes",
    ),
    Pass(
        "whole operands", "codegen.systems.axes.whole_operands",
        "Copies rows that sorting and searching could not read where they lie.",
        needs="equations",
        gives="what is read at any place lies in memory, by strides",
        necessary="such functions take addresses",
    ),
    Pass(
        "tiles of rows", "codegen.systems.tiled_rows.long_rows",
        "Makes a dimension of axes that are long, or are much work, so that they run in tiles.",
        needs="equations that may add in another order",
        gives="arguments and results lie as before",
    ),
    Pass(
        "tiles", "codegen.systems.tile.tile",
        "Cuts vectorised dimensions into tiles: a parallel loop, and an axis inside.",
        needs="equations with dimensions as lanes",
        gives="every dimension has a span, and loops over tiles may run in parallel",
        necessary="a vectorised dimension is computed in tiles",
    ),
    # --- the schedule
    Pass(
        "normal form", "codegen.systems.prepare.prepare",
        "Turns conditions on axes into choices, and products of other values into folds.",
        needs="tiled statements",
        gives="conditions of clauses select whole nests, and a product has two loads",
        necessary="later passes expect this form",
    ),
    Pass(
        "choices in tiny axes", "codegen.systems.prepare.select_tiny",
        "Turns computed positions in tiny axes into choices between their elements.",
        needs="statements",
        gives="such axes need no memory",
        within="normal form",
    ),
    Pass(
        "layout", "codegen.systems.layout.lay_out",
        "Orders axes so that the innermost one fills vectors.",
        needs="statements in normal form",
        gives="arguments and results lie as before",
    ),
    Pass(
        "partial folds", "codegen.systems.partial_folds.split_folds",
        "Folds tiles and lanes by themselves, then what they give in a fixed order.",
        needs="statements in normal form",
        gives="no fold runs across a parallel loop, and the number of workers changes no bit",
        necessary="tiles run in parallel",
    ),
    Pass(
        "folds of matrices", "codegen.systems.partial_folds.split_folds",
        "Folds a matrix by columns and slices of rows, of which several run at once.",
        needs="whole vectors in a row",
        gives="a fixed order of additions",
        within="partial folds",
    ),
    Pass(
        "products", "codegen.systems.matmul_form.find_products",
        "Gives matrix products rows, columns and a form; what has none becomes a fold.",
        needs="statements in their layout",
        gives="the operands of a product lie by strides",
    ),
    Pass(
        "transposed copies", "codegen.systems.matmul_form.find_products",
        "Copies an operand whose columns lie apart.",
        needs="an operand that is read as it is",
        gives="the columns of the copy are neighbours",
        within="products",
    ),
    Pass(
        "masked sums", "codegen.systems.masked_sums.masked_sums",
        "Lets a product of masked factors take the factors and the mask.",
        needs="products",
        gives="terms under a false mask are left out",
    ),
    Pass(
        "epilogues", "codegen.scheduling.epilogues.join_epilogues",
        "Computes elementwise statements on a product's registers, before it is stored.",
        needs="products",
        gives="a joined statement is needed for none of its product's operands",
    ),
    Pass(
        "dependences", "codegen.scheduling.deps.dependences",
        "Finds which unit reads what, how many steps apart.",
        needs="units: statements that are computed together",
        gives="every read is a dependence",
        necessary="an order respects dependences",
    ),
    Pass(
        "renamed dimensions", "codegen.systems.delay.untwin",
        "Where there is no order: takes one index for one dimension, and begins again at layout.",
        needs="a component without an order",
        gives="equal equations",
        necessary="some programs have an order only so",
    ),
    Pass(
        "delayed values", "codegen.systems.delay.delay",
        "Where there is no order: computes values at the steps that read them.",
        needs="a component without an order",
        gives="equal equations",
        necessary="some programs have an order only so",
    ),
    Pass(
        "cases apart", "codegen.systems.split.split_cases",
        "Where there is no order: makes tensors of their own of a tensor's cases.",
        needs="a component without an order",
        gives="equal equations",
        necessary="some programs have an order only so",
    ),
    Pass(
        "demanded points", "codegen.scheduling.demanded_points.computed_where_read",
        "Where there is no order: computes values only at the points that are read.",
        needs="a component without an order",
        gives="equal equations at all points that are read",
        necessary="some programs have an order only so",
    ),
    Pass(
        "loops", "codegen.scheduling.regions.Scheduler",
        "Chooses the loop of every component, and which components share one.",
        needs="dependences",
        gives="every dependence goes forward, and none crosses a parallel loop",
        necessary="code runs in loops",
    ),
    Pass(
        "late updates", "codegen.memory.coalesce.updates_last",
        "Moves what a later step begins with to the end of its nest.",
        needs="trees of loops",
        gives="dependences are respected",
    ),
    Pass(
        "names of axes", "codegen.scheduling.align.aligned",
        "Names the axes of statements as the loops of their nest.",
        needs="trees of loops",
        gives="one name for one loop",
        necessary="code has one index for one loop",
    ),
    Pass(
        "value numbering", "codegen.systems.value_numbering.same_in_loops",
        "Computes equal statements of one loop once, and schedules the others again.",
        needs="trees of loops",
        gives="what is left out equals what stays, at every point",
    ),
    Pass(
        "hoisted steps", "codegen.scheduling.hoist.spread",
        "Moves work out of the loop over a tile's steps where tiles are few, and schedules again.",
        needs="trees of loops",
        gives="what leaves the loop is waited for by no step in it",
    ),
    Pass(
        "proof of order", "codegen.scheduling.legality.check_schedule",
        "Proves that the order respects every dependence.",
        needs="trees of loops and dependences",
        gives="every value is computed before it is read",
        necessary="a wrong order gives wrong results",
    ),
    # --- memory
    Pass(
        "storage", "codegen.memory.storage.place_tensors",
        "Keeps as many points of a value as its readers look back.",
        needs="trees of loops and dependences",
        gives="a register, a place of each worker, or one in the arena",
        necessary="code stores values somewhere",
    ),
    Pass(
        "fills", "codegen.systems.partial_folds.with_fills",
        "Sets sums in memory to their unit before the loop that adds to them.",
        needs="trees of loops",
        gives="every sum has a beginning",
        necessary="sums are added to what is there",
    ),
    Pass(
        "fewer slots", "codegen.memory.reuse.tightened",
        "Keeps fewer points where a proof allows, such as the last epoch of a parameter.",
        needs="storage",
        gives="no slot is written again while it is needed",
    ),
    Pass(
        "proof of storage", "codegen.memory.reuse.check_storage",
        "Proves that no value is overwritten before its last read.",
        needs="storage and dependences",
        gives="every read finds its value",
        necessary="a lost value gives wrong results",
    ),
    Pass(
        "shared places", "codegen.memory.coalesce.coalesced",
        "Lets a copy and what it copies share one place, where a proof allows.",
        needs="storage that is proved",
        gives="a copy inside one place writes nothing",
    ),
    Pass(
        "scratch", "codegen.memory.storage.scratches",
        "Adds the memory that leaves need beside their tensors.",
        needs="trees of loops",
        gives="each worker has its own",
        necessary="sorting needs a second row",
    ),
    # --- the plan
    Pass(
        "guards", "codegen.masks.guards.guards",
        "Finds the points at which a value is needed; others are not computed.",
        needs="the conditions of reads",
        gives="a value is computed wherever some reader may ask for it",
    ),
    Pass(
        "kernels", "codegen.planning.kernel_partition.drive",
        "Cuts the trees into kernels under a driver, with barriers.",
        needs="trees of loops and storage",
        gives="a barrier stands between calls that conflict",
        necessary="workers call kernels",
    ),
    Pass(
        "slices", "codegen.planning.slices.Slicer",
        "Lets every worker do its part of work on arrays between tiles.",
        needs="trees of loops and storage",
        gives="no element depends on who computes it",
        within="kernels",
    ),
    Pass(
        "early exits", "codegen.masks.early_exits.early_ends",
        "Ends loops over steps where nothing lives any more.",
        needs="masks that never turn true again",
        gives="what is left out is nothing",
    ),
    Pass(
        "lifetimes", "codegen.planning.liveness.lifetimes",
        "Finds when memory is in use, so that values in use at other times may share it.",
        needs="kernels and barriers",
        gives="no two values in use together share memory",
    ),
    Pass(
        "dead rows", "codegen.masks.dead_rows.dead_rows",
        "Lets products pass over rows of episodes that have ended.",
        needs="loops that end early",
        gives="no living row changes a bit",
    ),
    Pass(
        "first products", "codegen.masks.first_products.beginnings",
        "Lets the first product of a loop store what the others add to.",
        needs="sums that are set right before a loop",
        gives="the same sums without zeros before",
    ),
    Pass(
        "plan", "codegen.planning.plan.plan", "Puts down all decisions as plain data.",
        needs="everything before",
        gives="emission, cost and certificates need nothing else",
        necessary="code is emitted from it",
    ),
    Pass(
        "computing again", "codegen.planning.rematerialise.again",
        "Under a limit of memory: computes values again, or keeps 16 bits, and plans again.",
        needs="a plan that takes too much",
        gives="values that are computed again are the same",
    ),
    Pass(
        "late readers", "codegen.planning.retimed.retimed",
        "Under a limit of memory: runs what looks ahead later, in the loop of what it reads.",
        needs="a plan that takes too much",
        gives="all but a loop of a few steps reads steps that are over",
    ),
    Pass(
        "segments", "codegen.planning.segments.in_segments",
        "Under a limit of memory: keeps the starts of segments of a loop, and plans again.",
        needs="a plan that takes too much, whatever else is computed again",
        gives="later loops compute the steps of a segment again, with the same values",
    ),
    # --- code
    Pass(
        "loop IR", "codegen.emit.generated_module.functions",
        "Writes every kernel, and the driver, as a function of the loop IR.",
        needs="a plan",
        gives="functions that mean the plan",
        necessary="machine code is made of it",
    ),
    Pass(
        "work of one worker", "codegen.emit.driver.pieces",
        "Lets one worker do all between some barriers where extents leave little to do.",
        needs="work that gives the same whoever does it",
        gives="the same results",
        within="loop IR",
    ),
    Pass(
        "padding of tiles", "codegen.emit.nest.extent",
        "Computes whole vectors of slots in the last tile where that is harmless.",
        needs="tensors with slots beyond their rows",
        gives="rows have the values that they had",
        within="loop IR",
    ),
    Pass(
        "squares", "codegen.memory.transposed.transposed_copies",
        "Transposes matrices by squares that go through registers.",
        needs="a nest that only transposes",
        gives="the same copies",
        within="loop IR",
    ),
    Pass(
        "LLVM", "codegen.emit.generated_module.units",
        "Writes each function as a unit of LLVM, which becomes an object file.",
        needs="functions of the loop IR",
        gives="machine code is found by the digest of its unit",
        necessary="the processor runs machine code",
    ),
    Pass(
        "LLVM passes", "runtime.build.optimise.optimised",
        "Optimises machine code of a CPU; left out, it is made in a tenth of the time.",
        needs="units of LLVM",
        gives="units that compute the same, with vectors and unrolled loops",
        within="LLVM",
    ),
)  # fmt: skip


def every_pass() -> tuple[Pass, ...]:
    """The passes that a program added, and the list."""
    return (*(record for record, _ in ADDED.values()), *PASSES)
