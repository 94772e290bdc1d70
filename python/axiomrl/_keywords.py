"""Keywords of Stable-Baselines3 that mean the same as a setting here, and what is said about those that mean nothing."""

from __future__ import annotations

from typing import Any

from ._config import RUN_KEYS
from ._registry import AlgorithmSpec, did_you_mean

#: Another name, and the settings it may stand for: the first that an algorithm has is meant.
ALIASES: dict[str, tuple[str, ...]] = {
    "n_steps": ("num_steps", "n_step"),
    "n_epochs": ("update_epochs",),
    "batch_size": ("minibatch_size",),
    "clip_range": ("clip_coef",),
    "clip_range_vf": ("value_clip_coef",),
    "target_kl": ("max_kl",),
    "cg_max_steps": ("cg_iterations",),
    "line_search_shrinking_factor": ("line_search_shrink",),
    "line_search_max_iter": ("line_search_steps",),
    "n_critic_updates": ("value_updates", "update_epochs"),
    "buffer_size": ("buffer_capacity",),
    "train_freq": ("train_frequency",),
    "exploration_initial_eps": ("epsilon_start",),
    "exploration_final_eps": ("epsilon_end",),
    "target_policy_noise": ("target_noise",),
    "n_quantiles": ("num_quantiles",),
    "num_quantiles": ("n_quantiles",),
    "num_critics": ("n_critics",),
    "num_atoms": ("n_atoms",),
    "top_quantiles_to_drop_per_net": ("top_quantiles_to_drop",),
    "n_delta": ("num_directions",),
    "n_top": ("num_top_directions",),
    "delta_std": ("noise_std",),
    "alpha": ("ent_coef",),
    "tensorboard_log": ("output_dir",),
    "n_envs": ("num_envs",),
}

#: Words of Stable-Baselines3 for kinds of policies: the environment says here what is needed.
POLICIES = {"MlpPolicy", "CnnPolicy", "MultiInputPolicy", "MlpLstmPolicy", "CnnLstmPolicy", "MultiInputLstmPolicy", "LinearPolicy"}

ACTIVATIONS = {"relu": "relu", "tanh": "tanh", "elu": "elu", "silu": "silu", "identity": "identity"}


def python_name(setting: str) -> str:
    """A setting as a keyword: `lambda` is a word of Python's own."""
    return setting + "_" if setting == "lambda" else setting


def translate(spec: AlgorithmSpec, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Keys of the run, and settings of the algorithm."""
    run: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for key, value in flatten(spec, given):
        name = resolve(spec, key)
        to = settings if name in spec.defaults else run
        if name in to:
            raise TypeError(f"{spec.class_name}() got {key!r} and another word for the same, {name!r}; keep one")
        to[name] = converted(name, key, value)
    return run, settings


def resolve(spec: AlgorithmSpec, key: str) -> str:
    """The setting that a keyword stands for."""
    own = key[:-1] if key == "lambda_" else key
    if own in spec.defaults or own in RUN_KEYS:
        return own
    for name in ALIASES.get(key, ()):
        if name in spec.defaults or name in RUN_KEYS:
            return name
    known = [python_name(name) for name in (*spec.defaults, *RUN_KEYS)]
    near = did_you_mean(key, [*known, *(alias for alias in ALIASES if alias != key)])
    remedy = REMEDIES.get(key) or near.removeprefix("; ") or f"`help(axiomrl.{spec.class_name})` lists them"
    raise TypeError(f"{spec.class_name}() got an unexpected keyword {key!r}; {remedy}")


REMEDIES = {
    "action_noise": "use exploration=\"gaussian\" and exploration_noise=0.1",
    "use_sde": "use exploration=\"state_dependent\" where the algorithm has it",
    "replay_buffer_class": "HER is an algorithm of its own: axiomrl.HER",
    "replay_buffer_kwargs": "HER is an algorithm of its own: axiomrl.HER",
    "monitor_wrapper": "every run writes monitor.csv",
    "optimizer_class": "the algorithm's own optimiser is used",
}


def flatten(spec: AlgorithmSpec, given: dict[str, Any]):
    """Keywords one by one; those within `policy_kwargs` among them."""
    for key, value in given.items():
        if key == "policy_kwargs":
            yield from policy_settings(spec, dict(value or {}))
        elif key == "verbose":
            continue  # How much is said is a matter of `learn`.
        elif isinstance(value, str) and key == "ent_coef" and value.startswith("auto_"):
            yield "ent_coef", "auto"
            yield "ent_coef_init", float(value.removeprefix("auto_"))
        else:
            yield key, value


def policy_settings(spec: AlgorithmSpec, given: dict[str, Any]):
    """What Stable-Baselines3 says of networks."""
    for key, value in given.items():
        if key == "net_arch":
            yield from network(spec, value)
        elif key == "activation_fn":
            name = str(getattr(value, "__name__", value)).lower()
            if name not in ACTIVATIONS:
                raise TypeError(f"activation_fn {name!r} is not known; there are {', '.join(ACTIVATIONS)}")
            yield "activation", ACTIVATIONS[name]
        elif key in ("log_std_init", "n_critics", "n_quantiles"):
            yield key, value
        elif key == "lstm_hidden_size":
            yield "recurrent_hidden_size", value
        else:
            raise TypeError(f"policy_kwargs has {key!r}, which means nothing here; there are net_arch and activation_fn")


def network(spec: AlgorithmSpec, value: Any):
    if not isinstance(value, dict):
        yield "hidden_sizes", list(value)
        return
    actor, critic = value.get("pi"), value.get("vf", value.get("qf"))
    if actor is None or critic is None:
        raise TypeError('net_arch is a list of widths, or has "pi" and "vf" (or "qf")')
    yield "hidden_sizes", list(actor)
    if list(critic) == list(actor):
        return
    if "critic_hidden_sizes" not in spec.defaults:
        raise TypeError(f"{spec.class_name} has networks of one shape; give net_arch as one list")
    yield "critic_hidden_sizes", list(critic)


def converted(name: str, key: str, value: Any) -> Any:
    """A value in our form."""
    if name == "train_frequency" and isinstance(value, (tuple, list)):
        count, unit = value
        if unit != "step":
            raise TypeError(f"{key} counts steps; {value!r} is not known")
        return count
    if callable(value) and not isinstance(value, type):
        raise TypeError(f'{key} is a number or a schedule such as {{"linear": [3e-4, 0.0]}}, not a function')
    return value
