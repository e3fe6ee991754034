"""A game of two players as an environment of one: somebody else moves in between."""

from __future__ import annotations

from collections.abc import Callable

from ostinato.language import random
from ostinato.language.functions.basic import where, zeros
from ostinato.language.record import Record
from ostinato.language.recurrent import Over
from ostinato.language.tensor import Tensor
from ostinato.nn.module import Module
from ostinato.pdg.errors import ArgumentError
from ostinato.provenance.place import place
from ostinato.rl.acting import Remembers, chosen
from ostinato.rl.distributions.discrete import Categorical, only_legal
from ostinato.rl.distributions.distribution import Distribution
from ostinato.rl.environments.environment import Discrete, Env, LimitsActions, takes_turns
from ostinato.rl.environments.wrapper import Wrapper
from ostinato.rl.rollout import seen


class Against(Wrapper[Discrete]):
    """One player of a game of two, whose opponent moves in the same step.

    ``opponent`` gives an action, or a distribution of which it draws one, for what it sees; without
    one it makes any legal move. Who begins is drawn. The reward is what the agent gets, less what
    the opponent gets.

    Errors: ArgumentError for a game of one player, and for an opponent with a memory.

    >>> import ostinato as ot
    >>> from ostinato import rl
    >>> b, i, t = ot.dims("b i t")
    >>> env = rl.Against(rl.TicTacToe())
    >>> games = rl.rollout(env, lambda seen: env.any_move(seen).sample(), (b, i, t))
    >>> found = ot.Program(**rl.finished(games)).compile()(B=200, I=1, T=50)
    >>> bool(abs(found["episode_return"][0]) < 0.1)
    True
    """

    def __init__(
        self,
        env: Env[Discrete],
        opponent: Module | Callable[[Tensor], Distribution | Tensor] | None = None,
    ) -> None:
        super().__init__(env)
        if not takes_turns(env) or not isinstance(env, LimitsActions):
            fact = f"an opponent in `{type(env).__name__}`, which one plays alone"
            raise ArgumentError(fact, "Give a game of two, such as rl.TicTacToe().", place())
        if isinstance(opponent, Remembers):
            fact = "an opponent with a memory, for which a game has no place"
            raise ArgumentError(fact, "Give one that decides by what it sees.", place())
        self.takes_turns = False
        self.legal = env.legal
        self._opponent = self.any_move if opponent is None else opponent

    def any_move(self, observation: Tensor) -> Categorical:
        """Return equal probabilities of all legal actions."""
        return Categorical(only_legal(zeros(self.actions.count), self.legal(observation)))

    def begun(self, first: Record, over: Over) -> Record:
        """Return first states, in half of which the opponent has moved."""
        after, *_ = self.env.step(first, self._reply(first))
        return where(random.bernoulli(0.5, over=over), after, first)

    def step(self, state: Record, action: Tensor) -> tuple[Record, Tensor, Tensor, Tensor]:
        """Return the state after both have moved, and what that brought."""
        after, mine, *ends = self.env.step(state, action)
        terminated, truncated = ends
        goes_on = ~(terminated | truncated)
        replied, theirs, *later = self.env.step(after, self._reply(after))
        reward = mine - where(goes_on, theirs, 0.0)
        ends = [now | (goes_on & then) for now, then in zip(ends, later, strict=True)]
        return where(goes_on, replied, after), reward, ends[0], ends[1]

    def _reply(self, state: Record) -> Tensor:
        return chosen(self._opponent, seen(self.env, state), Record(), greedy=False)[0]
