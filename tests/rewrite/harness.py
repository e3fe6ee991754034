"""One rule alone on one instance, judged by the interpreter."""

from ostinato.rewrite.prove.instance_claims import WrongTerm, run, wrong_terms

__all__ = ["WrongTerm", "run", "wrong_terms"]
