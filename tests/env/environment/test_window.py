"""``render_mode="human"``: a window, or the name of what it needs."""

import warnings
from typing import Any

import gymnasium
import pytest

import dagsched_env
from dagsched_env.environment import window
from dagsched_env.environment.env import DAGSchedEnv
from dagsched_env.problem.errors import MissingExtraError

PAIR = dagsched_env.Instance([[2, 4], [3, 1]], [(0, 1)], [1])


def make(**arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("DAGSched-v0", instances=PAIR, **arguments)


@pytest.mark.parametrize("missing", ["pygame", "matplotlib"])
def test_human_rendering_names_its_extra_at_once(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "find_spec", lambda name: None if name == missing else name)
    with pytest.raises(MissingExtraError, match=f"'{missing}'.*pip install 'aerl-ds.human.'"):
        make(render_mode="human")


def test_human_rendering_shows_what_rgb_array_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setenv("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pygame, about pkg_resources
        pygame = pytest.importorskip("pygame")
    env = make(render_mode="human")
    env.reset(seed=0)
    env.step(0)
    drawn = DAGSchedEnv(PAIR, render_mode="rgb_array")
    drawn.reset(seed=0)
    drawn.step(0)
    frame = drawn.render()
    assert frame is not None
    shown = pygame.surfarray.array3d(pygame.display.get_surface()).transpose(1, 0, 2)
    assert (shown == frame).all()
    env.close()


def test_other_modes_are_as_without_a_window() -> None:
    assert isinstance(make().unwrapped, DAGSchedEnv)
    env = make(render_mode="rgb_array_list")
    env.reset(seed=0)
    env.step(0)
    frames: Any = env.render()
    assert len(frames) == 2
    assert window.make.metadata["render_modes"] == ["human", "rgb_array"]
    assert DAGSchedEnv.metadata["render_modes"] == ["rgb_array"]
