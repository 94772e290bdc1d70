"""Policies as ONNX files: what onnxruntime makes of one is what the policy does."""

import axiomrl
import numpy as np
import onnx
import onnxruntime
import pytest

ROWS = 40
STEPS = 4

#: Names whose default environment or settings do not go with a test of a moment.
SETTINGS = {
    "her": {"env": "PointGoal-v0"},
    "drq": {"env": "PendulumPixels-v0", "env_kwargs": {"size": 32}, "hidden_sizes": [32]},
    "drqv2": {"env": "PendulumPixels-v0", "env_kwargs": {"size": 32}, "hidden_sizes": [32]},
    "curl": {"env": "PendulumPixels-v0", "env_kwargs": {"size": 32}, "hidden_sizes": [32]},
    "recurrent_ppo": {"env": "PendulumNoVel-v1"},
    "recurrent_sac": {"env": "PendulumNoVel-v1"},
    "recurrent_td3": {"env": "PendulumNoVel-v1"},
    "drqn": {"env": "CartPoleNoVel-v1"},
    "r2d2": {"env": "CartPoleNoVel-v1"},
}
#: Names that no graph acts like, with a word of the reason.
REFUSED = {"pets": "plans", "decision_transformer": "rewards"}
#: Names with a state that is drawn at every step.
DRAWN = {"dreamer", "dreamerv3"}


def made(algo, env=None, **settings):
    """An agent that has learned nothing, with parameters of noise: nothing in it is 0 or 1 by chance."""
    spec = axiomrl.get_algorithm_spec(algo)
    env = env or ("Pendulum-v1" if "Box" in spec.actions else "CartPole-v1")
    return disturbed(axiomrl.make(algo, env, seed=1, **settings))


def disturbed(agent, seed=0):
    rng, parameters = np.random.default_rng(seed), agent.get_parameters()
    for name, value in parameters.items():
        size = 1.0 / np.sqrt(np.prod(value.shape[1:])) if value.ndim > 1 else 0.05
        noisy = value + rng.normal(0.0, size, value.shape)
        parameters[name] = np.abs(noisy) if name.endswith("running_variance") else noisy
    agent.set_parameters(parameters)
    return agent


def session(agent, name="policy.onnx"):
    path = agent.export(name)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    used = {value for node in model.graph.node for value in node.input}
    # What runs the file would warn of constants that nothing needs.
    assert used.issuperset(constant.name for constant in model.graph.initializer)
    return onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])


def drawn(space, rng, rows=ROWS):
    """Observations of a space, many times over."""
    kind = type(space).__name__
    if kind == "Dict":
        return {name: drawn(inner, rng, rows) for name, inner in space.spaces.items()}
    if kind == "Discrete":
        return rng.integers(0, space.n, rows)
    if kind == "MultiDiscrete":
        return rng.integers(0, space.nvec, (rows, len(space.nvec)))
    if kind == "MultiBinary":
        return rng.integers(0, 2, (rows, space.n)).astype(np.float32)
    if space.dtype == np.uint8:
        return rng.integers(0, 256, (rows, *space.shape), np.uint8)
    return rng.normal(0.0, 1.5, (rows, *space.shape)).astype(np.float32)


def fed(observation):
    """What the graph takes of an observation."""
    named = observation if isinstance(observation, dict) else {"observation": observation}
    return {name: value.astype(np.int64) if value.dtype.kind == "i" else value for name, value in named.items()}


def answered(graph, feed):
    names = [output.name for output in graph.get_outputs()]
    return dict(zip(names, graph.run(names, feed)))


def assert_same(found, wanted):
    assert found.shape == wanted.shape
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-4)
    else:
        assert found.dtype == np.int64 and (found == wanted).all()


