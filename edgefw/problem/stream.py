"""Which samples an agent sees in which round.

An agent's stream is its shard in a shuffled order, then again in another order, and so on without end, cut
into batches of b: round t gets places (t-1) b .. t b - 1. Nothing is remembered from one round to the next:
an agent that restarts, an observer and a simulator all read the same batches, in any order of rounds.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from edgefw.errors import InputError
from edgefw.problem.seeding import rng

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

# A round touches two epochs at most; the spare ones serve feedback that is delayed by an epoch or so.
_EPOCHS_KEPT = 4


class Stream:
    """The batches of one agent: `shard` holds its sample indices, shape (size,), each once.

    `in_order` reads the samples by index, every epoch: for data that drift, whose order is their time.
    """

    def __init__(
        self, shard: NDArray[np.int64], batch: int, seed: int, agent: int, *, in_order: bool = False
    ) -> None:
        if batch < 1:
            raise InputError(f"batch {batch} is too small: use at least 1 sample a round")
        if batch > len(shard):
            raise InputError(
                f"batch {batch} is larger than agent {agent}'s shard of {len(shard)} samples: "
                "lower problem.batch or network.agents, or use a larger data set"
            )
        self.shard = np.array(shard, dtype=np.int64)
        self.batch = batch
        self.agent = agent
        self._seed = seed
        self._in_order = in_order
        self._orders: OrderedDict[int, NDArray[np.int64]] = OrderedDict()

    def indices(self, t: int) -> NDArray[np.int64]:
        """Return the sample indices of round t = 1, 2, ..., shape (b,), read-only.

        >>> stream = Stream(np.array([10, 11, 12]), batch=2, seed=0, agent=0)
        >>> sorted(int(i) for t in (1, 2, 3) for i in stream.indices(t))
        [10, 10, 11, 11, 12, 12]
        """
        if t < 1:
            raise InputError(f"there is no round {t}: rounds are counted from 1")
        epoch, start = divmod((t - 1) * self.batch, len(self.shard))
        head = self._order(epoch)[start : start + self.batch]
        if len(head) == self.batch:
            return head
        both = np.concatenate([head, self._order(epoch + 1)[: self.batch - len(head)]])
        both.flags.writeable = False
        return both

    def counts(self, rounds: int) -> NDArray[np.int64]:
        """Return how often each sample of the shard is seen in rounds 1..rounds, shape (size,)."""
        epochs, rest = divmod(rounds * self.batch, len(self.shard))
        seen = np.full(len(self.shard), epochs, dtype=np.int64)
        seen[self._places(epochs)[:rest]] += 1
        return seen

    def _places(self, epoch: int) -> NDArray[np.int64]:
        """Return the epoch's order as places in the shard, shape (size,)."""
        if self._in_order:
            return np.argsort(self.shard)
        return rng(self._seed, "stream", self.agent, epoch).permutation(len(self.shard))

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Return the epoch's order as sample indices, shape (size,), from the few that are kept."""
        if epoch not in self._orders:
            order = self.shard[self._places(epoch)]
            order.flags.writeable = False  # callers get views of it
            self._orders[epoch] = order
            if len(self._orders) > _EPOCHS_KEPT:
                self._orders.popitem(last=False)
        self._orders.move_to_end(epoch)
        return self._orders[epoch]


def played(streams: Sequence[Stream], rounds: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the distinct samples seen by all streams in rounds 1..rounds, and how often: both of shape (S,).

    With n streams of one batch size b, the loss summed over rounds is
    sum_t F_t(x) = sum over samples of weight * loss(x; sample) / (n b). Hence the batch sizes must agree.
    """
    if rounds < 0:
        raise InputError(f"cannot play {rounds} rounds: use 0 or more")
    if len({stream.batch for stream in streams}) > 1:
        raise InputError(
            "the streams have different batch sizes: samples would not weigh the same in the loss"
        )
    if not streams:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    index, place = np.unique(np.concatenate([stream.shard for stream in streams]), return_inverse=True)
    weight = np.zeros(len(index), dtype=np.int64)
    np.add.at(weight, place, np.concatenate([stream.counts(rounds) for stream in streams]))
    return index[weight > 0], weight[weight > 0]
