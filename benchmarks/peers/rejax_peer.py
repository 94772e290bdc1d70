"""rejax: environment, replay and learning compiled into one program. Measured twice: after compilation ("steady state"), and
from the moment the run is asked for ("compilation counted"; importing the libraries is not counted)."""

import time

import common

WORKS = ("ppo_cartpole", "ppo_cartpole_64", "dqn_cartpole", "sac_pendulum_64")
options = common.arguments(WORKS)
common.pin(options.threads)

import jax  # noqa: E402  (after the thread limits)
from rejax import get_algo  # noqa: E402

# Lengths as in `xtask/src/bench/peers/works.rs`: the runs that count compilation must be equally long on both sides.
RUNS = {
    "ppo_cartpole": ("ppo", 65_536, {
        "env": "CartPole-v1", "num_envs": 1, "num_steps": 2048, "num_epochs": 10, "num_minibatches": 32,
        "agent_kwargs": {"activation": "tanh", "hidden_layer_sizes": (64, 64)},
        "ent_coef": 0.0, "max_grad_norm": 0.5,
    }),
    "ppo_cartpole_64": ("ppo", 204_800, {
        "env": "CartPole-v1", "num_envs": 64, "num_steps": 32, "num_epochs": 4, "num_minibatches": 4,
        "agent_kwargs": {"activation": "tanh", "hidden_layer_sizes": (64, 64)},
        "ent_coef": 0.0, "max_grad_norm": 0.5,
    }),
    "dqn_cartpole": ("dqn", 10_000, {
        "env": "CartPole-v1", "num_envs": 1, "batch_size": 64, "buffer_size": 10_000, "fill_buffer": 100,
        "agent_kwargs": {"activation": "relu"}, "ddqn": False, "target_update_freq": 500, "polyak": 0.0,
        "max_grad_norm": 10.0,
    }),
    "sac_pendulum_64": ("sac", 2_000, {
        "env": "Pendulum-v1", "num_envs": 1, "batch_size": 256, "buffer_size": 10_000, "fill_buffer": 100,
        "hidden_layer_sizes": (64, 64), "polyak": 0.995,
    }),
}

for work in options.work:
    name, steps, settings = RUNS[work]
    algo = get_algo(name).create(
        total_timesteps=steps, eval_freq=steps, skip_initial_evaluation=True, learning_rate=3e-4, **settings
    )
    # Training alone: rejax would otherwise evaluate 128 episodes at the end.
    algo = algo.replace(eval_callback=lambda algo, state, key: ())
    begun = time.perf_counter()
    compiled = jax.jit(algo.train).lower(jax.random.key(0)).compile()
    jax.block_until_ready(compiled(jax.random.key(0)))
    cold = time.perf_counter() - begun
    steady = common.best_steps_per_second(
        lambda _: jax.block_until_ready(compiled(jax.random.key(1))), steps, options.rounds
    )
    common.emit(work, "steady state", options.threads, steady, "steps/s")
    common.emit(work + "_from_start", "compilation counted", options.threads, steps / cold, "steps/s")
