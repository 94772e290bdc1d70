"""d3rlpy: updates from recorded transitions, each with the drawing of its batch, as `fit` has it but without its loggers.

`default` is the library as its users write it, `tuned` has the fused Adam; "batch at hand" leaves the drawing out. Everything that
can be done once is done before the clock starts: actions and rewards, and for TD3+BC observations, are in units of the networks.

`--returns` trains instead, and plays: one JSON line per algorithm and seed. `axiomrl train` with the settings in
`xtask/src/bench/peers/agents.rs` is the other side of that."""

import json

import common

WORKS = ("iql_update", "cql_update", "td3_bc_update")


def more(parser):
    parser.add_argument("--returns", action="store_true", help="train and play instead of timing")
    parser.add_argument("--updates", type=int, default=20_000, help="updates before playing")
    parser.add_argument("--seeds", default="1,2,3", help="numbers, separated by commas")


options = common.arguments(WORKS, more)
if not options.data:
    raise SystemExit("recorded transitions are missing: --data FILE.npz")

import d3rlpy  # noqa: E402  (after the thread limits)
import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402
from d3rlpy.optimizers import AdamFactory  # noqa: E402
from d3rlpy.optimizers.lr_schedulers import CosineAnnealingLRFactory  # noqa: E402

EPISODES = 20
# Pendulum's actions reach from -2 to 2, those of a policy from -1 to 1.
LARGEST = 2.0


class FusedAdam(AdamFactory):
    def create_optimizer(self, named_modules, lr):
        plain = super().create_optimizer(named_modules, lr)
        return torch.optim.Adam(plain.param_groups[0]["params"], lr=lr, betas=self.betas, eps=self.eps, fused=True)


def iql(adam, updates):
    # Ours lets the policy's step size fall to 0 along half a cosine, which matters to returns alone.
    schedule = CosineAnnealingLRFactory(T_max=updates) if updates else None
    return d3rlpy.algos.IQLConfig(
        batch_size=256, gamma=0.98, expectile=0.8, weight_temp=3.0, max_weight=100.0, actor_learning_rate=3e-4,
        critic_learning_rate=1e-3, actor_optim_factory=adam(lr_scheduler_factory=schedule), critic_optim_factory=adam(),
    )


def cql(adam, _updates):
    # A fixed weight of the gap: no factor on it is learned.
    return d3rlpy.algos.CQLConfig(
        batch_size=256, gamma=0.98, n_action_samples=10, conservative_weight=1.0, initial_alpha=1.0,
        alpha_learning_rate=0.0, alpha_threshold=0.0, actor_learning_rate=3e-4, critic_learning_rate=1e-3,
        temp_learning_rate=1e-3, actor_optim_factory=adam(), critic_optim_factory=adam(), temp_optim_factory=adam(),
    )


def td3_bc(adam, _updates):
    return d3rlpy.algos.TD3PlusBCConfig(
        batch_size=256, gamma=0.98, alpha=20.0, update_actor_interval=2, actor_learning_rate=1e-3,
        critic_learning_rate=1e-3, actor_optim_factory=adam(), critic_optim_factory=adam(),
    )


# Networks of 256x256 are the default of all three. Factor on rewards, whether observations are standardised, and updates that are
# not alike and belong together.
ALGORITHMS = {
    "iql_update": (iql, 0.1, False, 1),
    "cql_update": (cql, 0.1, False, 1),
    "td3_bc_update": (td3_bc, 1.0, True, 2),
}


class Recorded:
    """What was recorded, in units of the networks."""

    def __init__(self, path, reward_scale, standardised):
        columns = np.load(path)
        obs = columns["obs"].astype(np.float32)
        self.shift, self.scale = np.zeros(obs.shape[1], np.float32), np.ones(obs.shape[1], np.float32)
        if standardised:
            self.shift, self.scale = obs.mean(axis=0), obs.std(axis=0)
        self.transitions = d3rlpy.dataset.MDPDataset(
            observations=self.seen(obs),
            actions=columns["actions"].astype(np.float32) / LARGEST,
            rewards=columns["rewards"].astype(np.float32) * reward_scale,
            terminals=columns["terminations"].astype(np.float32),
            timeouts=columns["truncations"].astype(np.float32),
            action_space=d3rlpy.ActionSpace.CONTINUOUS,
        )

    def seen(self, obs):
        return (obs - self.shift) / self.scale


def built(work, adam, recorded, updates=None):
    config, *_ = ALGORITHMS[work]
    algorithm = config(adam, updates).create(device="cpu:0")
    algorithm.build_with_dataset(recorded.transitions)
    return algorithm


def measure(work):
    _, reward_scale, standardised, together = ALGORITHMS[work]
    recorded = Recorded(options.data, reward_scale, standardised)
    draw = recorded.transitions.sample_transition_batch
    for variant, adam in (("default", AdamFactory), ("tuned", FusedAdam)):
        algorithm = built(work, adam, recorded)

        def updates(batch_of):
            for _ in range(together):
                algorithm.update(batch_of())

        best = common.best_microseconds(lambda: updates(lambda: draw(256)), options.rounds) / together
        common.emit(work, variant, options.threads, best, "us")
    batch = draw(256)
    best = common.best_microseconds(lambda: updates(lambda: batch), options.rounds) / together
    common.emit(work, "tuned, batch at hand", options.threads, best, "us")


def played(algorithm, recorded, seed):
    env = gymnasium.make("Pendulum-v1")
    returns = []
    for episode in range(EPISODES):
        obs, _ = env.reset(seed=1000 * seed + episode)
        total, over = 0.0, False
        while not over:
            action = algorithm.predict(recorded.seen(obs)[None].astype(np.float32))[0] * LARGEST
            obs, reward, terminated, truncated, _ = env.step(action)
            total, over = total + float(reward), terminated or truncated
        returns.append(total)
    return returns


def train_and_play(work, seed):
    _, reward_scale, standardised, _ = ALGORITHMS[work]
    d3rlpy.seed(seed)
    recorded = Recorded(options.data, reward_scale, standardised)
    algorithm = built(work, AdamFactory, recorded, options.updates)
    for _ in range(options.updates):
        algorithm.update(recorded.transitions.sample_transition_batch(256))
    returns = played(algorithm, recorded, seed)
    line = {"algo": work.removesuffix("_update"), "seed": seed, "updates": options.updates, "episodes": EPISODES}
    line |= {"mean_return": round(float(np.mean(returns)), 2), "std_return": round(float(np.std(returns)), 2)}
    print(json.dumps(line), flush=True)


torch.set_num_threads(options.threads)
for work in options.work:
    if options.returns:
        for seed in map(int, options.seeds.split(",")):
            train_and_play(work, seed)
    else:
        measure(work)
