"""The network and its evaluator: symmetric, size-agnostic, zero at the start, exact in batches."""

import dataclasses
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from aerl_trainer.config import NetworkConfig
from aerl_trainer.network import by_torch, rows
from aerl_trainer.network.batching import (
    HostBuffers,
    NetworkInputs,
    Rows,
    batch_graphs,
    pack_states,
)
from aerl_trainer.network.evaluator import (
    CACHED_INSTANCES,
    Request,
    TorchEvaluator,
    flat_weights,
    weight_count,
)
from aerl_trainer.network.network import Network
from aerl_trainer.policy.encoding.context import encoding_context
from aerl_trainer.policy.encoding.evaluator import PriorEvaluator
from aerl_trainer.policy.encoding.states import (
    EncodedStates,
    allocate_states,
    allocate_workspace,
    encode_state,
)
from aerl_trainer.policy.encoding.static import static_features
from dagsched_env.generators import TopcuogluGenerator
from dagsched_env.problem.instance import Instance
from dagsched_env.problem.platforms.altered import altered
from dagsched_env.problem.simulator import State

CONFIG = NetworkConfig(width=16, layers=2)


def problem(n: int = 12, p: int = 3, seed: int = 0) -> Instance:
    """A layered graph with a few ineligible pairs and uneven links."""
    rng = np.random.default_rng([n, p, seed])
    base = TopcuogluGenerator(n_tasks=n, n_processors=p, shape=0.7)(rng)
    comp = base.comp.copy()
    blocked = rng.random(comp.shape) < 0.15
    blocked[np.arange(n), rng.integers(p, size=n)] = False
    comp[blocked] = np.inf
    links = {"inv_bandwidth": rng.uniform(0.5, 2, (p, p)), "latency": rng.uniform(0, 3, (p, p))}
    return Instance(comp, base.edges, base.data, **links)


def network(seed: int = 0, *, trained: bool = True) -> Network:
    """With ``trained``, heads that are not zero any more."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        made = Network(CONFIG)
        if trained:
            for head in (made.decoder.policy, made.decoder.value):
                nn.init.normal_(head.weight)
                nn.init.normal_(head.bias)
    return made


def partial_state(instance: Instance, depth: int, seed: int = 0) -> State:
    rng, state = np.random.default_rng(seed), State(instance)
    for _ in range(depth):
        state.apply(*rng.choice(np.argwhere(state.legal())).tolist())
    return state


def leaves_of(
    states: list[State], width: int | None = None, tasks: int | None = None
) -> EncodedStates:
    """The network's inputs of states of one instance, every legal action a candidate."""
    instance = states[0].instance
    leaves = allocate_states(len(states), width or instance.comp.size, tasks or instance.n_tasks)
    workspace = allocate_workspace(*instance.shape)
    for row, state in enumerate(states):
        encode_state(
            encoding_context(instance), workspace, state.arrays, leaves, row, 0.0, True, True
        )
    return leaves


def answers(evaluator: TorchEvaluator, states: list[State]) -> list[tuple[dict[int, float], float]]:
    """Per state: logit of each action, and the prediction."""
    leaves = leaves_of(states)
    evaluator.evaluate(states[0].instance, leaves, len(states))
    return read(leaves, len(states))


def read(leaves: EncodedStates, count: int) -> list[tuple[dict[int, float], float]]:
    rows = []
    for row in range(count):
        k = int(leaves.n_candidates[row])
        actions = leaves.candidates[row, :k].tolist()
        logits = leaves.logits[row, :k].tolist()
        rows.append((dict(zip(actions, logits, strict=True)), float(leaves.prediction[row])))
    return rows


# -- symmetry and size ---------------------------------------------------------------------------


