"""The classes: both ways to make an agent, learning, acting, measuring, files."""

import inspect
import pickle

import axiomrl
import numpy as np
import pytest
from axiomrl import DQN, PPO, SAC, ManagedAlgorithm, TrainConfig


def test_every_algorithm_has_a_class_with_its_settings_as_keywords():
    assert len(axiomrl.list_algorithms()) >= 82
    for spec in axiomrl.list_algorithm_specs():
        kind = getattr(axiomrl, spec.class_name)
        assert kind.algo == spec.name and issubclass(kind, ManagedAlgorithm)
        parameters = inspect.signature(kind).parameters
        assert list(parameters)[0] == "env"
        for name, default in spec.defaults.items():
            assert parameters["lambda_" if name == "lambda" else name].default == default, (spec.name, name)
        assert spec.summary in kind.__doc__
        assert pickle.loads(pickle.dumps(kind)) is kind
    names = "PPO DQN FQF DRQN NAF D4PG DrQv2 RLPD MBPO Dreamer GAIL SAC TD3 DDPG C51 QRDQN TRPO IQN R2D2 HER DAgger"
    assert all(hasattr(axiomrl, name) for name in names.split())


def test_the_former_name_of_the_package_leads_to_the_same():
    from rl_training import FQF

    assert FQF is axiomrl.FQF


def test_an_agent_of_a_config_learns_acts_and_is_measured(small, tmp_path):
    settings = {key: small.pop(key) for key in ("num_steps", "minibatch_size", "update_epochs")}
    config = TrainConfig(
        algo="ppo", env_id="CartPole-v1", total_timesteps=256, output_dir=tmp_path / "out", algo_kwargs=settings, **small
    )
    agent = PPO(config)
    assert agent.run_dir is None
    assert agent.learn() is agent
    assert agent.num_timesteps == 256
    assert agent.run_dir.parent == tmp_path / "out" and (agent.checkpoint_path / "manifest.json").is_file()
    assert agent.config.algo_kwargs["num_steps"] == 32 and agent.config.seed == 3
    result = agent.evaluate(3)
    assert len(result["returns"]) == 3 and result["mean_reward"] == pytest.approx(np.mean(result["returns"]))
    assert agent.result["reason"] == "finished" and agent.result["steps"] == 256
    with pytest.raises(ValueError, match="'sac' belongs"):
        SAC(config)


def test_an_agent_of_keywords_learns_on_when_asked_again(small):
    agent = PPO("CartPole-v1", **small).learn(128)
    folder, before = agent.run_dir, agent.get_parameters()
    agent.learn(64)
    assert (agent.num_timesteps, agent.run_dir) == (192, folder)
    after = agent.get_parameters()
    assert before.keys() == after.keys()
    assert any((before[name] != after[name]).any() for name in before)
    # What is finished stays as it is.
    agent.learn()
    assert agent.num_timesteps == 192


def test_words_of_stable_baselines_are_understood():
    agent = PPO(
        "MlpPolicy", "CartPole-v1", n_steps=64, n_epochs=3, batch_size=32, clip_range=0.1, gae_lambda=0.9, ent_coef=0.01,
        vf_coef=0.4, policy_kwargs={"net_arch": [16, 16]}, verbose=0,
    )  # fmt: skip
    own = agent.config.algo_kwargs
    assert (own["num_steps"], own["update_epochs"], own["minibatch_size"], own["hidden_sizes"]) == (64, 3, 32, [16, 16])
    assert (own["clip_coef"], own["gae_lambda"], own["vf_coef"]) == pytest.approx((0.1, 0.9, 0.4))
    sac = SAC(
        "MlpPolicy", "Pendulum-v1", buffer_size=500, learning_starts=50, train_freq=(2, "step"), ent_coef="auto_0.1",
        policy_kwargs={"net_arch": {"pi": [8], "qf": [16]}},
    )  # fmt: skip
    own = sac.config.algo_kwargs
    assert (own["buffer_capacity"], own["train_frequency"], own["ent_coef"], own["ent_coef_init"]) == (500, 2, "auto", pytest.approx(0.1))
    assert (own["hidden_sizes"], own["critic_hidden_sizes"]) == ([8], [16])


@pytest.mark.parametrize(
    "given, error, words",
    [
        ({"gama": 0.9}, TypeError, "did you mean 'gamma'"),
        ({"n_step": 5}, TypeError, "unexpected keyword 'n_step'"),
        ({"gamma": 2.0}, ValueError, "gamma"),
        ({"clip_coef": 0.1, "clip_range": 0.2}, TypeError, "keep one"),
        ({"learning_rate": lambda left: left}, TypeError, "linear"),
        ({"policy_kwargs": {"net_arch": {"pi": [8], "vf": [9]}}}, TypeError, "one list"),
        ({"seed": -1}, ValueError, "seed"),
        ({"sequence_length": 8}, ValueError, "sequence_length"),
    ],
)
def test_mistakes_are_named_when_the_agent_is_made(given, error, words):
    with pytest.raises(error, match=words):
        PPO("CartPole-v1", **given)


