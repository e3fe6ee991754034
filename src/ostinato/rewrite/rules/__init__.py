"""The rules of the compiler, one family per module or two."""

from ostinato.rewrite.rules.affine import AFFINE
from ostinato.rewrite.rules.algebra import ALGEBRA
from ostinato.rewrite.rules.batched_matmul import MATMUL
from ostinato.rewrite.rules.deviations import SPREAD
from ostinato.rewrite.rules.domain import DOMAIN
from ostinato.rewrite.rules.entropies import ENTROPIES
from ostinato.rewrite.rules.extreme_positions import PLACES
from ostinato.rewrite.rules.factors import FACTORS
from ostinato.rewrite.rules.fuse import FUSE
from ostinato.rewrite.rules.history import HISTORY
from ostinato.rewrite.rules.masks import MASKS
from ostinato.rewrite.rules.matrices import MATRICES
from ostinato.rewrite.rules.online import ONLINE
from ostinato.rewrite.rules.outer import OUTER
from ostinato.rewrite.rules.ranges import RANGES
from ostinato.rewrite.rules.single_elements import ELEMENTS
from ostinato.rewrite.rules.sliding import SLIDING
from ostinato.rewrite.rules.sums_of_products import CONTRACTION
from ostinato.rewrite.rules.tiles import TILES
from ostinato.rewrite.rules.vectorize import VECTORIZE
from ostinato.rewrite.rules.view import VIEW
from ostinato.rewrite.rules.weighted import WEIGHTED
from ostinato.rewrite.rules.weights import WEIGHTS

FAMILIES = (
    VECTORIZE,
    HISTORY,
    RANGES,
    ELEMENTS,
    PLACES,
    ONLINE,
    ENTROPIES,
    SLIDING,
    TILES,
    WEIGHTED,
    SPREAD,
    MATRICES,
    OUTER,
    WEIGHTS,
    MASKS,
    AFFINE,
    FACTORS,
    VIEW,
    MATMUL,
    CONTRACTION,
    FUSE,
    DOMAIN,
    ALGEBRA,
)
