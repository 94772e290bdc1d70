"""What a section of RL-Baselines3-Zoo says, key by key, in our words."""

from __future__ import annotations

import importlib.util
from typing import Any

from ._expressions import Name, literal
from ._keywords import POLICIES, translate
from ._registry import AlgorithmSpec

#: What Stable-Baselines3 (2.9) does where a section is silent, in its own words.
ROLLOUT = {"gamma": 0.99, "gae_lambda": 0.95, "ent_coef": 0.0, "vf_coef": 0.5, "max_grad_norm": 0.5}
REPLAY = {"buffer_size": 1_000_000, "learning_starts": 100, "gamma": 0.99, "gradient_steps": 1}
CONTINUOUS = {**REPLAY, "batch_size": 256, "train_freq": 1}
SOFT = {**CONTINUOUS, "learning_rate": 3e-4, "tau": 0.005, "ent_coef": "auto"}
CHOICES = {**REPLAY, "batch_size": 32, "train_freq": 4, "tau": 1.0, "target_update_interval": 10_000, "exploration_initial_eps": 1.0}
CLIPPED = {**ROLLOUT, "learning_rate": 3e-4, "n_epochs": 10, "clip_range": 0.2, "normalize_advantage": True}
DEFAULTS: dict[str, dict[str, Any]] = {
    "a2c": {**ROLLOUT, "learning_rate": 7e-4, "n_steps": 5, "gae_lambda": 1.0, "use_rms_prop": True, "normalize_advantage": False},
    "ars": {"n_delta": 8, "learning_rate": 0.02, "delta_std": 0.05, "zero_policy": True},
    "crossq": {**CONTINUOUS, "learning_rate": 1e-3, "policy_delay": 3, "ent_coef": "auto"},
    "ddpg": {**CONTINUOUS, "learning_rate": 1e-3, "tau": 0.005, "noise_type": None},
    "dqn": {**CHOICES, "learning_rate": 1e-4, "exploration_fraction": 0.1, "exploration_final_eps": 0.05, "max_grad_norm": 10.0},
    "ppo": {**CLIPPED, "n_steps": 2048, "batch_size": 64},
    "ppo_lstm": {**CLIPPED, "n_steps": 128, "batch_size": 128},
    "qrdqn": {**CHOICES, "learning_rate": 5e-5, "exploration_fraction": 0.005, "exploration_final_eps": 0.01, "max_grad_norm": None},
    "sac": SOFT,
    "td3": {**CONTINUOUS, "learning_rate": 1e-3, "tau": 0.005, "policy_delay": 2, "noise_type": None},
    "tqc": {**SOFT, "top_quantiles_to_drop_per_net": 2},
    "trpo": {
        "gamma": 0.99, "gae_lambda": 0.95, "learning_rate": 1e-3, "n_steps": 2048, "batch_size": 128, "cg_max_steps": 15,
        "cg_damping": 0.1, "line_search_shrinking_factor": 0.8, "line_search_max_iter": 10, "n_critic_updates": 10, "target_kl": 0.01,
    },
}  # fmt: skip
#: The same for `policy_kwargs`.
NETWORKS: dict[str, dict[str, Any]] = {
    **{algo: {"net_arch": [64, 64], "activation_fn": "Tanh"} for algo in ("a2c", "ppo", "trpo")},
    **{algo: {"net_arch": [64, 64], "activation_fn": "ReLU"} for algo in ("dqn",)},
    **{algo: {"net_arch": [400, 300], "activation_fn": "ReLU"} for algo in ("ddpg", "td3")},
    "ars": {"net_arch": [64, 64], "activation_fn": "ReLU"},
    "crossq": {"net_arch": {"pi": [256, 256], "qf": [1024, 1024]}, "activation_fn": "ReLU"},
    "ppo_lstm": {"net_arch": [64, 64], "activation_fn": "Tanh", "lstm_hidden_size": 256},
    "qrdqn": {"net_arch": [64, 64], "activation_fn": "ReLU", "n_quantiles": 200},
    "sac": {"net_arch": [256, 256], "activation_fn": "ReLU"},
    "tqc": {"net_arch": [256, 256], "activation_fn": "ReLU", "n_quantiles": 25, "n_critics": 2},
}
#: Width of the layer that Stable-Baselines3 has between an image's features and the rest.
IMAGE_FEATURES = 512
#: A norm that no gradient has: none is clipped.
UNCLIPPED = 1e9
#: What may fall to nothing over the run, as the zoo reads it.
SCHEDULED = ("learning_rate", "clip_range")
#: The wrapper of Stable-Baselines3 that an id of Atari stands for here.
ATARI = "stable_baselines3.common.atari_wrappers.AtariWrapper"
#: Its options, and what ale-py calls them.
ATARI_OPTIONS = {"noop_max": "noop_max", "frame_skip": "frameskip", "action_repeat_probability": "repeat_action_probability"}


