"""The section of the curriculum: its levels, and the rule of promotion."""

from dataclasses import dataclass

from aerl_trainer.config.checks import all_fit, fits, require
from aerl_trainer.config.mixture import MIXTURE, MIXTURE_SMALL


@dataclass(frozen=True)
class LevelConfig:
    """One level of the curriculum: what to draw, and when it is mastered.

    A level draws Topcuoglu graphs, which ``tasks``, ``processors`` and ``ccr`` describe, or the
    problems that ``instances`` names; then the other three are not used and may be left out.
    """

    tasks: tuple[int, int] | tuple[()] = ()
    """Range of the number of tasks."""
    processors: tuple[int, ...] = ()
    """Numbers of processors to draw from."""
    ccr: tuple[float, ...] = ()
    """Ratios of mean communication to mean computation to draw from."""
    threshold: float = 0.0
    """Mastered when the policy's mean makespan / HEFT's is below this; always to be given."""
    instances: tuple[str, ...] = ()
    """SPECs of the problems, as ``dagsched_env.sources`` resolves them; one is drawn uniformly."""
    validate: tuple[str, ...] = ()
    """SPECs of the validation set; without any it is split off."""

    def __post_init__(self) -> None:
        for name in ("instances", "validate"):
            require(
                all_fit(getattr(self, name), ""),
                f"curriculum.levels: {name} needs a list of texts",
            )
        if not self.instances:
            self._require_graphs()
        require(
            fits(self.threshold, 0.0) and self.threshold > 0,
            "curriculum.levels: threshold must be a positive number",
        )

    @property
    def has_specs(self) -> bool:
        """Whether SPECs say what its problems are, or those of its validation."""
        return bool(self.instances or self.validate)

    def _require_graphs(self) -> None:
        require(
            all_fit(self.tasks, 0) and len(self.tasks) == 2 and 1 <= self.tasks[0] <= self.tasks[1],
            "curriculum.levels: tasks needs two whole numbers, 1 <= low <= high",
        )
        require(
            all_fit(self.processors, 0) and min(self.processors, default=0) >= 1,
            "curriculum.levels: processors needs counts of at least 1",
        )
        require(
            all_fit(self.ccr, 0.0) and min(self.ccr, default=-1) >= 0,
            "curriculum.levels: ccr needs ratios that are not negative",
        )


DEFAULT_LEVELS = (
    LevelConfig(threshold=0.95, instances=MIXTURE_SMALL),
    LevelConfig(threshold=0.01, instances=MIXTURE),
)


@dataclass(frozen=True)
class CurriculumConfig:
    """Levels and the rule of promotion."""

    levels: tuple[LevelConfig, ...] = DEFAULT_LEVELS
    """In order, one table each; by default families of small graphs, and then of larger ones."""
    window: int = 3
    """Validations that the history must hold before a promotion."""
    max_variance: float = 0.001
    """Variance of those validations must stay below this."""

    def __post_init__(self) -> None:
        require(len(self.levels) >= 1, "curriculum.levels needs at least one level")
        require(self.window >= 2, "curriculum.window must be at least 2")
        require(self.max_variance > 0, "curriculum.max_variance must be positive")
