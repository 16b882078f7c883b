"""MaskablePPO: what its policy sees and prefers, and a short run through the real command."""

import json
import signal
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import DummyVecEnv

from aerl_trainer.baselines import maskable_ppo
from aerl_trainer.baselines.maskable_ppo import SUITES
from aerl_trainer.baselines.pair_policy import COLUMNS, PairObservation, PairPolicy
from dagsched_env import DAGSchedError, Instance, suites
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.schedulers import heft

FEW = {"n_steps": 64, "batch_size": 256, "seed": 0, "device": "cpu"}


def pair_env(instance, **padding):
    return PairObservation(gymnasium.make("DAGSched-v0", instances=instance, **padding))


def untrained(env):
    return MaskablePPO(PairPolicy, DummyVecEnv([lambda: env]), **FEW)


@pytest.fixture(scope="module")
def instance():
    """Twelve tasks; task 3 may not run on processor 0."""
    drawn = TopcuogluGenerator(n_tasks=12, n_processors=3, ccr=1.0)(np.random.default_rng(5))
    comp = drawn.comp.copy()
    comp[3, 0] = np.inf
    return Instance(comp, drawn.edges, drawn.data)


# -- what the policy sees ------------------------------------------------------------------------


def test_rows_hold_times_in_units_of_heft(instance):
    env = pair_env(instance, max_tasks=15, max_processors=4)
    _, info = env.reset()
    env.step(np.flatnonzero(info["action_mask"])[0])
    state, heft_makespan = env.unwrapped.state, heft(instance).makespan
    legal = env.get_wrapper_attr("action_masks")()
    table, *_ = env.step(-1)  # refused, so it shows the same state again
    assert table.shape == (60, len(COLUMNS))
    assert not table[~legal].any()
    times = np.full((15, 4), np.inf)  # earliest finish of each legal pair, by the simulator itself
    for task, processor in zip(*np.nonzero(state.legal()), strict=True):
        trial = state.clone()
        trial.apply(int(task), int(processor))
        times[task, processor] = trial.arrays.finish[task] / heft_makespan
    row = {name: table[:, i].reshape(15, 4) for i, name in enumerate(COLUMNS)}
    mask = legal.reshape(15, 4)
    over_task, over_all = times - times.min(axis=1, keepdims=True, initial=9e9), times - times.min()
    np.testing.assert_allclose(row["eft"][mask], times[mask], rtol=1e-5)
    np.testing.assert_allclose(
        row["eft, over the task's earliest"][mask], over_task[mask], atol=1e-6
    )
    np.testing.assert_allclose(
        row["eft, over the earliest of all pairs"][mask], over_all[mask], atol=1e-6
    )
    rank = np.broadcast_to(instance.rank_u[:, None], (12, 3)) / heft_makespan
    np.testing.assert_allclose(
        row["rank_u"][:12, :3][state.legal()], rank[state.legal()], rtol=1e-5
    )
    np.testing.assert_allclose(row["share of tasks placed"][mask], 1 / 12, rtol=1e-6)


def test_the_return_is_the_distance_to_cp_min_in_units_of_heft(instance):
    env = pair_env(instance)
    rng = np.random.default_rng(0)
    for _ in range(5):
        _, info = env.reset()
        total, over = 0.0, False
        while not over:
            action = rng.choice(np.flatnonzero(info["action_mask"]))
            table, reward, over, _, info = env.step(action)
            total += reward
        expected = (instance.cp_min - info["makespan"]) / heft(instance).makespan
        assert total == pytest.approx(expected, rel=1e-9)
        assert info["vs_heft"] == pytest.approx(info["makespan"] / heft(instance).makespan)
        assert not table.any()


def test_the_wrapper_keeps_the_rules_of_the_libraries(instance):
    check_env(pair_env(instance), warn=False)


def test_an_instance_of_no_duration_is_scheduled():
    env = pair_env(Instance([[0.0, 0.0]] * 2, [(0, 1)], [0.0]))
    env.reset()
    env.step(0)
    table, reward, over, _, _ = env.step(2)
    assert over
    assert reward == 0
    assert np.isfinite(table).all()


# -- what the policy prefers ---------------------------------------------------------------------


def probabilities(model, table, mask):
    observation, _ = model.policy.obs_to_tensor(table)
    with torch.no_grad():
        return model.policy.get_distribution(observation, mask).distribution.probs[0].numpy()


def test_padding_and_order_do_not_change_the_preferences(instance):
    torch.manual_seed(0)
    small, large = pair_env(instance), pair_env(instance, max_tasks=20, max_edges=90)
    models = untrained(small), untrained(large)
    models[1].policy.load_state_dict(models[0].policy.state_dict())
    table, info = small.reset()
    wide, wide_info = large.reset()
    here = probabilities(models[0], table, info["action_mask"])
    there = probabilities(models[1], wide, wide_info["action_mask"])
    assert here.std() > 0
    np.testing.assert_allclose(there[: len(here)], here, atol=1e-6)
    assert not there[len(here) :].any()
    shuffle = np.random.default_rng(0).permutation(len(here))
    shuffled = probabilities(models[0], table[shuffle], info["action_mask"][shuffle])
    np.testing.assert_allclose(shuffled, here[shuffle], atol=1e-6)


