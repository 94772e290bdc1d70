"""From the names of run files to the names of classes."""

from __future__ import annotations

# Where the field writes a name in a way that no rule gives.
WHOLE = {
    "droq": "DroQ",
    "crossq": "CrossQ",
    "drq": "DrQ",
    "drqv2": "DrQv2",
    "dreamer": "Dreamer",
    "dreamerv3": "DreamerV3",
    "openai_es": "OpenAIES",
    "rebrac": "ReBRAC",
    "cal_ql": "CalQL",
    "dagger": "DAgger",
    "mellowmax_dqn": "MellowmaxDQN",
}
# Words that are no abbreviations; all others are.
WORDS = {
    "double", "dueling", "noisy", "prioritized", "step", "rainbow", "munchausen", "mellowmax", "soft", "boltzmann",
    "expected", "advantage", "learning", "persistent", "clipped", "hysteretic", "discrete", "recurrent", "decision",
    "transformer",
}  # fmt: skip

# What else a class is known by.
ALIASES = {"C51": "c51_dqn", "Rainbow": "rainbow_dqn", "TD3_BC": "td3_bc", "SAC_N": "sac_n"}


def class_name(algo: str) -> str:
    """`double_dqn` is `DoubleDQN`."""
    if algo in WHOLE:
        return WHOLE[algo]
    return "".join(word.capitalize() if word in WORDS else word.upper() for word in algo.split("_"))
