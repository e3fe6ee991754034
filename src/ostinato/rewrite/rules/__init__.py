"""The rules of the compiler, one family per module."""

from ostinato.rewrite.rules.matmul import MATMUL
from ostinato.rewrite.rules.vectorize import VECTORIZE
from ostinato.rewrite.rules.view import VIEW

FAMILIES = (VECTORIZE, VIEW, MATMUL)
