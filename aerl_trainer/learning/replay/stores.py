"""What a buffer keeps in its slots: Python objects, or rows of numpy columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from aerl_trainer.learning.replay.arrays import Arrays, read
from dagsched_env.kernels.arrays import Ints
from dagsched_env.kernels.jit import kernel
from dagsched_env.problem.errors import DAGSchedError, FormatError

Item = TypeVar("Item")
One = TypeVar("One", contravariant=True)
Many = TypeVar("Many")
Content = TypeVar("Content", covariant=True)

Rows = Mapping[str, npt.ArrayLike]

WORD = 8
"""Bytes that are copied at once."""


class Store(Protocol[One, Many, Content]):
    """What a buffer needs of its contents. The first slots fill in order."""

    def __len__(self) -> int:
        """Slots that hold something."""

    def put(self, slot: int, item: One) -> None:
        """Keep one item in a slot, in place of what was there."""

    def checked(self, items: Many) -> tuple[int, Many]:
        """How many items these are, and they as ``put_many`` takes them; raises DAGSchedError."""

    def put_many(self, slots: Ints, items: Many) -> None:
        """Keep items that ``checked`` has returned, in different slots."""

    def take(self, slots: Ints) -> Content:
        """The contents of the slots, in their order."""

    def state_arrays(self) -> Arrays:
        """The contents as plain arrays."""

    def restored(self, arrays: Arrays) -> "Store[One, Many, Content]":
        """A store like this one with the contents of these arrays; raises FormatError."""


class ItemStore(Generic[Item]):
    """Any Python objects.

    Args:
        pack: turns the items into plain arrays; without it they cannot be saved.
        unpack: the inverse; raises FormatError where the arrays are not sound.
    """

    def __init__(
        self,
        pack: Callable[[Sequence[Item]], Arrays] | None = None,
        unpack: Callable[[Arrays], list[Item]] | None = None,
    ) -> None:
        self._pack, self._unpack = pack, unpack
        self._items: list[Item] = []

    def __len__(self) -> int:
        return len(self._items)

    def put(self, slot: int, item: Item) -> None:
        """Keep one item."""
        if slot == len(self._items):
            self._items.append(item)
        else:
            self._items[slot] = item

    def checked(self, items: Sequence[Item]) -> tuple[int, Sequence[Item]]:
        """How many items these are, and they."""
        return len(items), items

    def put_many(self, slots: Ints, items: Sequence[Item]) -> None:
        """Keep several items."""
        for slot, item in zip(slots.tolist(), items, strict=True):
            self.put(slot, item)

    def take(self, slots: Ints) -> tuple[Item, ...]:
        """The items in the slots."""
        items = self._items
        return tuple(items[slot] for slot in slots.tolist())

    def state_arrays(self) -> Arrays:
        """What ``pack`` makes of the items; raises DAGSchedError without it."""
        if self._pack is None:
            raise DAGSchedError("the items cannot be saved: give ItemStore a pack and an unpack")
        return self._pack(self._items)

    def restored(self, arrays: Arrays) -> "ItemStore[Item]":
        """A store with the items that ``unpack`` reads; raises DAGSchedError without it."""
        if self._unpack is None:
            raise DAGSchedError("the items cannot be read: give ItemStore a pack and an unpack")
        store = ItemStore(self._pack, self._unpack)
        store._items = self._unpack(arrays)
        return store


class RowStore:
    """Rows of numpy columns; the columns of a row lie side by side, so it is copied in one piece.

    Args:
        capacity: number of rows.
        columns: per name the shape of one entry, () for a number, and its type.
    """

    def __init__(
        self, capacity: int, columns: Mapping[str, tuple[tuple[int, ...], npt.DTypeLike]]
    ) -> None:
        if not columns:
            raise DAGSchedError("a RowStore needs at least one column")
        self.specs = {
            name: (tuple(shape), np.dtype(kind)) for name, (shape, kind) in columns.items()
        }
        for name, (_, kind) in self.specs.items():
            if kind.hasobject:
                raise DAGSchedError(f"column {name!r} is of type {kind}: need plain numbers")
        self.capacity = capacity
        self._type = _row_type(self.specs)
        self._words = np.zeros((capacity, self._type.itemsize // WORD), dtype=np.int64)
        self._columns = _columns(self._words, self._type)  # views
        self._draft = np.zeros((1, self._words.shape[1]), dtype=np.int64)  # a row until it is whole
        self._draft_columns = _columns(self._draft, self._type)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def put(self, slot: int, item: Rows) -> None:
        """Keep one row; entries are converted as numpy's assignment does.

        Raises:
            DAGSchedError: other columns than the store's, or an entry that does not fit; then
                nothing is stored.
        """
        self._check_names(item)
        for name, column in self._draft_columns.items():
            try:
                column[0] = item[name]
            except (ValueError, TypeError) as error:
                raise DAGSchedError(f"column {name!r}: {error}") from None
        self._words[slot] = self._draft[0]
        self._count = max(self._count, slot + 1)

    def checked(self, items: Rows) -> tuple[int, Rows]:
        """Number of rows of ``[k, *shape]`` arrays, and they in the types of the columns.

        Raises:
            DAGSchedError: other columns than the store's, or entries that do not fit.
        """
        self._check_names(items)
        rows = {name: _converted(name, items[name], kind) for name, (_, kind) in self.specs.items()}
        count = len(next(iter(rows.values())))
        for name, (shape, _) in self.specs.items():
            if rows[name].shape != (count, *shape):
                given = list(rows[name].shape)
                raise DAGSchedError(f"column {name!r} is {given}, expected {[count, *shape]}")
        return count, rows

    def put_many(self, slots: Ints, items: Rows) -> None:
        """Keep rows."""
        for name, column in self._columns.items():
            column[slots] = items[name]
        self._count = max(self._count, int(slots.max(initial=-1)) + 1)

    def take(self, slots: Ints) -> Arrays:
        """``[k, *shape]`` per column: views of one new array of rows."""
        return _columns(gather(self._words, slots), self._type)

    def state_arrays(self) -> Arrays:
        """``row_<name>``: the column's entries in all slots in use."""
        return {f"row_{name}": c[: self._count].copy() for name, c in self._columns.items()}

    def restored(self, arrays: Arrays) -> "RowStore":
        """A store with the rows of these arrays.

        Raises:
            FormatError: a column is missing or does not fit.
        """
        store = RowStore(self.capacity, self.specs)
        count = -1  # any, for the first column
        for name, (shape, kind) in self.specs.items():
            column = read(arrays, f"row_{name}", kind, (count, *shape))
            count = column.shape[0]
            if count > self.capacity:
                raise FormatError(f"replay: {count} rows do not fit into {self.capacity} slots")
            store._columns[name][:count] = column
        store._count = count
        return store

    def _check_names(self, given: Mapping[str, object]) -> None:
        if given.keys() != self._columns.keys():
            raise DAGSchedError(f"columns are {sorted(given)}, expected {sorted(self._columns)}")


