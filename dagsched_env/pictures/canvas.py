"""Common parts of all matplotlib pictures: colours, an empty figure, text, writing a file."""

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from dagsched_env.io.atomic import write_bytes
from dagsched_env.pictures.labels import UNPRINTABLE, elide, printable
from dagsched_env.problem.errors import DAGSchedError, MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SUFFIXES = (".png", ".svg", ".pdf")
SCREEN_DPI, FILE_DPI = 100, 200
WIDTH_INCHES = 10.0
INK, QUIET, PAPER = "#1f2430", "#6b7280", "#ffffff"
LANE, GRID, ACCENT = "#f4f5f7", "#dfe2e7", "#c8102e"


def require_matplotlib() -> None:
    """Raise MissingExtraError where matplotlib is not installed."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MissingExtraError("matplotlib", "plot") from None


def new_figure(height: float) -> "Figure":
    """An empty figure of the given height in inches, without touching pyplot's global state.

    Raises:
        MissingExtraError: matplotlib is not installed.
    """
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH_INCHES, height), dpi=SCREEN_DPI, facecolor=PAPER)
    figure.set_layout_engine("constrained", w_pad=0.12, h_pad=0.1)
    FigureCanvasAgg(figure)
    return figure


def drawable(text: str, length: int) -> str:
    """The text in at most ``length`` letters of the font, which fall back to one that it has.

    matplotlib still reads formulas between dollar signs: give it ``parse_math=False`` as well.
    """
    from matplotlib.font_manager import FontProperties, findfont, get_font

    font = get_font(findfont(FontProperties()))
    return "".join(
        c if font.get_char_index(ord(c)) else UNPRINTABLE for c in printable(elide(text, length))
    )


def dress(axes: "Axes", title: str) -> None:
    """Numbers, grid and title in the style of all pictures; no frame."""
    axes.tick_params(length=0, labelsize=9, labelcolor=INK)
    axes.grid(axis="x", color=GRID, linewidth=0.8, zorder=0.5)
    axes.set_axisbelow(True)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(title, loc="left", color=INK, fontsize=11, fontweight="bold", parse_math=False)


def text_width(text: str, points: float) -> float:
    """Width of a text without formulas in the default font, in points."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    width, _, _ = text_to_path.get_text_width_height_descent(
        text, FontProperties(size=points), ismath=False
    )
    return float(width)


def save_figure(draw: Callable[[], "Figure"], path: str | Path) -> Path:
    """Write the figure of ``draw`` as PNG, SVG or PDF, by the suffix.

    The file appears whole or not at all.

    Raises:
        DAGSchedError: an unknown suffix; nothing is drawn then.
        OSError: the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DAGSchedError(f"{path}: the suffix is {suffix!r}, not one of {', '.join(SUFFIXES)}")
    picture = BytesIO()
    draw().savefig(picture, format=suffix[1:], dpi=FILE_DPI)
    write_bytes(path, picture.getvalue())
    return path
