"""Your own problem, from arrays or from networkx: checked, scheduled, searched, saved, played.

    python examples/own_instance.py [directory]

The cells (``# %%``) also run one by one in editors that know them.
"""

# %% Arrays: the ten-task graph of Topcuoglu, Hariri, Wu 2002; HEFT takes 80, the optimum is 73
import sys
from pathlib import Path

import gymnasium
import networkx as nx

import aerl_trainer
from dagsched_env import Instance, io
from dagsched_env.schedulers import heft
from dagsched_env.testing import check_instance

INF = float("inf")

comp = [  # one row a task, one column a processor
    [14, 16, 9],
    [13, 19, 18],
    [11, 13, 19],
    [13, 8, 17],
    [12, 13, 10],
    [13, 16, 9],
    [7, 15, 11],
    [5, 11, 14],
    [18, 12, 20],
    [21, 7, 16],
]
data = {  # (predecessor, successor): amount of data, sent only between different processors
    (0, 1): 18,
    (0, 2): 12,
    (0, 3): 9,
    (0, 4): 11,
    (0, 5): 14,
    (1, 7): 19,
    (1, 8): 16,
    (2, 6): 23,
    (3, 7): 27,
    (3, 8): 23,
    (4, 8): 13,
    (5, 7): 15,
    (6, 9): 17,
    (7, 9): 11,
    (8, 9): 13,
}
from_arrays = Instance(comp, list(data), list(data.values()), name="topcuoglu-2002")

# %% networkx: a video pipeline on two CPUs and a GPU; seconds and megabytes
graph = nx.DiGraph(name="video")
graph.add_node("split", comp=[2, 2, INF])  # inf: cannot run on the GPU
for i in range(4):
    graph.add_node(f"decode {i}", comp=[3, 4, 2])
    graph.add_node(f"detect {i}", comp=[20, 20, 3])
    graph.add_edge("split", f"decode {i}", data=40)
    graph.add_edge(f"decode {i}", f"detect {i}", data=300)
    graph.add_edge(f"detect {i}", "merge", data=5)
graph.add_node("merge", comp=[4, 5, INF])
pcie, local = 1 / 100, 1 / 400  # seconds per megabyte to the GPU, and between the CPUs
from_networkx = Instance.from_networkx(
    graph,
    inv_bandwidth=[[0, local, pcie], [local, 0, pcie], [pcie, pcie, 0]],
    latency=[[0, 0.1, 0.5], [0.1, 0, 0.5], [0.5, 0.5, 0]],
    processor_names=["cpu 0", "cpu 1", "gpu"],
)

# %% Schedule both: HEFT, then a search; instances, schedules and Gantt charts into files
directory = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("runs") / "own_instance"
directory.mkdir(parents=True, exist_ok=True)
for instance in (from_arrays, from_networkx):
    check_instance(instance)
    baseline = heft(instance)
    result = aerl_trainer.solve(instance, simulations=2000)
    result.schedule.validate(instance)  # an independent check; raises if anything is wrong
    print(
        f"{instance.name}: HEFT {baseline.makespan:.2f}, search {result.makespan:.2f}, "
        f"no schedule is below {result.lower_bound:.2f}"
    )
    io.save(instance, directory / f"{instance.name}.json")  # for: aerl solve FILE
    schedule_file = directory / f"{instance.name}-schedule.json"
    schedule_file.write_text(result.schedule.to_json(), encoding="utf-8")
    result.schedule.plot(directory / f"{instance.name}.png", instance)
print(f"instances, schedules and Gantt charts: {directory}")

# %% Play one of them: an agent chooses the order of the tasks, the processor follows by itself
env = gymnasium.make("DAGSched-v0", instances=directory / "video.json", action="task")
env.action_space.seed(0)
_, info = env.reset()
over = False
while not over:
    _, _, over, _, info = env.step(env.action_space.sample(info["action_mask"]))
print(f"tasks in a random order, each where it finishes first: {info['makespan']:.2f}")
