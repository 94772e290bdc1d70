"""The bridge between Gymnasium and the engine: what batches mean, what is refused, and what is said then."""

import gymnasium as gym
import json
import math
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from axiomrl._bridge import Batch, EnvironmentFailed

BOX = spaces.Box(-1.0, 1.0, (2,), np.float32)


class Counter(gym.Env):
    """Shows how often it was stepped in this episode and in all; ends after `length` steps."""

    def __init__(self, length=3, clock=False, observation=None, action=None):
        self.observation_space = observation or spaces.Box(-np.inf, np.inf, (2,), np.float32)
        self.action_space = action or spaces.Discrete(3)
        self.length, self.clock, self.total, self.actions, self.seeds = length, clock, 0, [], []

    def shown(self):
        return np.array([self.t, self.total], dtype=np.float32)

    def info(self):
        return {}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.seeds.append(seed)
        self.t = 0
        return self.shown(), self.info()

    def step(self, action):
        self.actions.append(action)
        self.t += 1
        self.total += 1
        over = self.t >= self.length
        return self.shown(), float(self.t), over, over and self.clock, self.info()


def batch(make, n=1, seeds=None, **options):
    made = Batch(make, n, **options)
    arrays = made.arrays()
    made.bind(arrays)
    made.reset(seeds if seeds is not None else list(range(n)))
    return made, arrays


def zeros(made):
    return np.zeros((made.num_envs, made.action_width), dtype=np.float32)


def showing(space, value=None):
    """An environment that shows samples of a space, or always the same value."""

    class Showing(Counter):
        def shown(self):
            return self.observation_space.sample() if value is None else value

    return lambda: Showing(observation=space)


def test_an_episode_that_ends_shows_its_end_apart_and_then_the_beginning_of_the_next():
    made, arrays = batch(lambda: Counter(length=2))
    made.step(zeros(made))
    assert arrays["obs_floats"][0, 0] == 1 and not arrays["terminated"][0]
    made.step(zeros(made))
    assert arrays["obs_floats"][0, 0] == 0 and arrays["final_floats"][0, 0] == 2
    assert arrays["reward"][0] == 2 and arrays["terminated"][0] and arrays["stepped"].all()
    made.step(zeros(made))
    assert arrays["obs_floats"][0, 0] == 1 and not arrays["terminated"][0]


def test_the_end_of_the_world_wins_over_the_end_of_the_clock():
    made, arrays = batch(lambda: Counter(length=1, clock=True))
    made.step(zeros(made))
    assert arrays["terminated"][0] == 1 and arrays["truncated"][0] == 0


def test_the_same_seeds_give_the_same_episodes_and_none_goes_on():
    made, arrays = batch("CartPole-v1", 3, [7, 8, 9])
    first = arrays["obs_floats"].copy()
    made.reset(None)
    assert not np.array_equal(arrays["obs_floats"], first)
    made.reset([7, 8, 9])
    assert np.array_equal(arrays["obs_floats"], first)
    expected, _ = gym.make("CartPole-v1").reset(seed=8)
    assert np.array_equal(first[1], expected)
    assert made.begin(0, 8)
    assert np.array_equal(arrays["obs_floats"][0], expected)
    with pytest.raises(EnvironmentFailed, match="as many seeds"):
        made.reset([1])


def test_actions_are_repeated_until_the_episode_ends():
    made, arrays = batch(lambda: Counter(length=3), action_repeat=2)
    made.step(zeros(made))
    assert arrays["reward"][0] == 1 + 2 and not arrays["terminated"][0]
    made.step(zeros(made))
    assert arrays["reward"][0] == 3 and arrays["terminated"][0]


# Spaces of observations.


def test_parts_lie_in_two_blocks_in_the_order_of_the_space():
    space = spaces.Dict(
        speed=spaces.Box(-np.inf, 1.0, (2,), np.float64),
        camera=spaces.Box(0, 255, (3, 8, 6), np.uint8),
        gear=spaces.Discrete(4, start=-1),
        pair=spaces.Tuple([spaces.MultiBinary(2), spaces.MultiDiscrete([2, 3])]),
    )
    value = {
        "speed": np.array([0.25, 0.5]),
        "camera": np.arange(144, dtype=np.uint8).reshape(3, 8, 6),
        "gear": 2,
        "pair": (np.array([1, 0]), np.array([1, 2])),
    }
    made, arrays = batch(showing(space, value))
    entries = dict(made.spaces["observation"]["entries"])
    assert list(entries) == ["speed", "camera", "gear", "pair"]
    assert entries["speed"]["low"] == [None, None] and entries["speed"]["high"] == [1.0, 1.0]
    assert entries["camera"]["shape"] == [8, 6, 3] and entries["camera"]["dtype"] == "u8"
    assert entries["gear"] == {"type": "discrete", "n": 4}
    assert [kind for kind, _ in entries["pair"]["entries"]] == ["0", "1"]
    assert arrays["obs_floats"][0].tolist() == [0.25, 0.5, 3, 1, 0, 1, 2]
    assert np.array_equal(arrays["obs_bytes"][0].reshape(8, 6, 3), value["camera"].transpose(1, 2, 0))
    assert json.loads(json.dumps(made.spaces)) == made.spaces


