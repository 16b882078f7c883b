"""Colours of tasks: by their kind where names tell it, else by their depth in the graph."""

from collections import Counter
from typing import NamedTuple

import numpy as np

from dagsched_env.kernels.arrays import Floats, Ints
from dagsched_env.kernels.graph.csr import depths
from dagsched_env.pictures.labels import short_labels
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.kinds import MAX_KINDS, task_kinds

OF_KINDS = (
    "#77aadd",
    "#ee8866",
    "#eedd88",
    "#ffaabb",
    "#99ddff",
    "#44bb99",
    "#bbcc33",
    "#aaaa00",
)
"""The light qualitative scheme of Tol, Colour Schemes, SRON/EPS/TN/09-002, 2021: made for labelled
cells, distinct with any colour vision."""
OF_OTHERS = "#c4c7cd"
GRADIENT = ((68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37))
"""Viridis at equal distances."""
SHADES = 64
BLACK, WHITE = "#000000", "#ffffff"
LEGEND_LENGTH = 30
"""Letters of a kind in a legend."""
NUMBERED = "number only"


class Colouring(NamedTuple):
    """A colour for each task."""

    means: str
    """What a colour stands for."""
    palette: tuple[str, ...]
    """Colours as ``#rrggbb``."""
    position: Ints
    """``[n]`` position of each task's colour in the palette."""
    legend: tuple[str, ...]
    """Label of each colour of the palette; empty where the colours are a gradient."""


def colour_tasks(instance: Instance) -> Colouring:
    """Colours of all tasks, the same for every schedule of the instance.

    The ``MAX_KINDS`` most frequent kinds have a colour each, in the order of their first tasks; the
    others share one.
    """
    kinds = task_kinds(instance.task_names)
    if kinds is not None:
        return _by_kind(kinds)
    g = instance.arrays
    depth = depths(g.pred_ptr, g.pred_task, g.topo)
    return _gradient("depth in the task graph", depth / max(int(depth.max()), 1))


def by_start(start: Floats) -> Colouring:
    """Colours of tasks without an instance: by their start times ``[n]``."""
    return _gradient("start time", start / (float(start.max(initial=0.0)) or 1.0))


def contrast(first: str, second: str) -> float:
    """Contrast ratio of two colours by WCAG 2, from 1 to 21; text needs 4.5."""
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def text_colour(background: str) -> str:
    """Black or white, whichever is easier to read; the contrast is at least 4.5."""
    return max((BLACK, WHITE), key=lambda colour: contrast(colour, background))


def _by_kind(kinds: tuple[str, ...]) -> Colouring:
    counts = Counter(kinds)
    # One kind more than colours: it takes the colour of the others by itself.
    shown = MAX_KINDS + (len(counts) == MAX_KINDS + 1)
    frequent = {kind for kind, _ in counts.most_common(shown)}
    places = {kind: i for i, kind in enumerate(kind for kind in counts if kind in frequent)}
    labels = list(short_labels([kind or NUMBERED for kind in places], LEGEND_LENGTH))
    if len(counts) > shown:
        labels.append(f"{len(counts) - shown} other kinds")
    return Colouring(
        means="kind of task",
        palette=(*OF_KINDS, OF_OTHERS)[: len(labels)],
        position=np.array([places.get(kind, MAX_KINDS) for kind in kinds], dtype=np.int64),
        legend=tuple(labels),
    )


def _gradient(means: str, share: Floats) -> Colouring:
    """Colours for shares in [0, 1], without the ends of the scale."""
    steps = np.linspace(0.12, 0.92, SHADES) * (len(GRADIENT) - 1)
    channels = [np.interp(steps, range(len(GRADIENT)), c) for c in np.array(GRADIENT).T]
    palette = tuple("#" + bytes(int(c) for c in rgb).hex() for rgb in zip(*channels, strict=True))
    position = np.rint(np.asarray(share) * (SHADES - 1)).astype(np.int64)
    return Colouring(means, palette, position, legend=())


def _luminance(colour: str) -> float:
    """Relative luminance of sRGB by WCAG 2, in [0, 1]."""
    channels = np.array(list(bytes.fromhex(colour[1:]))) / 255.0
    linear = np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))