class Reading:
    """A section on its way to a run."""

    def __init__(self, spec: AlgorithmSpec, algo: str):
        self.spec, self.algo = spec, algo
        self.run: dict[str, Any] = {}
        self.settings: dict[str, Any] = {}
        self.env_kwargs: dict[str, Any] = {}
        self.unmapped: dict[str, Any] = {}
        self.reasons: dict[str, str] = {}
        self.section: dict[str, Any] = {}

    def all_of(self, section: dict[str, Any]) -> None:
        self.section = {"policy": "MlpPolicy", **DEFAULTS[self.algo], **section}
        # Where a section names no network there is one all the same.
        self.section.setdefault("policy_kwargs", {})
        for key, value in self.section.items():
            # The methods below are named after the keys that mean more than another word does.
            own = getattr(self, f"take_{key}", None)
            try:
                own(value) if own is not None else self.put(key, value)
            except (TypeError, ValueError, KeyError, AttributeError) as error:
                self.leave(key, value, f"it is not understood ({error})")

    def put(self, key: str, value: Any, name: str | None = None) -> None:
        """A key that is another word for one of ours; `name` is what the file calls it."""
        if key in SCHEDULED and isinstance(value, str) and value.startswith("lin_"):
            value = {"linear": [float(value.removeprefix("lin_")), 0.0]}
        elif isinstance(value, str) and value.startswith("lin_"):
            return self.leave(name or key, value, "it is one number here, for the whole run")
        try:
            run, settings = translate(self.spec, {key: value} if name is None else {"policy_kwargs": {key: value}})
        except (TypeError, ValueError) as error:
            unknown = any(words in str(error) for words in ("unexpected keyword", "means nothing here"))
            why = f"{self.spec.class_name} has no such setting" if unknown else str(error)
            return self.leave(name or key, value, why)
        for at, one in settings.items():
            whole = isinstance(one, float) and one.is_integer() and isinstance(self.spec.defaults[at], int)
            self.settings[at] = int(one) if whole else one
        self.run.update(run)

    def leave(self, key: str, value: Any, why: str) -> None:
        self.unmapped[key], self.reasons[key] = value, why

    def has(self, setting: str) -> bool:
        return setting in self.spec.defaults

    def expression(self, key: str, value: Any) -> dict[str, Any]:
        """A dictionary that is written as Python, or nothing if it is none."""
        try:
            found = literal(value) if isinstance(value, str) else value
        except ValueError as error:
            self.leave(key, value, str(error))
            return {}
        if found is None or isinstance(found, dict):
            return found or {}
        self.leave(key, value, "it is no dictionary")
        return {}

    # The run

    def take_n_timesteps(self, value: Any) -> None:
        self.run["total_timesteps"] = int(float(value))

    def take_normalize(self, value: Any) -> None:
        given = {} if isinstance(value, bool) else self.expression("normalize", value)
        wanted = value is not False and value is not None and "normalize" not in self.unmapped
        both = {"norm_obs": wanted, "norm_reward": wanted, **given}
        if self.has("observation_statistics"):
            # ARS has statistics of its own.
            self.settings["observation_statistics"] = bool(both.pop("norm_obs"))
        for key, name in (("norm_obs", "normalize_observation"), ("norm_reward", "normalize_reward")):
            if both.pop(key, False):
                self.run[name] = True
        for key, other in both.items():
            # The discount is the algorithm's, and 10 is where both of us clip.
            if not (key == "gamma" or (key in ("clip_obs", "clip_reward") and other == 10)):
                self.leave(f"normalize.{key}", other, "there is no such setting")

    def take_env_kwargs(self, value: Any) -> None:
        self.env_kwargs.update(self.expression("env_kwargs", value))

    def take_env_wrapper(self, value: Any) -> None:
        for entry in value if isinstance(value, list) else [value]:
            path, options = next(iter(entry.items())) if isinstance(entry, dict) else (entry, None)
            if path == ATARI:
                self.atari(options or {})
            elif path is not None:
                self.wrapper(str(path), options)

    def atari(self, options: dict[str, Any]) -> None:
        """Part of what an id of Atari means here, except for a life that counts as an episode."""
        given = {"terminal_on_life_loss": True, **options}
        if given.pop("terminal_on_life_loss"):
            self.env_kwargs["training"] = {"episodic_life": True}
        for key, value in given.items():
            if key in ATARI_OPTIONS:
                self.env_kwargs[ATARI_OPTIONS[key]] = value
            elif (key, value) not in (("screen_size", 84), ("clip_reward", True)):
                self.leave(f"env_wrapper.{key}", value, "Atari's frames are 84 pixels wide and rewards in training clipped")

    def wrapper(self, path: str, options: Any) -> None:
        module, _, name = path.rpartition(".")
        package = module.partition(".")[0]
        if not module or not all(part.isidentifier() for part in path.split(".")):
            return self.leave(f"env_wrapper.{path}", options, "it is no wrapper of a module, `module.Wrapper`")
        if importlib.util.find_spec(package) is None:
            return self.leave(f"env_wrapper.{path}", options, f"the package `{package}` is not installed")
        # Gymnasium has moved its wrappers about; all of them are in one place.
        known = name if package == "gymnasium" else f"{module}:{name}"
        self.env_kwargs.setdefault("wrappers", []).append({known: options} if options else known)

    # How it learns

    def take_policy(self, value: Any) -> None:
        if value not in POLICIES:
            self.leave("policy", value, f"there are {', '.join(sorted(POLICIES))}")

    def take_train_freq(self, value: Any) -> None:
        count, unit = value if isinstance(value, (list, tuple)) else (value, "step")
        # All environments together take so many steps.
        together = int(self.section.get("n_envs") or 1)
        self.settings["train_frequency"] = int(count) * together if unit == "step" else 1
        if unit != "step":
            self.leave("train_freq", value, "updates are counted by steps, not by episodes; there is one after every step")

    def take_max_grad_norm(self, value: Any) -> None:
        self.put("max_grad_norm", UNCLIPPED if value is None else value)

    def take_use_rms_prop(self, value: Any) -> None:
        self.settings.setdefault("optimizer", "rmsprop" if value else "adam")

    def take_sub_sampling_factor(self, value: Any) -> None:
        if value != 1:
            self.leave("sub_sampling_factor", value, "every step counts in the objective here")

    def take_optimize_memory_usage(self, value: Any) -> None:
        """Every observation is kept once here, whatever it says."""

    # How it explores

    def take_noise_type(self, value: Any) -> None:
        kinds = {"normal": "gaussian", "ornstein-uhlenbeck": "ornstein_uhlenbeck"}
        if value is None:
            # Stable-Baselines3 adds no noise unless it is told to.
            self.settings["exploration_noise"] = 0.0
        elif value not in kinds or not self.has("exploration_noise"):
            self.leave("noise_type", value, "there are `normal` and `ornstein-uhlenbeck`, for algorithms of Box actions")
        else:
            self.settings.update(exploration=kinds[value], exploration_noise=float(self.section.get("noise_std") or 0.0))
            if value != "normal":
                self.leave("noise_type", value, "there is such noise and it is used, but it moves on a hundred times faster")

    def take_noise_std(self, value: Any) -> None:
        if self.section.get("noise_type") is None:
            self.leave("noise_std", value, "it belongs to a `noise_type`")

    def take_use_sde(self, value: Any) -> None:
        if not value:
            return
        if self.has("exploration_horizon"):
            self.settings["exploration"] = "state_dependent"
        else:
            self.leave("use_sde", value, f"{self.spec.class_name} has no noise that depends on the state")

    # Goals

    def take_replay_buffer_class(self, value: Any) -> None:
        if value is None:
            return
        if Name(value).last != "HerReplayBuffer" or not self.has("n_sampled_goal"):
            return self.leave("replay_buffer_class", value, "there is hindsight, `HerReplayBuffer`, for algorithms with replay")
        self.settings["n_sampled_goal"] = 4

    def take_replay_buffer_kwargs(self, value: Any) -> None:
        for key, one in self.expression("replay_buffer_kwargs", value).items():
            if key in ("n_sampled_goal", "goal_selection_strategy") and self.has(key):
                self.settings[key] = one.lower() if isinstance(one, str) else int(one)
            elif (key, one) != ("handle_timeout_termination", True):
                self.leave(f"replay_buffer_kwargs.{key}", one, "there is no such setting")

    # ARS

    def take_n_top(self, value: Any) -> None:
        self.put("n_top", min(int(value), int(self.section["n_delta"])))

    def take_n_delta(self, value: Any) -> None:
        self.put("n_delta", value)
        self.settings.setdefault("num_top_directions", int(value))
        self.settings.setdefault("observation_statistics", False)

    def take_zero_policy(self, value: Any) -> None:
        if bool(value) != (self.section["policy"] == "LinearPolicy"):
            self.leave("zero_policy", value, "a linear policy begins at zero and a network does not")

    def take_alive_bonus_offset(self, value: Any) -> None:
        # There it is added, here taken away.
        self.settings["reward_shift"] = -float(value)

    # Networks

    def take_policy_kwargs(self, value: Any) -> None:
        said = self.expression("policy_kwargs", value)
        given = {**NETWORKS[self.algo], **said}
        sees, network = str(self.section["policy"]), given.pop("net_arch")
        # Between the features of an image and the rest there is a wide layer; behind it, only what a section names.
        image = [IMAGE_FEATURES] if sees.startswith("Cnn") else []
        if sees == "LinearPolicy" or (image and "net_arch" not in said):
            network = []
        if image and "activation_fn" not in said and "net_arch" not in said:
            given["activation_fn"] = "ReLU"
        if self.spec.defaults.get("memory", "none") != "none":
            # There the layers come after the memory, which sees what is observed as it is.
            self.settings["hidden_sizes"] = image
            self.after_memory(network)
        elif isinstance(network, list):
            self.settings["hidden_sizes"] = [*image, *network]
        else:
            self.put("net_arch", network, "policy_kwargs.net_arch")
        activation = given.pop("activation_fn")
        if self.settings.get("hidden_sizes") or self.settings.get("head_sizes"):
            # Without a layer there is nothing for it to do.
            self.put("activation_fn", Name(activation).last, "policy_kwargs.activation_fn")
        for key, one in given.items():
            self.about_network(key, one)

    def after_memory(self, network: Any) -> None:
        sizes = list(network.values()) if isinstance(network, dict) else [network]
        if any(list(one) != list(sizes[0]) for one in sizes):
            self.leave("policy_kwargs.net_arch", network, "policy and value have networks of one shape here; the policy's is used")
        self.settings["head_sizes"] = list(sizes[0])

    def about_network(self, key: str, value: Any) -> None:
        name = f"policy_kwargs.{key}"
        if key == "optimizer_class" and self.has("optimizer") and Name(value).last == "RMSpropTFLike":
            self.settings["optimizer"] = "rmsprop_tf"
        elif key == "optimizer_kwargs" and self.has("optimizer") and value == {"eps": 1e-5}:
            return  # As it is here.
        elif (key, value) in (("ortho_init", True), ("enable_critic_lstm", True), ("shared_lstm", False), ("n_lstm_layers", 1)):
            return  # So is this.
        else:
            self.put(key, value, name)