@pytest.mark.parametrize(
    ("shape", "layout"),
    [((8, 6, 3), [8, 6, 3]), ((8, 6), [8, 6, 1]), ((4, 8, 6), [8, 6, 4]), ((1, 8, 6, 3), [8, 6, 3]), ((128,), [128])],
)
def test_images_have_their_channels_last(shape, layout):
    value = np.random.default_rng(0).integers(0, 256, shape, dtype=np.uint8)
    made, arrays = batch(showing(spaces.Box(0, 255, shape, np.uint8), value))
    assert made.spaces["observation"]["shape"] == layout
    expected = value.transpose(1, 2, 0) if shape == (4, 8, 6) else value
    assert np.array_equal(arrays["obs_bytes"][0], expected.reshape(-1))


@pytest.mark.parametrize("space", [spaces.Box(-1, 1, (), np.float32), spaces.Discrete(3), spaces.Box(-1, 1, (2, 3), np.float64)])
def test_spaces_of_every_shape_are_written(space):
    made, arrays = batch(showing(space), n=2)
    for _ in range(4):
        made.step(zeros(made))
    assert arrays["obs_floats"].shape == (2, math.prod(space.shape))


@pytest.mark.parametrize(
    "space",
    [
        spaces.Text(3),
        spaces.Sequence(BOX),
        spaces.Graph(BOX, None),
        spaces.OneOf([BOX, spaces.Discrete(2)]),
        spaces.Dict(a=spaces.Text(3)),
    ],
)
def test_spaces_without_a_fixed_size_are_refused_by_name(space):
    name = "Text" if isinstance(space, spaces.Dict) else type(space).__name__
    with pytest.raises(EnvironmentFailed, match=name):
        Batch(showing(space), 1)


# Spaces of actions.


def taken(action_space, row):
    env = Counter(action=action_space)
    made, _ = batch(env)
    made.step(np.array([row], dtype=np.float32))
    return made.spaces["action"], env.actions[-1]


def test_choices_begin_at_the_start_of_their_space():
    described, action = taken(spaces.Discrete(3, start=5), [2])
    assert described == {"type": "discrete", "n": 3} and action == 7 and type(action) is int
    described, action = taken(spaces.MultiDiscrete([2, 3], start=[1, 10]), [1, 2])
    assert described == {"type": "multi_discrete", "nvec": [2, 3]} and action.tolist() == [2, 12]
    described, action = taken(spaces.MultiBinary((2, 2)), [1, 0, 0, 1])
    assert described == {"type": "multi_binary", "n": 4} and action.tolist() == [[1, 0], [0, 1]]


def test_boxes_get_their_own_shape_and_type():
    space = spaces.Box(-2, 2, (2, 1), np.float64)
    described, action = taken(space, [0.5, -1])
    assert described["shape"] == [2, 1] and described["low"] == [-2, -2]
    assert space.contains(action) and action.tolist() == [[0.5], [-1]]


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (spaces.Box(-np.inf, np.inf, (1,)), "finite `low` and `high`"),
        (spaces.Box(-1, np.inf, (1,)), "finite"),
        (spaces.Dict(a=BOX), "Dict actions"),
        (spaces.Tuple([BOX]), "Tuple actions"),
        (spaces.Text(3), "Text"),
    ],
)
def test_actions_that_agents_cannot_take_are_refused(space, said):
    with pytest.raises(EnvironmentFailed, match=said):
        Batch(lambda: Counter(action=space), 1)


# Masks and success.


class Masked(Counter):
    def info(self):
        return {"action_mask": np.array([1, self.t % 2, 0], dtype=np.int8)}


def test_masks_go_with_the_observation_they_belong_to():
    made, arrays = batch(lambda: Masked(length=3))
    assert made.spaces["masks"] == 3 and arrays["masks"][0].tolist() == [1, 0, 0]
    made.step(zeros(made))
    assert arrays["masks"][0].tolist() == [1, 1, 0]
    made.step(zeros(made))
    made.step(zeros(made))
    assert arrays["masks"][0].tolist() == [1, 0, 0] and arrays["final_masks"][0].tolist() == [1, 1, 0]


