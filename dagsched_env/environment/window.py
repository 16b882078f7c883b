"""``DAGSched-v0`` as ``gymnasium.make`` makes it: in a window where ``render_mode="human"``."""

from importlib.util import find_spec
from typing import Any

import gymnasium
from gymnasium.wrappers import HumanRendering

from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.problem.errors import MissingExtraError

NEEDED = ("pygame", "matplotlib")


class MakeDAGSchedEnv:
    """Makes the environment; its ``metadata`` says which modes there are."""

    metadata: dict[str, Any] = DAGSchedEnv.metadata | {
        "render_modes": ["human", *DAGSchedEnv.metadata["render_modes"]]
    }

    def __call__(
        self, *arguments: Any, render_mode: str | None = None, **named: Any
    ) -> gymnasium.Env[Any, Any]:
        """A ``DAGSchedEnv``; where ``render_mode`` is ``"human"``, in a window.

        Arguments and errors are those of ``DAGSchedEnv``, and a ``MissingExtraError`` where the
        window needs a package that is not installed.
        """
        if render_mode != "human":
            return DAGSchedEnv(*arguments, render_mode=render_mode, **named)
        for package in NEEDED:
            if find_spec(package) is None:
                raise MissingExtraError(package, "human")
        return HumanRendering(DAGSchedEnv(*arguments, render_mode="rgb_array", **named))


make = MakeDAGSchedEnv()