def compare(agent, graph, steps=STEPS):
    """Several steps in a row, what is remembered carried on by each side for itself. Gives all actions."""
    rng, state, actions = np.random.default_rng(7), None, []
    inputs = {value.name: value for value in graph.get_inputs()}
    memory = np.zeros((ROWS, inputs["state"].shape[1]), np.float32) if "state" in inputs else None
    for _ in range(steps):
        observation = drawn(agent.observation_space, rng)
        feed, masks = fed(observation), None
        if memory is not None:
            feed["state"] = memory
        if "mask" in inputs:
            masks = rng.random((ROWS, inputs["mask"].shape[1])) < 0.5
            masks[:, 0] |= ~masks.any(axis=1)
            feed["mask"] = masks
        wanted, state = agent.predict(observation, state, action_masks=masks)
        found = answered(graph, feed)
        assert_same(found["action"], wanted)
        memory = found.get("next_state")
        if memory is not None:
            # What critics remember is of no use to a policy, and stays 0 in the graph.
            own = memory.any(axis=0)
            assert own[0]
            np.testing.assert_allclose(memory[:, own], state[:, own], rtol=2e-4, atol=2e-4)
        actions.append(wanted)
    return np.concatenate(actions)


@pytest.mark.parametrize("algo", [name for name in axiomrl.list_algorithms() if name not in {*REFUSED, *DRAWN}])
def test_every_name(algo):
    agent = made(algo, **SETTINGS.get(algo, {}))
    for seed in range(1, 6):
        actions = compare(agent, session(agent))
        if len(np.unique(actions, axis=0)) > 1:
            return
        # What is always the same proves nothing.
        disturbed(agent, seed)
    pytest.fail("whatever its parameters, the policy does always the same")


@pytest.mark.parametrize("algo", REFUSED)
def test_what_no_graph_can_say_is_refused(algo, tmp_path):
    with pytest.raises(ValueError, match=f"`{algo}`.*{REFUSED[algo]}"):
        made(algo).export("policy.onnx")
    assert not (tmp_path / "policy.onnx").exists()


@pytest.mark.parametrize("algo, env", [("sac", "Pendulum-v1"), ("dqn", "CartPole-v1"), ("recurrent_ppo", "CartPoleNoVel-v1")])
def test_another_policy_is_told_apart(algo, env):
    agent = made(algo, env)
    graph = session(agent)
    compare(agent, graph)
    with pytest.raises(AssertionError):
        compare(disturbed(agent, seed=5), graph)


@pytest.mark.parametrize("memory", ["lstm", "gru"])
@pytest.mark.parametrize(
    "algo, env, settings",
    [
        ("dqn", "CartPoleNoVel-v1", {}),
        ("rainbow_dqn", "CartPoleNoVel-v1", {}),
        ("fqf", "CartPoleNoVel-v1", {}),
        ("ppo", "PendulumNoVel-v1", {}),
        ("ppo", "CartPoleNoVel-v1", {"shared": True}),
        ("sac", "PendulumNoVel-v1", {}),
        ("sac", "PendulumNoVel-v1", {"stored_state": True}),
    ],
)
def test_memories(algo, env, settings, memory):
    agent = made(algo, env, memory=memory, **settings)
    graph = session(agent)
    compare(agent, graph, steps=6)
    # What is remembered makes a difference.
    rng = np.random.default_rng(3)
    feed = fed(drawn(agent.observation_space, rng))
    width = graph.get_inputs()[1].shape[1]
    first, later = (
        answered(graph, {**feed, "state": state})
        for state in (np.zeros((ROWS, width), np.float32), rng.normal(size=(ROWS, width)).astype(np.float32))
    )
    assert not np.allclose(first["next_state"], later["next_state"])


@pytest.mark.parametrize("vision", ["flat", "small", "impala", "drq"])
def test_images(vision):
    agent = made("ppo", "CartPolePixels-v0", vision=vision)
    graph = session(agent)
    assert graph.get_inputs()[0].type == "tensor(uint8)"
    compare(agent, graph, steps=2)


@pytest.mark.parametrize("vision", ["auto", "nature"])
def test_large_images(vision):
    agent = made("dqn", "CartPolePixels-v0", vision=vision, env_kwargs={"size": 84}, frame_stack=2)
    compare(agent, session(agent), steps=1)


@pytest.mark.parametrize(
    "env", ["IdentityDiscrete-v0", "IdentityMultiDiscrete-v0", "IdentityMultiBinary-v0", "IdentityBox-v0", "IdentityMasked-v0"]
)
@pytest.mark.parametrize("algo", ["ppo", "cem"])
def test_spaces_and_masks(algo, env):
    agent = made(algo, env)
    compare(agent, session(agent))