def test_bad_masks_are_refused():
    class Short(Masked):
        def info(self):
            return {"action_mask": np.ones(2)}

    class Nothing(Masked):
        def info(self):
            return {"action_mask": np.zeros(3)} if self.t == 2 else super().info()

    with pytest.raises(EnvironmentFailed, match="2 entries"):
        batch(Short)
    made, _ = batch(Nothing)
    made.step(zeros(made))
    with pytest.raises(EnvironmentFailed, match="allows no action"):
        made.step(zeros(made))
    with pytest.raises(EnvironmentFailed, match="no choices"):
        Batch(lambda: Masked(action=BOX), 1)


@pytest.mark.parametrize("key", ["is_success", "success"])
def test_success_is_a_column(key):
    class Task(Counter):
        def info(self):
            return {key: self.t == 2} if self.t else {}

    made, arrays = batch(lambda: Task(length=2))
    assert made.spaces["info"] == ["success"]
    made.step(zeros(made))
    assert arrays["info"][0, 0] == 0
    made.step(zeros(made))
    assert arrays["info"][0, 0] == 1


def test_goals_can_be_judged_again():
    class Reach(Counter):
        def compute_reward(self, achieved, desired, info):
            return -(np.linalg.norm(achieved - desired, axis=-1) > 0.5).astype(np.float32)

    made = Batch(Reach, 1)
    assert made.has_rules
    goals = np.array([[0.0, 0.0], [3.0, 0.0]], dtype=np.float32)
    assert made.compute_reward(goals, np.zeros((2, 2), np.float32)).tolist() == [0, -1]
    assert made.compute_terminated(goals, goals).tolist() == [0, 0]
    assert not Batch(Counter, 1).has_rules


# Vector environments.


def vector(mode, make=lambda: Counter(length=2), n=2):
    return SyncVectorEnv([make] * n, autoreset_mode=mode)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED])
def test_vector_environments_mean_the_same_as_single_ones(mode):
    made, arrays = batch(vector(mode, lambda: Masked(length=3)), 2)
    single, expected = batch(lambda: Masked(length=3), 2)
    for step in range(8):
        made.step(zeros(made))
        single.step(zeros(single))
        for name, array in arrays.items():
            ended = single._envs.rows.terminated[0] if name.startswith("final") else True
            columns = slice(0, 1) if name in ("obs_floats", "final_floats") else slice(None)
            assert not ended or np.array_equal(array.T[columns], expected[name].T[columns]), (step, name)


def test_resets_that_take_a_step_are_no_steps():
    made, arrays = batch(vector(AutoresetMode.NEXT_STEP), 2)
    made.step(zeros(made))
    made.step(zeros(made))
    assert arrays["terminated"].all() and arrays["stepped"].all() and arrays["final_floats"][0, 0] == 2
    made.step(zeros(made))
    assert not arrays["stepped"].any() and not arrays["terminated"].any() and arrays["obs_floats"][0, 0] == 0
    made.step(zeros(made))
    assert arrays["stepped"].all() and arrays["obs_floats"][0, 0] == 1


def test_dictionaries_come_in_batches_too():
    space = spaces.Dict(a=BOX, b=spaces.Box(0, 255, (3, 5, 4), np.uint8), c=spaces.Discrete(3, start=1))
    made, arrays = batch(vector(AutoresetMode.SAME_STEP, showing(space)), 2)
    for _ in range(5):
        made.step(zeros(made))
    assert arrays["obs_floats"].shape == (2, 3) and arrays["obs_bytes"].any() and arrays["final_bytes"].any()


def test_vector_environments_that_do_not_say_when_they_reset_are_refused():
    env = vector(AutoresetMode.SAME_STEP)
    env.metadata = {}
    with pytest.raises(EnvironmentFailed, match="autoreset_mode"):
        Batch(env, 2)
    with pytest.raises(EnvironmentFailed, match="set num_envs to 2"):
        Batch(vector(AutoresetMode.SAME_STEP), 3)


def test_atari_comes_as_a_batch_of_its_own():
    made, arrays = batch("ALE/Pong-v5", 2, [1, 2])
    assert made.spaces["observation"]["shape"] == [84, 84, 1] and made.spaces["action"]["n"] == 6
    first = arrays["obs_bytes"].copy()
    for _ in range(5):
        made.step(zeros(made))
    assert made.render(1).shape == (168, 168, 3)
    made.reset([1, 2])
    assert np.array_equal(arrays["obs_bytes"], first)
    with pytest.raises(EnvironmentFailed, match="frame_stack"):
        Batch.from_id("ALE/Pong-v5", 1, {"stack_num": 4})


# What environments do wrong.


def failing(**methods):
    return type("Failing", (Counter,), methods)


def raises(self, *args, **kwargs):
    raise RuntimeError("the motor is broken")


def at_step(value):
    return lambda self, action: value