def test_only_legal_actions_are_drawn(instance):
    env = pair_env(instance)
    model = untrained(env)
    _, info = env.reset()
    for _ in range(instance.n_tasks):
        table = env.step(-1)[0]
        mask = info["action_mask"]
        drawn, _ = model.predict(np.stack([table] * 200), action_masks=np.stack([mask] * 200))
        assert mask[drawn].all()
        assert len(set(drawn.tolist())) > 1 or mask.sum() < 4
        *_, info = env.step(drawn[0])
        assert not info["illegal_action"]
    assert "schedule" in info


def test_every_weight_is_trained(instance):
    model = untrained(pair_env(instance))
    before = {name: value.clone() for name, value in model.policy.state_dict().items()}
    model.learn(64)
    after = model.policy.state_dict()
    assert before
    assert all(not torch.equal(before[name], after[name]) for name in before)


# -- the command ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The output and the directory of a run of three seconds."""
    directory = tmp_path_factory.mktemp("runs") / "baseline"
    command = [sys.executable, "-m", "aerl_trainer.baselines.maskable_ppo"]
    result = subprocess.run(
        [*command, "--minutes", "0.05", "--run-dir", str(directory), "--seed", "3"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout, directory


def test_the_run_prints_progress_and_both_tables(finished):
    output, directory = finished
    (progress,) = (line for line in output.splitlines() if "timesteps" in line)
    for cell in ("steps/s", "mean episode SLR", "vs heft"):
        assert cell in progress
    for suite in SUITES:
        assert f"{suite}: {len(suites.load(suite))} instances" in output
    assert output.count("maskable_ppo ") == 2
    results = json.loads((directory / "results.json").read_text())
    for suite, rows in results.items():
        assert [row["name"] for row in rows] == ["heft", "best scheduler", "maskable_ppo"]
        assert all(
            sum(row[k] for k in ("wins", "ties", "losses")) == len(suites.load(suite))
            for row in rows
        )
        assert rows[1]["mean_slr"] <= rows[0]["mean_slr"]
        assert all(f"{row['ratio_to_reference']:.4f}" in output for row in rows)
    assert list((directory / "tb").rglob("events.out.tfevents.*"))


def test_the_saved_model_schedules_as_the_table_says(finished):
    _, directory = finished
    assert sorted(path.name for path in directory.iterdir()) == ["model.zip", "results.json", "tb"]
    model = MaskablePPO.load(directory / "model.zip", device="cpu")
    assert isinstance(model.policy, PairPolicy)
    assert model.seed == 3
    assert model.num_timesteps > 0
    rows = maskable_ppo.evaluate(model, "workflows_small")
    recorded = json.loads((directory / "results.json").read_text())["workflows_small"]
    for row, record in zip(rows, recorded, strict=True):
        assert row.mean_slr == pytest.approx(record["mean_slr"], rel=1e-9)


def test_the_scheduler_respects_eligibility_and_states_its_limits(finished, instance):
    schedule = maskable_ppo.scheduler(MaskablePPO.load(finished[1] / "model.zip", device="cpu"))
    made = schedule(instance)
    made.validate(instance)
    assert made.algorithm == "maskable_ppo"
    assert made == schedule(instance)
    with pytest.raises(DAGSchedError, match="has 65 tasks, the env holds 64"):
        schedule(Instance(np.ones((65, 4)), [], []))


def test_an_interrupt_ends_the_training_with_the_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(
        maskable_ppo.Watch, "_on_rollout_end", lambda _: signal.raise_signal(signal.SIGINT)
    )
    before = signal.getsignal(signal.SIGINT)
    assert maskable_ppo.main(["--minutes", "10", "--run-dir", str(tmp_path / "run")]) == 0
    output = capsys.readouterr().out
    assert "/ 600 s]  timesteps" in output
    assert output.count("maskable_ppo ") == 2
    assert (tmp_path / "run" / "model.zip").is_file()
    assert signal.getsignal(signal.SIGINT) is before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--minutes", "0", "--run-dir", "run"], "minutes is 0.0: it must be positive"),
        (["--minutes", "nan", "--run-dir", "run"], "minutes is nan"),
        (["--run-dir", "file"], "file"),
    ],
)
def test_errors_are_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    assert maskable_ppo.main(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("maskable_ppo: error: ")
    assert error.count("\n") == 1
    assert message in error
    assert not (tmp_path / "run").exists()