@pytest.mark.parametrize("algo", ["dqn", "c51_dqn", "discrete_sac", "discrete_bcq"])
def test_masks_of_values(algo):
    agent = made(algo, "IdentityMasked-v0")
    compare(agent, session(agent))


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu", "silu"])
def test_activations(activation):
    agent = made("ppo", "Pendulum-v1", activation=activation)
    compare(agent, session(agent))


def through(parameters, prefix, x, bend):
    """What a network makes of numbers, by its parameters."""
    depth = sum(name.startswith(f"{prefix}.") and name.endswith(".weight") for name in parameters)
    for layer in range(depth):
        x = x @ parameters[f"{prefix}.{layer}.weight"].T + parameters[f"{prefix}.{layer}.bias"]
        x = bend(x) if layer + 1 < depth else x
    return x


@pytest.mark.parametrize("algo", ["dqn", "dueling_dqn", "c51_dqn", "qr_dqn", "ppo"])
def test_what_a_choice_is_made_by(algo):
    agent = made(algo, "CartPole-v1")
    graph, own = session(agent), agent.get_parameters()
    x = drawn(agent.observation_space, np.random.default_rng(1))
    found = answered(graph, {"observation": x})
    if algo == "ppo":
        logits = through(own, "policy", x, np.tanh)
        return np.testing.assert_allclose(found["logits"], logits, rtol=1e-3, atol=1e-3)
    said = through(own, "q.action", x, lambda x: np.maximum(x, 0.0)).reshape(ROWS, 2, -1)
    if algo == "dueling_dqn":
        value = through(own, "q.value", x, lambda x: np.maximum(x, 0.0)).reshape(ROWS, 1, -1)
        said = value + said - said.mean(axis=1, keepdims=True)
    if algo == "c51_dqn":
        settings = agent.config.algo_kwargs
        likely = np.exp(said - said.max(axis=2, keepdims=True))
        atoms = np.linspace(settings["v_min"], settings["v_max"], said.shape[2])
        said = likely / likely.sum(axis=2, keepdims=True) * atoms * said.shape[2]
    np.testing.assert_allclose(found["q"], said.mean(axis=2), rtol=1e-3, atol=1e-3)


def test_values_on_another_scale():
    for algo in ("dqn", "c51_dqn", "qr_dqn"):
        agent = made(algo, value_rescale=True)
        compare(agent, session(agent))


def asymmetric():
    """An environment with bounds of its own, numbers on very different scales, and parts."""
    import gymnasium
    from gymnasium import spaces

    class Lopsided(gymnasium.Env):
        observation_space = spaces.Dict(
            far=spaces.Box(-np.inf, np.inf, (2,), np.float32),
            action=spaces.Discrete(3),
            picture=spaces.Box(0, 255, (12, 12, 1), np.uint8),
        )
        action_space = spaces.Box(np.array([[-3.0, 0.5], [10.0, -7.0]], np.float32), np.array([[1.0, 0.75], [30.0, 0.0]], np.float32))

        def seen(self):
            far = np.array([1000.0, -0.001], np.float32) + self.np_random.normal(size=2).astype(np.float32) * [3.0, 1e-4]
            picture = self.np_random.integers(0, 256, (12, 12, 1), np.uint8)
            return {"far": far.astype(np.float32), "action": int(self.np_random.integers(3)), "picture": picture}

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.left = 8
            return self.seen(), {}

        def step(self, action):
            assert self.action_space.contains(action.astype(np.float32))
            self.left -= 1
            return self.seen(), -float(np.abs(action).sum()), False, self.left == 0, {}

    return Lopsided


@pytest.mark.parametrize("algo, settings", [("ppo", {"num_steps": 16, "minibatch_size": 16}), ("sac", {"learning_starts": 20})])
def test_statistics_and_scaling_of_a_trained_policy(algo, settings, tmp_path):
    agent = axiomrl.make(algo, asymmetric(), normalize_observation=True, seed=2, hidden_sizes=[16], **settings)
    agent.learn(64)
    disturbed(agent)
    graph = session(agent)
    assert {value.name for value in graph.get_inputs()} == {"far", "observation_action", "picture"}
    rng = np.random.default_rng(4)
    far = np.array([1000.0, -0.001]) + rng.normal(size=(ROWS, 2)) * [3.0, 1e-4]
    observation = {
        "far": far.astype(np.float32),
        "action": rng.integers(0, 3, ROWS),
        "picture": rng.integers(0, 256, (ROWS, 12, 12, 1), np.uint8),
    }
    feed = {("observation_action" if name == "action" else name): value for name, value in fed(observation).items()}
    found, (wanted, _) = answered(graph, feed), agent.predict(observation)
    assert wanted.shape == (ROWS, 2, 2)
    assert_same(found["action"], wanted)
    space = agent.action_space
    assert all(space.contains(action) for action in found["action"])
    assert (found["action"][:, 1, 0] >= 10.0).all(), "in the environment's units"
    # Statistics matter: what lies far out is cut off, what lies near is told apart.
    assert not np.allclose(found["action"][0], found["action"][1])