def test_other_mistakes_are_named_too(small):
    with pytest.raises(ValueError, match="CartPole"):
        PPO("CartPol-v1")
    with pytest.raises(ValueError, match="Box|Discrete"):
        SAC("CartPole-v1")
    with pytest.raises(TypeError, match="how long"):
        PPO("CartPole-v1").learn()
    with pytest.raises(KeyError, match="dqn"):
        axiomrl.make("dqnn", "CartPole-v1")
    with pytest.raises(RuntimeError, match="learn first"):
        PPO("CartPole-v1").save("somewhere")


def test_what_is_saved_is_loaded_and_goes_on(small, tmp_path):
    agent = PPO("CartPole-v1", **small).learn(128)
    saved = agent.save(tmp_path / "kept" / "agent")
    assert agent.save(saved) == saved, "saving again replaces it"
    loaded = PPO.load(saved)
    rows = np.random.default_rng(0).normal(size=(5, 4))
    assert (loaded.predict(rows)[0] == agent.predict(rows)[0]).all()
    assert loaded.evaluate(4) == agent.evaluate(4)
    assert loaded.num_timesteps == 128 and type(axiomrl.load(saved)) is PPO
    loaded.learn(64)
    assert loaded.num_timesteps == 192
    # The same as going on without a file between.
    agent.learn(64)
    ours, theirs = agent.get_parameters(), loaded.get_parameters()
    assert all((ours[name] == theirs[name]).all() for name in ours)
    with pytest.raises(axiomrl.CheckpointError, match="axiomrl.PPO.load"):
        DQN.load(saved)
    with pytest.raises(FileNotFoundError):
        PPO.load(tmp_path / "nowhere")
    with pytest.raises(FileExistsError):
        agent.save(tmp_path)


def test_a_stopped_run_is_resumed_to_its_end(small):
    config = TrainConfig.from_file("ppo/cartpole", total_timesteps=512, num_envs=2, algo_kwargs={"num_steps": 32})
    agent = PPO(config)
    agent.learn(callback=lambda agent: agent.num_timesteps < 200)
    assert agent.num_timesteps == 200 and agent.result["reason"] == "interrupted"
    folder = agent.run_dir
    agent.close()
    resumed = PPO.resume(folder)
    assert resumed.num_timesteps == 512 and resumed.result["reason"] == "finished"
    whole = PPO(config).learn()
    assert all((value == whole.get_parameters()[name]).all() for name, value in resumed.get_parameters().items())


def test_a_policy_acts_without_its_environment(small, tmp_path):
    agent = PPO("CartPole-v1", **small).learn(64)
    policy = axiomrl.load_policy(agent.run_dir)
    assert policy.predict(np.zeros(4))[0] == agent.predict(np.zeros(4))[0]
    assert policy.observation_space.shape == (4,) and policy.action_space.n == 2
    assert axiomrl.predict_checkpoint(agent.run_dir, np.zeros(4)) in (0, 1)
    assert axiomrl.evaluate_checkpoint(agent.run_dir, 2)["lengths"] == agent.evaluate(2)["lengths"]
    assert "ppo on CartPole-v1" in repr(policy)


def test_parameters_go_out_and_in(small):
    agent = PPO("CartPole-v1", **small)
    own = agent.get_parameters()
    agent.set_parameters({name: np.zeros_like(value) for name, value in own.items()})
    assert not any(value.any() for value in agent.get_parameters().values())
    # What was set before the run begins is what it begins with.
    agent.learn(1, callback=lambda agent: False)
    assert not any(value.any() for value in agent.get_parameters().values())
    agent.set_parameters(own)
    first = next(iter(own))
    with pytest.raises(KeyError, match="exact_match"):
        agent.set_parameters({first: own[first]})
    agent.set_parameters({first: own[first]}, exact_match=False)
    with pytest.raises(ValueError, match="shape"):
        agent.set_parameters({first: np.zeros(7)}, exact_match=False)
    with pytest.raises(KeyError, match="no parameter"):
        agent.set_parameters({"nonsense": np.zeros(7)}, exact_match=False)


def test_metrics_are_arrays_and_survive_a_file(small):
    agent = PPO("CartPole-v1", log_interval=64, eval_interval=64, **small).learn(256)
    metrics = agent.metrics
    assert metrics["step"].tolist() == [64, 128, 192, 256]
    assert len(metrics["eval/mean_reward"]) == 4 and np.isfinite(metrics["eval/mean_reward"][-1])
    again = axiomrl.load(agent.run_dir).metrics
    assert again.keys() == metrics.keys() and np.array_equal(again["step"], metrics["step"])


def test_two_agents_learn_in_two_threads(small):
    import threading

    agents = [PPO("CartPole-v1", **{**small, "seed": 5}) for _ in range(2)]
    threads = [threading.Thread(target=agent.learn, args=(512,)) for agent in agents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = (agent.get_parameters() for agent in agents)
    assert all((one[name] == other[name]).all() for name in one)
