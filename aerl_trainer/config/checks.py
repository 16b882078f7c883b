"""What a section checks its values with."""

from dagsched_env.problem.errors import DAGSchedError


class ConfigError(DAGSchedError):
    """A setting is out of its range, of a wrong type or unknown; the message names it."""


def require(condition: bool, message: str) -> None:
    """Raise ConfigError unless a condition of a setting holds."""
    if not condition:
        raise ConfigError(message)


def fits(value: object, default: object) -> bool:
    """Whether a TOML value has the type of a field's default; whole numbers pass for floats."""
    if default is None:
        return True
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    if isinstance(default, tuple):
        return isinstance(value, list | tuple)
    return type(value) is type(default)


def all_fit(values: object, default: object) -> bool:
    """Whether ``values`` is a tuple of values that fit."""
    return isinstance(values, tuple) and all(fits(value, default) for value in values)