def test_the_policy_of_a_folder_is_the_agents(tmp_path):
    agent = axiomrl.PPO("CartPole-v1", num_steps=32, minibatch_size=32, normalize_observation=True)
    agent.learn(64)
    agent.export(tmp_path / "agent.onnx")
    axiomrl.load_policy(agent.checkpoint_path).export(tmp_path / "policy.onnx")
    assert (tmp_path / "agent.onnx").read_bytes() == (tmp_path / "policy.onnx").read_bytes()
    compare(agent, session(agent))
    said = {entry.key: entry.value for entry in onnx.load(tmp_path / "policy.onnx").metadata_props}
    assert said == {"algo": "ppo", "env_id": "CartPole-v1"}
    with pytest.raises(OSError, match="no/such"):
        agent.export("no/such/policy.onnx")


SMALL = {"size": None, "deter_size": 16, "hidden_size": 8, "units": 8, "conv_depth": 4}
NUMBERS, GROUPS, CLASSES = 5, 3, 4


@pytest.mark.parametrize(
    "algo, env, settings",
    [
        ("dreamer", "Pendulum-v1", {"latent_size": NUMBERS}),
        ("dreamer", "Pendulum-v1", {"latent_size": NUMBERS, "core": "norm_gru"}),
        ("dreamer", "CartPole-v1", {}),
        ("dreamerv3", "Pendulum-v1", {}),
        ("dreamerv3", "CartPole-v1", {}),
        ("dreamerv3", "CartPolePixels-v0", {}),
        ("dreamer", "CartPolePixels-v0", {}),
    ],
)
def test_world_models(algo, env, settings):
    agent = made(algo, env, **SMALL, latent_groups=GROUPS, latent_classes=CLASSES, **settings)
    graph = session(agent)
    inputs = {value.name: value.shape[1] for value in graph.get_inputs()[-2:]}
    gaussian = inputs["noise"] == NUMBERS
    latent = slice(16, 16 + (NUMBERS if gaussian else GROUPS * CLASSES))
    rng, state, memory = np.random.default_rng(2), None, np.zeros((2, inputs["state"]), np.float32)
    for _ in range(STEPS):
        observation = drawn(agent.observation_space, rng, 2)
        action, state = agent.predict(observation, state)
        feed = {**fed(observation), "state": memory}
        noise = drawn_by(graph, feed, state[:, latent], latent, gaussian)
        found = answered(graph, {**feed, "noise": noise})
        np.testing.assert_allclose(found["next_state"], state, rtol=1e-3, atol=1e-3)
        assert_same(found["action"], action)
        memory = found["next_state"]


def drawn_by(graph, feed, wanted, latent, gaussian):
    """The noise by which the graph draws the latents that the policy drew."""
    rows = len(wanted)

    def latents(noise):
        return answered(graph, {**feed, "noise": np.ascontiguousarray(noise, np.float32)})["next_state"][:, latent]

    if gaussian:
        mean = latents(np.zeros_like(wanted))
        return ((wanted - mean) / (latents(np.ones_like(wanted)) - mean)).astype(np.float32)
    noise, left = np.full((rows, GROUPS), np.nan, np.float32), wanted.reshape(rows, GROUPS, CLASSES)
    for level in (np.arange(400) + 0.5) / 400:
        chosen = latents(np.full((rows, GROUPS), level)).reshape(rows, GROUPS, CLASSES)
        noise[(chosen == left).all(axis=2)] = level
    assert np.isfinite(noise).all(), "some choice cannot be drawn"
    return noise
