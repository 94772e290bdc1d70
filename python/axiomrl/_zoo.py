"""Hyper-parameters of RL-Baselines3-Zoo as a run of ours."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

from ._config import TrainConfig
from ._registry import did_you_mean, get_algorithm_spec, is_native
from ._yaml import parse
from ._zoo_settings import DEFAULTS, Reading

#: Where the zoo's name of an algorithm is another.
NAMES = {"qrdqn": "qr_dqn", "ppo_lstm": "recurrent_ppo"}

#: The zoo's ids of Atari: frames are skipped by a wrapper, and no action sticks.
NO_FRAMESKIP = re.compile(r"(\w+?)NoFrameskip-v\d+")


def from_sb3_zoo(yaml: str | os.PathLike[str], algo: str, env: str) -> TrainConfig:
    """The run that a file of RL-Baselines3-Zoo describes: `axiomrl.make(config.algo, config).learn()` trains it.

    `yaml` is the text of a file, its path, or the folder of all of them; `algo` the zoo's name (`ppo`, `qrdqn`, `ppo_lstm`, …) or
    ours; `env` the environment's id. The settings are those of that id, else of another version of it, else of `atari` or `default`;
    what they leave open is as Stable-Baselines3 has it, not as we have it. Expressions in the file are read, never run.

    What means nothing here is in `config.unmapped`, by its name in the file, and a warning says so.
    """
    if not isinstance(env, str):
        raise TypeError(f"{env!r} where the id of an environment belongs; register it with Gymnasium to have one")
    known = next((there for there, here in NAMES.items() if here == algo), algo)
    if known not in (*DEFAULTS, "her"):
        there = [*DEFAULTS, "her"]
        raise ValueError(f"the zoo has no {algo!r}{did_you_mean(algo, there)}; there are {', '.join(there)}")
    text, source = text_of(yaml, known)
    document = parse(text, source)
    if not isinstance(document, dict) or not all(isinstance(one, dict) for one in document.values()):
        raise ValueError(f"{source} is no file of the zoo: it is made of ids of environments, each with a map of settings")
    name, section = chosen(document, env, source)
    if known == "her":
        known, section = below_hindsight(section, f"{source}, {name}")
    reading = Reading(get_algorithm_spec(NAMES.get(known, known)), known)
    env_id = trained(env, reading)
    reading.all_of(section)
    if reading.unmapped:
        warnings.warn(told(f"{source}, {name}", reading), UserWarning, stacklevel=2)
    if reading.env_kwargs.get("wrappers") and is_native(env_id):
        # Wrappers are Gymnasium's, and so is what they wrap.
        env_id = f"gymnasium:{env_id}"
    return TrainConfig(
        algo=reading.spec.name,
        env_id=env_id,
        **reading.run,
        tags=[f"rl-zoo/{known}/{name}"],
        env_kwargs=reading.env_kwargs,
        algo_kwargs=reading.settings,
        unmapped=reading.unmapped,
    )


def text_of(yaml: str | os.PathLike[str], algo: str) -> tuple[str, str]:
    """The text of a file, and what messages call it."""
    if isinstance(yaml, str) and ("\n" in yaml or ": " in yaml):
        return yaml, "the text"
    path = Path(yaml)
    if path.is_dir():
        path = path / f"{algo}.yml"
    return path.read_text(encoding="utf-8"), str(path)


def chosen(document: dict[str, Any], env: str, source: str) -> tuple[str, dict[str, Any]]:
    """The section of an environment, and its name."""
    plain = env.removeprefix("gymnasium:").removeprefix("axiomrl/").rpartition(":")[2]
    if plain in document:
        return plain, document[plain]
    stem, version = split(plain)
    others = [(abs(split(name)[1] - version), name) for name in document if split(name)[0] == stem and name != stem]
    if others:
        # The settings of the nearest version: the zoo has HalfCheetah-v4 where Gymnasium has v5.
        nearest = min(others)[1]
        return nearest, document[nearest]
    atari = plain.startswith("ALE/") or NO_FRAMESKIP.fullmatch(plain)
    for name in ("atari", "default") if atari else ("default",):
        if name in document:
            return name, document[name]
    near = did_you_mean(plain, document)
    raise ValueError(f"{source} has no settings for {env!r} and no `default`{near}; it has {', '.join(list(document)[:10])}")


def split(name: str) -> tuple[str, int]:
    """An id without its version, and the version."""
    found = re.fullmatch(r"(.*)-v(\d+)", name)
    return (found[1], int(found[2])) if found else (name, -1)


def below_hindsight(section: dict[str, Any], place: str) -> tuple[str, dict[str, Any]]:
    """An older form of the zoo: hindsight as an algorithm, which names the one that it is added to."""
    algo = section.get("model_class")
    if algo not in DEFAULTS:
        raise ValueError(f"{place}: `model_class` names the algorithm that hindsight is added to, and {algo!r} is none")
    others = {key: value for key, value in section.items() if key != "model_class"}
    return algo, {"replay_buffer_class": "HerReplayBuffer", **others}


def trained(env: str, reading: Reading) -> str:
    """The environment that is trained in: ids of Atari that are no more become those that are."""
    found = NO_FRAMESKIP.fullmatch(env.removeprefix("gymnasium:"))
    if found is None:
        return env
    reading.env_kwargs["repeat_action_probability"] = 0.0
    return f"ALE/{found[1]}-v5"


def told(place: str, reading: Reading) -> str:
    lines = [f"  {key} = {value!r}: {reading.reasons[key]}" for key, value in reading.unmapped.items()]
    return "\n".join([f"{place}: what follows has no place here and was left out (`unmapped`)", *lines])
