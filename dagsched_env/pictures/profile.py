"""Performance profiles of schedulers, for an HTML page."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dagsched_env.kernels.arrays import Floats
from dagsched_env.pictures.labels import elide
from dagsched_env.pictures.page import plain

WIDTH, HEIGHT = 760.0, 320.0
LEFT, RIGHT, TOP, BOTTOM = 44.0, 12.0, 8.0, 38.0
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")
"""The bright qualitative scheme of Tol, Colour Schemes, SRON/EPS/TN/09-002, 2021."""
DASHES = {"solid": "none", "dashed": "7 4", "dotted": "2 3"}
"""Style in CSS → dashes in SVG; each with all colours."""
GREY = "#9a9da5"
NAME_LENGTH = 60
"""Letters of a name in the legend."""
LEAST_SPAN = 0.05
SHOWN = 0.9
"""The right end of the axis is this quantile of all ratios."""
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def profile_figure(ratios: Mapping[str, Sequence[float]], measure: str = "makespan") -> str:
    """Performance profiles (Dolan, Moré 2002) as an SVG element with a legend, best mean first.

    For each scheduler and each factor τ: the share of the instances on which its makespan is at
    most τ times the best one. Higher and further left is better.

    Args:
        ratios: scheduler → makespan / the best makespan, one per instance; infinite ones count as
            never reached.
        measure: what stands in place of makespans.
    """
    values = {name: np.sort(np.asarray(r, dtype=np.float64)) for name, r in ratios.items()}
    names = sorted(values, key=lambda name: float(values[name].mean()))
    every = np.concatenate([v[np.isfinite(v)] for v in values.values()])
    end = max(float(np.quantile(every, SHOWN)) if every.size else 1.0, 1.0 + LEAST_SPAN)
    lines = [
        f'<path d="{_steps(values[name], end)}" stroke="{colour}" '
        f'stroke-dasharray="{DASHES[style]}">'
        f"<title>{plain(elide(name, NAME_LENGTH))}</title></path>"
        for name, (colour, style) in zip(names, _styles(), strict=False)
    ]
    entries = [
        f'<li><i style="border-top: 3px {style} {colour}"></i>'
        f"{plain(elide(name, NAME_LENGTH))}</li>"
        for name, (colour, style) in zip(names, _styles(), strict=False)
    ]
    # The best lines are drawn last, on top of the others.
    return "\n".join(
        [
            '<div class="profile">',
            f'<svg viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" font-size="12" '
            'fill="currentColor" aria-label="Performance profiles">',
            *_axes(end, measure),
            '<g fill="none" stroke-width="2" stroke-linejoin="round">',
            *reversed(lines),
            "</g>\n</svg>",
            f'<ul class="legend">{"".join(entries)}</ul>\n</div>',
        ]
    )


def _styles() -> Iterator[tuple[str, str]]:
    """Colour and style of each line; grey once they are used up."""
    for style in DASHES:
        for colour in COLOURS:
            yield colour, style
    while True:
        yield GREY, "solid"


def _x(factor: float, end: float) -> float:
    return LEFT + (WIDTH - LEFT - RIGHT) * (factor - 1.0) / (end - 1.0)


def _y(share: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - BOTTOM - TOP) * share


def _steps(values: Floats, end: float) -> str:
    """The path of the sorted ratios of one scheduler."""
    reached = np.unique(values[values <= end])
    share = np.searchsorted(values, reached, side="right") / values.size
    path = f"M{LEFT:g} {_y(0.0):.1f}"
    for factor, height in zip(reached.tolist(), share.tolist(), strict=True):
        path += f"H{_x(max(factor, 1.0), end):.1f}V{_y(height):.1f}"
    return path + f"H{WIDTH - RIGHT:g}"


def _axes(end: float, measure: str) -> Iterator[str]:
    """Grid, numbers and what they mean."""
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    for percent in range(0, 101, 25):
        y = _y(percent / 100)
        yield _grid_line(f"M{LEFT:g} {y:.1f}H{right:g}")
        yield _text(LEFT - 6, y + 4, f"{percent} %", "end")
    rough = (end - 1.0) / 6
    power = 10.0 ** np.floor(np.log10(rough))
    step = power * next(s for s in STEPS if s * power >= 0.999 * rough)
    for k in range(int((end - 1.0) / step + 1e-9) + 1):
        x = _x(1.0 + k * step, end)
        yield _grid_line(f"M{x:.1f} {TOP:g}V{bottom:g}")
        yield _text(x, bottom + 16, f"{1 + k * step:.6g}", "middle")
    yield _text(right, HEIGHT - 6, f"{measure} / best", "end")


def _grid_line(path: str) -> str:
    return f'<path d="{path}" stroke="currentColor" opacity=".15"/>'


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text}</text>'
