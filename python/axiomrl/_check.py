"""Looks an environment over: what an agent, or whoever resumes a run, would stumble over."""

from __future__ import annotations

import time

import numpy as np

from . import _bridge_make as making
from ._bridge import Batch, EnvironmentFailed, first

# Actions further from [-1, 1] than this are worth a word.
USUAL_REACH = 10.0


def check(env_id, kwargs, steps):
    """Spaces, speed and findings: (ok, note or problem), what about, and what of it."""
    found = []

    def say(level, about, text):
        found.append({"level": level, "about": about, "text": text})

    batch = Batch.from_id(env_id, 1, kwargs)
    spaces = batch.spaces
    say("ok", "spaces", "observations and actions are of kinds that agents know")
    look_at_actions(spaces["action"], say)
    arrays, speed = played(batch, steps, 0, say)
    if arrays is not None:
        compare_runs(batch, arrays, steps, say)
    batch.close()
    look_at_one(env_id, kwargs, min(steps, 200), say)
    return {"spaces": spaces, "findings": found, "steps_per_second": speed}


def look_at_actions(action, say):
    if action["type"] != "box":
        return
    reach = max(map(abs, action["low"] + action["high"]))
    even = all(low == -high for low, high in zip(action["low"], action["high"]))
    if reach > USUAL_REACH:
        say("note", "actions", f"bounds reach {reach:g}; agents act in [-1, 1], which is stretched to them")
    elif not even:
        say("note", "actions", "bounds are not even round 0; agents act in [-1, 1], which is moved to them")
    else:
        say("ok", "actions", "bounds are finite and even round 0")


def played(batch, steps, seed, say):
    """The outcomes of every step with actions by chance, and steps per second."""
    arrays = batch.arrays()
    batch.bind(arrays)
    chance = np.random.default_rng(seed)
    story, ends, begun = [], 0, time.perf_counter()
    try:
        batch.reset([seed])
        story.append(outcome(arrays))
        begun = time.perf_counter()
        for _ in range(steps):
            batch.step(some_action(batch.spaces["action"], arrays["masks"], chance))
            ends += int(arrays["terminated"][0] + arrays["truncated"][0])
            story.append(outcome(arrays))
    except EnvironmentFailed as error:
        say("problem", "steps", f"step {len(story)}: {error.message}")
        return None, 0.0
    speed = steps / max(time.perf_counter() - begun, 1e-9)
    say("ok", "steps", f"{steps} steps without NaN, wrong shapes or exceptions; {ends} episodes ended")
    return story, speed


def compare_runs(batch, story, steps, say):
    silent = lambda *_: None  # noqa: E731
    again, _ = played(batch, steps, 0, silent)
    if again is None:
        say("problem", "seeding", "the same seed and actions failed the second time")
        return
    differing = next((step for step, (a, b) in enumerate(zip(story, again)) if a != b), None)
    if differing is None:
        say("ok", "seeding", "the same seed and actions gave the same episodes twice")
    elif differing == 0:
        say("problem", "seeding", "the same seed gives different first observations; `reset(seed=...)` must seed everything random")
    else:
        say("problem", "seeding", f"the same seed and actions differ from step {differing} on; draw from `self.np_random` alone")
    other, _ = played(batch, 0, 1, silent)
    if other is not None and other[0] == story[0]:
        say("note", "seeding", "another seed gives the same first observation; fine where every episode begins alike")


def outcome(arrays):
    """All that a step showed, as bytes that can be compared."""
    return b"".join(array.tobytes() for name, array in arrays.items() if not name.startswith("final"))


def some_action(action, masks, chance):
    if action["type"] == "box":
        low, high = np.asarray(action["low"]), np.asarray(action["high"])
        return chance.uniform(low, high).astype(np.float32)[None]
    sizes = action.get("nvec") or ([action["n"]] if action["type"] == "discrete" else [2] * action["n"])
    allowed = masks[0] if masks.size else np.ones(sum(sizes), dtype=np.uint8)
    row, at = [], 0
    for size in sizes:
        row.append(chance.choice(np.flatnonzero(allowed[at : at + size])))
        at += size
    return np.asarray([row], dtype=np.float32)


def look_at_one(env_id, kwargs, steps, say):
    """What the batch puts right in silence."""
    made = making.open_id(env_id, 1, kwargs, (), "training")
    if not isinstance(made, list):
        made.close()
        return
    (env,) = made
    if env.spec is None or env.spec.max_episode_steps is None:
        say("note", "time limit", "episodes have none; set `env_kwargs.max_episode_steps` unless every episode ends by itself")
    else:
        say("ok", "time limit", f"{env.spec.max_episode_steps} steps")
    surprises = set()
    obs, info = first(env.reset(seed=0))
    env.action_space.seed(0)
    for _ in range(steps):
        look_at(env.observation_space, obs, "the observation", surprises)
        action = env.action_space.sample(info["action_mask"]) if "action_mask" in info else env.action_space.sample()
        try:
            obs, _, terminated, truncated, info = env.step(action)
            if terminated or truncated:
                obs, info = first(env.reset())
        except Exception:
            # Named already, where it happened.
            break
    for text in sorted(surprises):
        say("note", "observations", text)
    env.close()


def look_at(space, obs, name, surprises):
    inner = getattr(space, "spaces", None)
    if inner is not None:
        for key, part in inner.items() if isinstance(inner, dict) else enumerate(inner):
            look_at(part, obs[key], f"part `{key}`", surprises)
        return
    array = np.asarray(obs)
    if array.dtype != space.dtype and array.dtype.kind != space.dtype.kind:
        surprises.add(f"{name} is {array.dtype} but its space says {space.dtype}")
    elif array.dtype != space.dtype and array.dtype.kind == "f":
        surprises.add(f"{name} is {array.dtype} but its space says {space.dtype}; it is rounded to float32")
    elif not space.contains(obs):
        surprises.add(f"{name} lies outside of its space at times")
