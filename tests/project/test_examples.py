"""The scripts of examples/, each run as a user would."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from dagsched_env import Schedule, io
from dagsched_env.schedulers import heft
from helpers import ROOT


def run(name, *arguments, directory):
    """Standard output of an example that is started in ``directory``."""
    result = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name), *map(str, arguments)],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def assert_picture(path):
    assert path.read_bytes().startswith(b"\x89PNG")
    assert path.stat().st_size > 5000


def test_there_is_a_test_and_a_line_of_the_readme_for_every_example():
    scripts = {path.name for path in (ROOT / "examples").glob("*.py")}
    readme = (ROOT / "examples" / "README.md").read_text(encoding="utf-8")
    assert scripts == {
        "adversarial_instance.py",
        "airflow_priorities.py",
        "cliffwalk_per.py",
        "graph_network.py",
        "job_shop.py",
        "maskable_ppo.py",
        "own_generator.py",
        "own_instance.py",
        "own_reward.py",
        "own_scheduler.py",
        "policy_in_env.py",
        "quickstart.py",
        "vector_env.py",
        "workflow_trace.py",
    }
    read_by_airflow = {"airflow_priorities.py"}
    assert all(name in readme for name in read_by_airflow)
    assert set(re.findall(r"`python examples/(\w+\.py)", readme)) == scripts - read_by_airflow


def test_quickstart(tmp_path):
    output = run("quickstart.py", directory=tmp_path)
    found = re.findall(r"^(\w+) +makespan ([\d.]+)  SLR ([\d.]+)$", output, re.MULTILINE)
    makespan = {name: float(value) for name, value, _ in found}
    assert makespan.keys() == {"random_rule", "earliest_finish_rule", "HEFT"}
    assert all(float(slr) >= 1 for _, _, slr in found)
    # The rule on the observation is HEFT; random placements are far behind it.
    assert makespan["earliest_finish_rule"] == makespan["HEFT"]
    assert makespan["random_rule"] > 1.2 * makespan["HEFT"]
    assert_picture(tmp_path / "runs" / "quickstart.png")


def test_quickstart_writes_where_it_is_told(tmp_path):
    picture = tmp_path / "new" / "gantt.png"
    output = run("quickstart.py", picture, directory=ROOT)
    assert output.endswith(f"Gantt chart: {picture}\n")
    assert_picture(picture)


def test_own_instance(tmp_path):
    output = run("own_instance.py", "out", directory=tmp_path)
    pattern = r"^(.+): HEFT ([\d.]+), search ([\d.]+), no schedule is below ([\d.]+)$"
    lines = re.findall(pattern, output, re.MULTILINE)
    assert [name for name, *_ in lines] == ["topcuoglu-2002", "video"]
    for name, *figures in lines:
        by_heft, found, bound = map(float, figures)
        instance = io.load(tmp_path / "out" / f"{name}.json")
        text = (tmp_path / "out" / f"{name}-schedule.json").read_text(encoding="utf-8")
        schedule = Schedule.from_json(text)
        schedule.validate(instance)
        assert schedule.makespan == pytest.approx(found, abs=0.005)
        assert heft(instance).makespan == pytest.approx(by_heft, abs=0.005)
        assert bound <= found <= by_heft
        assert_picture(tmp_path / "out" / f"{name}.png")
    assert lines[0][1:3] == ("80.00", "73.00")  # HEFT's published makespan, and the optimum


def test_own_generator(tmp_path):
    output = run("own_generator.py", directory=tmp_path)
    assert re.search(r"^peft +[\d.]+ +[\d.]+ +\d+ +\d+ +\d+", output, re.MULTILINE)
    episodes = re.findall(r"^episode \d: cameras-[2-6], .* SLR ([\d.]+)$", output, re.MULTILINE)
    assert len(episodes) == 3
    assert all(float(slr) >= 1 for slr in episodes)


def test_graph_network(tmp_path):
    output = run("graph_network.py", "--steps", "250", directory=tmp_path)
    losses = [float(x) for x in re.findall(r"loss ([\d.]+)$", output, re.MULTILINE)]
    assert losses[-1] < losses[0] / 100
    ratio = dict(re.findall(r"^  (.+?) +([\d.]+)$", output, re.MULTILINE))
    assert abs(float(ratio["network"]) - 1) < 0.03 < float(ratio["any order"]) - 1


def test_own_reward(tmp_path):
    output = run("own_reward.py", directory=tmp_path)
    starts = [line.split()[0] for line in output.splitlines()]
    assert starts == ["deadline", "deadline", "reduction", "energy"]


def test_own_scheduler(tmp_path):
    output = run("own_scheduler.py", "ratios.png", directory=tmp_path)
    assert output.startswith("oct_heft passes every check\n")
    ratios = dict(re.findall(r"^(\w+) +[\d.]+ +([\d.]+) +\d+ +\d+ +\d+", output, re.MULTILINE))
    assert ratios.keys() == {"heft", "peft", "cpop", "oct_heft"}
    assert 0.9 < float(ratios["oct_heft"]) < 1.1
    assert_picture(tmp_path / "ratios.png")


def test_vector_env(tmp_path):
    output = run("vector_env.py", 64, directory=tmp_path)
    slr = dict(re.findall(r"^(\w+) +.*?SLR ([\d.]+)", output, re.MULTILINE))
    assert float(slr["earliest_finish_rule"]) < float(slr["random_rule"])


def test_job_shop(tmp_path):
    output = run("job_shop.py", "out", directory=tmp_path)
    assert re.search(r"\b55\b", output)
    assert any(path.suffix == ".png" for path in (tmp_path / "out").iterdir())


def test_workflow_trace(tmp_path):
    output = run("workflow_trace.py", "out", directory=tmp_path)
    found = dict(re.findall(r"^(\w[\w ]*?) +([\d.]+) s  ", output, re.MULTILINE))
    assert float(found["annealing"]) <= float(found["heft"])
    assert float(found["annealing"]) >= float(found["no schedule"])
    instance = io.load(tmp_path / "out" / "montage.json")
    schedule = Schedule.from_json((tmp_path / "out" / "schedule.json").read_text())
    schedule.validate(instance)
    assert (tmp_path / "out" / "montage.html").read_text().startswith("<!DOCTYPE html>")
    assert_picture(tmp_path / "out" / "montage.png")


def test_adversarial_instance(tmp_path):
    output = run("adversarial_instance.py", "out", directory=tmp_path)
    ratios = [float(value) for value in re.findall(r"(\d+\.\d+)", output)]
    assert max(ratios) > 1.2
    assert any(path.suffix == ".png" for path in (tmp_path / "out").iterdir())


@pytest.mark.parametrize(("policy", "at_most"), [("dense", 1.75), ("pairs", 1.3)])
def test_maskable_ppo(tmp_path, policy, at_most):
    output = run("maskable_ppo.py", "--timesteps", 2000, "--policy", policy, directory=tmp_path)
    ratio = {
        name: float(value)
        for name, value in re.findall(r"^  (.+?) +([\d.]+)$", output, re.MULTILINE)
    }
    assert "after 2048 steps" in output
    # Random placements take some 1.6 times HEFT's makespan here, and nothing half of it.
    assert 1.4 < ratio["random order"] < 1.8
    assert 0.8 < ratio["MaskablePPO"] < at_most


def test_policy_in_env(tmp_path):
    output = run("policy_in_env.py", "--out", "first", directory=tmp_path)
    ratio = dict(re.findall(r"^  (.+?) +([\d.]+)$", output, re.MULTILINE))
    assert list(ratio) == ["not trained", "trained", "best of 8 samples"]
    assert float(ratio["best of 8 samples"]) < float(ratio["trained"]) - 0.01
    assert float(ratio["trained"]) < float(ratio["not trained"]) - 0.005 < 1
    assert_picture(tmp_path / "first" / "gantt.png")
    again = ("--policy", "first/policy.safetensors", "--out", "second")
    read = run("policy_in_env.py", *again, directory=tmp_path)
    assert dict(re.findall(r"^  (.+?) +([\d.]+)$", read, re.MULTILINE)) == ratio
    assert not (tmp_path / "second" / "policy.safetensors").exists()


def test_cliffwalk_per(tmp_path):
    options = ("--largest", 10, "--seeds", 5, "--picture", "cliffwalk.png")
    output = run("cliffwalk_per.py", *options, directory=tmp_path)
    rows = re.findall(r"^ *(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) +(\d+) ", output, re.MULTILINE)
    assert [(int(n), int(memory)) for n, memory, *_ in rows] == [
        (n, 2 ** (n + 1) - 2) for n in range(2, 11)
    ]
    uniform, greedy, proportional, rank, oracle = map(int, rows[-1][2:])
    assert max(proportional, rank) <= uniform / 2
    assert oracle < greedy < min(proportional, rank)
    assert_picture(tmp_path / "cliffwalk.png")


def test_the_cluster_is_one_that_ray_takes():
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    jsonschema = pytest.importorskip("jsonschema", reason="Ray needs it for the same")
    schema = json.loads((Path(ray.__file__).parent / "autoscaler" / "ray-schema.json").read_text())
    cluster = yaml.safe_load((ROOT / "examples" / "cluster.yaml").read_text(encoding="utf-8"))
    jsonschema.validate(cluster, schema)
    started = [*cluster["head_start_ray_commands"], *cluster["worker_start_ray_commands"]]
    assert len([c for c in started if "ray start" in c and "--disable-usage-stats" in c]) == 2