def relabelled(
    instance: Instance, tasks: np.ndarray, processors: np.ndarray, rng: np.random.Generator
) -> Instance:
    """Task t becomes ``tasks[t]``, processor q ``processors[q]``; edges come in another order."""
    n, p = instance.comp.shape
    comp, inv_bandwidth, latency = np.empty((n, p)), np.empty((p, p)), np.empty((p, p))
    comp[np.ix_(tasks, processors)] = instance.comp
    inv_bandwidth[np.ix_(processors, processors)] = instance.inv_bandwidth
    latency[np.ix_(processors, processors)] = instance.latency
    demands, capacities = np.empty((n, instance.n_resources)), np.empty((p, instance.n_resources))
    demands[tasks], capacities[processors] = instance.demands, instance.capacities
    order = rng.permutation(instance.n_edges)
    return Instance(
        comp,
        tasks[instance.edges[order]],
        instance.data[order],
        inv_bandwidth=inv_bandwidth,
        latency=latency,
        demands=demands,
        capacities=capacities,
    )


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_relabelling_permutes_the_logits_and_keeps_the_value(seed: int, shared: bool) -> None:
    rng = np.random.default_rng(seed)
    instance = problem(n=14, p=4, seed=seed)
    if shared:
        demands, capacities = rng.integers(0, 5, (14, 2)), rng.integers(4, 9, (4, 2))
        instance = altered(instance, demands=demands, capacities=capacities)
    tasks, processors = rng.permutation(14), rng.permutation(4)
    twin = relabelled(instance, tasks, processors, rng)
    evaluator = TorchEvaluator(network(seed))
    for depth in (0, 3, 7, 13):
        state, twin_state = partial_state(instance, depth, seed), State(twin)
        for task in state.arrays.sequence[:depth].tolist():
            processor = state.arrays.processor[task]
            twin_state.apply(int(tasks[task]), int(processors[processor]))
        ((logits, prediction),) = answers(evaluator, [state])
        ((twin_logits, twin_prediction),) = answers(evaluator, [twin_state])
        moved = {int(tasks[a // 4] * 4 + processors[a % 4]): logit for a, logit in logits.items()}
        assert moved.keys() == twin_logits.keys()
        assert np.ptp(list(logits.values())) > 0 or len(logits) == 1, "the heads say something"
        for action, logit in moved.items():
            assert twin_logits[action] == pytest.approx(logit, rel=1e-4, abs=1e-4)
        assert twin_prediction == pytest.approx(prediction, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize(("n", "p"), [(1, 1), (1, 5), (2, 1), (40, 8), (90, 2)])
def test_any_size_goes_through_one_network(n: int, p: int) -> None:
    instance = Instance(np.ones((n, p)), [], []) if n < 3 else problem(n, p)
    evaluator = TorchEvaluator(network())
    for depth in {0, n // 2, n - 1}:
        ((logits, prediction),) = answers(evaluator, [partial_state(instance, depth)])
        assert np.isfinite([*logits.values(), prediction]).all()
        assert len(logits) >= 1


def test_zero_costs_are_finite() -> None:
    instance = Instance(np.zeros((4, 2)), [(0, 1), (1, 2)], [0, 0])
    ((logits, prediction),) = answers(TorchEvaluator(network()), [State(instance)])
    assert np.isfinite([*logits.values(), prediction]).all()


def test_the_network_sees_the_edges() -> None:
    instance = problem(seed=2)
    data = instance.data.copy()
    data[0] *= 3
    other = Instance(instance.comp, instance.edges, data)
    plain = Instance(instance.comp, instance.edges, instance.data)
    evaluator = TorchEvaluator(network())
    embeddings = [evaluator._embed(i).task for i in (plain, other)]
    assert not torch.allclose(*embeddings, atol=1e-3)


# -- the start -----------------------------------------------------------------------------------


def test_the_network_sees_the_status_of_every_task() -> None:
    """Nothing but one status differs: logits and prediction do."""
    states = [partial_state(problem(), 5)]
    before, leaves = answers(TorchEvaluator(network()), states), leaves_of(states)
    for task in range(problem().n_tasks):
        status = leaves.status[0, task]
        for other in {0, 1, 2} - {int(status)}:
            leaves.status[0, task] = other
            TorchEvaluator(network()).evaluate(problem(), leaves, 1)
            (logits, prediction), (same, value) = read(leaves, 1)[0], before[0]
            assert list(logits.values()) != pytest.approx(list(same.values()), abs=1e-6)
            assert prediction != pytest.approx(value, abs=1e-6)
        leaves.status[0, task] = status


def test_an_untrained_network_answers_zero_exactly() -> None:
    """So the policy is the hand-made prior and the value that of the list completion."""
    states = [partial_state(problem(), depth) for depth in (0, 5, 11)]
    leaves, prior = leaves_of(states), leaves_of(states)
    for array in (leaves.logits, leaves.prediction):
        array[:] = np.nan
    assert TorchEvaluator(network(trained=False)).evaluate(problem(), leaves, 3) == 0
    PriorEvaluator().evaluate(problem(), prior, 3)
    for logits, prediction in read(leaves, 3):
        assert set(logits.values()) == {0.0}
        assert prediction == 0.0
    assert read(leaves, 3) == read(prior, 3)


def test_every_parameter_learns() -> None:
    made = network()
    instance = problem()
    states = [partial_state(instance, depth) for depth in range(11)]
    inputs = NetworkInputs.of(leaves_of(states), len(states))
    places = Rows.of([0] * len(states), [instance.comp.shape])
    device = torch.device("cpu")
    graphs = batch_graphs([static_features(instance)], device)
    logits, prediction = made(graphs, pack_states([inputs], places, HostBuffers(device)))
    (logits.square().sum() + prediction.square().sum()).backward()
    for name, parameter in made.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert parameter.grad.abs().sum() > 0, name


# -- the operations on rows ----------------------------------------------------------------------


def operands(seed: int, width: int) -> dict[str, tuple[object, ...]]:
    """Arguments of every operation: segments of 0 to 6 rows, targets without messages."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(7, size=9)
    n, m = int(lengths.sum()), 20
    begin = torch.tensor(np.concatenate([[0], np.cumsum(lengths)]))

    def normal(*shape: int, learns: bool = True) -> torch.Tensor:
        values = torch.tensor(rng.normal(size=shape), dtype=torch.float32)
        return values.requires_grad_(learns)

    def places(count: int, limit: int) -> torch.Tensor:
        return torch.tensor(rng.integers(limit, size=count))

    values, bias = normal(n, width), normal(width)
    return {
        "messages": (
            normal(m, 2, learns=False),
            normal(width, 2),
            normal(5, width),
            (places(m, 5), places(m, 30)),
            30,
        ),
        "embed": (
            normal(n, 3, learns=False),
            normal(width, 3),
            normal(4, width),
            normal(2, width),
            (places(n, 4), places(n, 2)),
            normal(width, width),
        ),
        "pool": (values, bias, begin),
        "score": (values, bias, normal(9, width), normal(width), begin),
    }


def results(module: ModuleType, name: str, arguments: tuple[Any, ...]) -> tuple[torch.Tensor, ...]:
    result = getattr(module, name)(*arguments)
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.parametrize("name", rows.OPERATIONS)
@pytest.mark.parametrize(("seed", "width"), [(0, 1), (1, 7), (2, 64)])
def test_kernels_on_rows_are_what_torch_computes(name: str, seed: int, width: int) -> None:
    """Forward and backward."""
    arguments = operands(seed, width)[name]
    learning = [a for a in arguments if isinstance(a, torch.Tensor) and a.requires_grad]
    found, expected = (results(module, name, arguments) for module in (rows, by_torch))
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-4)
        assert one.abs().sum() > 0
    generator = torch.Generator().manual_seed(seed)
    slopes = [torch.randn(result.shape, generator=generator) for result in found]
    gradients = [torch.autograd.grad(result, learning, slopes) for result in (found, expected)]
    assert all(gradient.abs().sum() > 0 for gradient in gradients[1])
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-4, atol=1e-4)


def test_equal_maxima_share_one_gradient() -> None:
    values = torch.ones(3, 2, requires_grad=True)
    pooled, _ = rows.pool(values, torch.zeros(2), torch.tensor([0, 3]))
    pooled[0, 2:].sum().backward()
    assert values.grad.sum(dim=0).tolist() == [1.0, 1.0]


# -- batches -------------------------------------------------------------------------------------


def assert_same_answers(
    one: list[tuple[dict[int, float], float]], other: list[tuple[dict[int, float], float]]
) -> None:
    for (logits, prediction), (twin_logits, twin_prediction) in zip(one, other, strict=True):
        assert twin_logits == pytest.approx(logits, rel=1e-5, abs=1e-5)
        assert twin_prediction == pytest.approx(prediction, rel=1e-5, abs=1e-5)


def test_a_batch_of_several_problems_is_each_alone() -> None:
    problems = [problem(12, 3), problem(30, 5), problem(3, 2), problem(12, 3)]
    states = [[partial_state(i, d, d) for d in range(0, i.n_tasks, 2)] for i in problems]
    alone = [answers(TorchEvaluator(network()), group) for group in states]
    leaves = [leaves_of(group) for group in states]
    requests = [
        Request(instance, rows, len(group))
        for instance, rows, group in zip(problems, leaves, states, strict=True)
    ]
    TorchEvaluator(network()).evaluate_requests(requests)
    for group, answered, expected in zip(states, leaves, alone, strict=True):
        assert_same_answers(expected, read(answered, len(group)))


def test_rows_beyond_the_count_and_columns_beyond_the_candidates_do_not_matter() -> None:
    states = [partial_state(problem(), depth) for depth in (0, 4, 9)]
    clean = answers(TorchEvaluator(network()), states[:2])
    leaves = leaves_of(states, width=50, tasks=99)
    leaves.status[:, problem().n_tasks :] = 100
    for row in range(3):
        k = int(leaves.n_candidates[row])
        leaves.pair_features[row, k:] = np.nan
        leaves.candidates[row, k:] = 10_000
    leaves.prediction[:] = -7
    TorchEvaluator(network()).evaluate(problem(), leaves, 2)
    assert_same_answers(clean, read(leaves, 2))
    assert leaves.prediction[2] == -7


def test_terminal_states_in_a_batch_disturb_nobody() -> None:
    instance = problem()
    states = [partial_state(instance, depth) for depth in (4, 12, 6, 12)]
    leaves = leaves_of(states)
    assert leaves.terminal.tolist() == [False, True, False, True]
    TorchEvaluator(network()).evaluate(instance, leaves, 4)
    found = read(leaves, 4)
    assert np.isfinite(leaves.prediction).all()
    alone = answers(TorchEvaluator(network()), [states[0], states[2]])
    assert_same_answers(alone, [found[0], found[2]])


def test_a_batch_of_terminal_states_alone() -> None:
    instance = problem()
    leaves = leaves_of([partial_state(instance, 12)])
    TorchEvaluator(network()).evaluate(instance, leaves, 1)
    assert np.isfinite(leaves.prediction).all()


# -- weights and caches --------------------------------------------------------------------------


def test_weights_round_trip() -> None:
    trained = network(seed=5)
    weights = flat_weights(trained)
    assert weights.dtype == np.float32
    assert weights.shape == (weight_count(CONFIG),)
    evaluator = TorchEvaluator(network(seed=6))
    states = [partial_state(problem(), 4)]
    before = answers(evaluator, states)
    evaluator.load(weights, 9)
    assert evaluator.version == 9
    after = answers(evaluator, states)
    assert after == answers(TorchEvaluator(trained), states), "no stale embedding"
    assert after != before
    weights[:] = 0
    assert answers(evaluator, states) == after, "it keeps a copy"


def test_width_and_layers_are_free() -> None:
    for config in (NetworkConfig(width=4, layers=0), NetworkConfig(width=24, layers=5)):
        made = Network(config)
        assert flat_weights(made).shape == (weight_count(config),)
        ((logits, _),) = answers(TorchEvaluator(made), [State(problem())])
        assert set(logits.values()) == {0.0}
    assert weight_count(CONFIG) < weight_count(dataclasses.replace(CONFIG, layers=3))


def test_embeddings_are_cached_and_forgotten() -> None:
    evaluator = TorchEvaluator(network())
    encodings = []
    encode = evaluator._network.encode
    evaluator._network.encode = lambda graphs: encodings.append(1) or encode(graphs)  # type: ignore[method-assign, assignment]
    states = [State(problem(4, 2, seed)) for seed in range(CACHED_INSTANCES + 5)]
    first = [answers(evaluator, [state]) for state in states]
    assert len(encodings) == len(states)
    assert answers(evaluator, [states[-1]]) == first[-1]
    assert len(encodings) == len(states), "cached"
    assert answers(evaluator, [states[0]]) == first[0]
    assert len(encodings) == len(states) + 1, "the oldest was forgotten"
    assert len(evaluator._embeddings) == CACHED_INSTANCES