OBS = np.zeros(2, dtype=np.float32)
BAD_STEPS = {
    "raised RuntimeError: the motor is broken": raises,
    "older Gym": at_step((OBS, 0.0, False, {})),
    "returned 3 values": at_step((OBS, 0.0, False)),
    "reward is nan": at_step((OBS, math.nan, False, False, {})),
    "reward is inf": at_step((OBS, math.inf, False, False, {})),
    "reward is None": at_step((OBS, None, False, False, {})),
    "is nan at place 1": at_step((np.array([0, np.nan], dtype=np.float32), 0.0, False, False, {})),
    r"shape \(3,\)": at_step((np.zeros(3, dtype=np.float32), 0.0, False, False, {})),
    r"shape \(1,\)": at_step((np.zeros(1, dtype=np.float32), 0.0, False, False, {})),
    "no numbers": at_step((np.array(["a", "b"]), 0.0, False, False, {})),
}


@pytest.mark.parametrize("said", BAD_STEPS)
def test_steps_gone_wrong_name_the_environment_and_the_fault(said):
    bad, good = failing()(), Counter()
    made, _ = batch(iter_of([good, bad]), 2)
    type(bad).step = BAD_STEPS[said]
    with pytest.raises(EnvironmentFailed, match=said) as caught:
        made._envs.steps[1] = bad.step
        made.step(zeros(made))
    assert caught.value.env == 1 and str(caught.value).startswith("environment 1: ")


def iter_of(envs):
    left = list(envs)
    return lambda: left.pop(0)


def test_the_environments_own_exception_is_the_cause():
    with pytest.raises(EnvironmentFailed, match="reset") as caught:
        Batch(failing(reset=raises), 1)
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_bytes_must_be_bytes_and_choices_must_exist():
    with pytest.raises(EnvironmentFailed, match="uint8"):
        batch(showing(spaces.Box(0, 255, (4, 4, 3), np.uint8), np.zeros((4, 4, 3), dtype=np.float32)))
    with pytest.raises(EnvironmentFailed, match="none of the choices"):
        batch(showing(spaces.Discrete(3), 3))
    with pytest.raises(EnvironmentFailed, match="part `b` is missing"):
        batch(showing(spaces.Dict(a=BOX, b=BOX), {"a": OBS}))


def test_an_old_reset_is_named():
    with pytest.raises(EnvironmentFailed, match="older Gym"):
        Batch(failing(reset=lambda self, **_: OBS), 1)


@pytest.mark.parametrize(
    ("make", "n", "said"),
    [
        ("NoSuchThing-v0", 1, "module:Id"),
        ("no_such_module:Thing-v0", 1, "no_such_module"),
        (Counter(), 2, "num_envs to 1"),
        (3, 1, "int is no environment"),
        (lambda: 3, 1, "no gymnasium.Env"),
    ],
)
def test_what_is_no_environment_is_refused(make, n, said):
    with pytest.raises(EnvironmentFailed, match=said):
        Batch(make, n)


# Options and wrappers.


def test_options_and_wrappers_of_an_id():
    options = {"max_episode_steps": 5, "evaluation": {"max_episode_steps": 2}, "wrappers": ["TimeAwareObservation"]}
    extra = [{"gymnasium.wrappers:TransformReward": {"func": lambda reward: 10 * reward}}]
    for purpose, length in (("training", 5), ("evaluation", 2)):
        made = Batch.from_id("CartPole-v1", 1, options, wrappers=extra, purpose=purpose)
        arrays = made.arrays()
        made.bind(arrays)
        made.reset([0])
        assert made.spaces["observation"]["shape"] == [5]
        for _ in range(length):
            assert not arrays["truncated"][0]
            made.step(zeros(made))
        assert arrays["truncated"][0] and arrays["reward"][0] == 10


@pytest.mark.parametrize(
    ("wrappers", "said"),
    [
        (["NoSuchWrapper"], "no wrapper `NoSuchWrapper`"),
        (["no_such_module:Wrapper"], "no_such_module"),
        ([{"ClipReward": {"nonsense": 1}}], "raised"),
        ([3], "not 3"),
        ("ClipReward", "must be a list"),
    ],
)
def test_bad_wrappers_are_refused(wrappers, said):
    with pytest.raises(EnvironmentFailed, match=said):
        Batch.from_id("CartPole-v1", 1, {"wrappers": wrappers})


def test_pictures_are_for_evaluation():
    made, _ = batch("CartPole-v1", 1, purpose="evaluation")
    assert made.render(0).ndim == 3
    made, _ = batch("CartPole-v1", 1)
    assert made.render(0) is None


def test_arrays_that_do_not_fit_are_refused():
    made = Batch("CartPole-v1", 2)
    with pytest.raises(EnvironmentFailed, match="call bind"):
        made.reset([1, 2])
    arrays = made.arrays()
    arrays["reward"] = arrays["reward"].astype(np.float32)
    with pytest.raises(EnvironmentFailed, match="`reward` must be float64"):
        made.bind(arrays)