def _converted(name: str, entries: npt.ArrayLike, kind: np.dtype[Any]) -> npt.NDArray[Any]:
    try:
        array = np.asarray(entries, dtype=kind)
    except (ValueError, TypeError) as error:
        raise DAGSchedError(f"column {name!r}: {error}") from None
    if array.ndim == 0:
        raise DAGSchedError(f"column {name!r} is a number, expected one for each row")
    return array


def _row_type(specs: Mapping[str, tuple[tuple[int, ...], np.dtype[Any]]]) -> np.dtype[Any]:
    """A structure of all columns, each aligned, of a whole number of words."""
    aligned = np.dtype([(name, kind, shape) for name, (shape, kind) in specs.items()], align=True)
    offsets = [field[1] for field in (aligned.fields or {}).values()]
    layout: Any = {
        "names": list(specs),
        "formats": [(kind, shape) for shape, kind in specs.values()],
        "offsets": offsets,
        "itemsize": max(1, -(-aligned.itemsize // WORD)) * WORD,
    }
    row_type: np.dtype[Any] = np.dtype(layout)
    return row_type


def _columns(words: npt.NDArray[np.int64], row_type: np.dtype[Any]) -> dict[str, npt.NDArray[Any]]:
    """Views of rows of words, by name."""
    rows = words.view(row_type)[:, 0]
    return {name: rows[name] for name in row_type.names or ()}


@kernel
def gather(words: Ints, slots: Ints) -> Ints:
    """Copies of the rows ``words[slots[k]]``."""
    rows = np.empty((slots.shape[0], words.shape[1]), dtype=np.int64)
    for k in range(slots.shape[0]):
        for j in range(words.shape[1]):
            rows[k, j] = words[slots[k], j]
    return rows
