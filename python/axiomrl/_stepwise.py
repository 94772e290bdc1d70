"""For those who write the loop themselves: collecting, updating, and the replay."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import Any, Iterator, Mapping

import numpy as np

from ._layout import Layout
from ._learning import log, watches_interrupt

#: What a batch must have, and what it may have besides.
NEEDED = ("obs", "action", "reward", "next_obs", "terminated")
ALLOWED = ("truncated", "discount", "weight", "action_masks", "next_action_masks")


class Replay:
    """The steps that an agent keeps to learn from, as `agent.replay`. Algorithms that keep none say so (a `TypeError`)."""

    def __init__(self, agent: Any):
        self._agent = agent

    def __len__(self) -> int:
        with at_work(self._agent) as run:
            return run.replay_len()

    def __bool__(self) -> bool:
        return True

    def add(
        self,
        obs: Any,
        action: Any,
        reward: Any,
        next_obs: Any,
        terminated: Any,
        truncated: Any = False,
        *,
        action_masks: Any = None,
        next_action_masks: Any = None,
    ) -> None:
        """Stores a step, or several as rows, as if the agent had taken them: all, or none if anything is wrong with one.

        Actions are in the environment's own units, choices counted from 0. `next_obs` is what a step led to, before any reset.
        `terminated` says that the world ended with a step, `truncated` that only the episode did. A step that begins with what
        the one before led to goes on with its episode; steps of several environments may alternate.
        """
        with at_work(self._agent) as run:
            columns = {"obs": obs, "action": action, "reward": reward, "next_obs": next_obs, "terminated": terminated}
            others = {"truncated": truncated, "action_masks": action_masks, "next_action_masks": next_action_masks}
            run.replay_add(rows(self._agent._layout_of(), {**columns, **others})[0])

    def sample(self, n: int) -> dict[str, Any]:
        """So many of the stored steps, each as likely as any other, as `update` and `add` take them: `obs`, `action`, `reward`,
        `next_obs`, `terminated` and `truncated`, and the masks where there are any. Looking changes nothing in the run."""
        n = count("n", n)
        with at_work(self._agent) as run:
            layout, drawn = self._agent._layout_of(), run.replay_sample(n)
            batch = {
                "obs": layout.observations(drawn["floats"], drawn["bytes"], n),
                "action": layout.actions(drawn["action"], n, True),
                "reward": drawn["reward"],
                "next_obs": layout.observations(drawn["next_floats"], drawn["next_bytes"], n),
                "terminated": drawn["terminated"],
                "truncated": drawn["truncated"],
            }
            if layout.masks:
                batch["action_masks"] = drawn["masks"].reshape(n, -1)
                batch["next_action_masks"] = drawn["next_masks"].reshape(n, -1)
            return batch

    def __repr__(self) -> str:
        return f"<replay of {self._agent!r}>"


def collect(agent: Any, steps: int | None) -> dict[str, Any]:
    steps = None if steps is None else count("steps", steps)
    with at_work(agent) as run:
        before = run.clock()[0]
        until = None if steps is None else before + steps
        seen: dict[str, Any] = {"returns": [], "lengths": [], "evaluation": None}
        why, outcome = "pause", None
        while why == "pause":
            why, told, outcome = run.collect(until)
            take(agent, told, seen)
        ended(agent, outcome)
        taken = run.clock()[0] - before
        if steps is not None and why == "needs update" and not taken:
            raise RuntimeError("the agent has to learn from what it has before it steps on; call update() until collect() goes on")
        return {"steps": taken, **seen, "needs_update": why.endswith("needs update"), "finished": why == "ended"}


def update(agent: Any, batch: Any, n: int) -> dict[str, float]:
    if batch is not None and not isinstance(batch, Mapping):
        raise TypeError(f"a batch is a dictionary of arrays, not {type(batch).__name__}; for several updates say update(n=…)")
    n = count("n", n)
    with at_work(agent) as run:
        if batch is not None:
            given = handed(agent._layout_of(), batch)
        made = 0
        while made < n:
            if batch is None:
                more, told, outcome = run.update(n - made, made == 0)
            else:
                more, told, outcome = run.learn_from(given, made == 0)
            take(agent, told, {})
            ended(agent, outcome)
            if outcome is not None:
                break
            made += more
        return run.update_metrics()


@contextmanager
def at_work(agent: Any) -> Iterator[Any]:
    """The agent's run, to be driven a little: Ctrl-C reaches it, and what failed lets go of its folder."""
    run = agent._open(None, False)
    watched = watches_interrupt()
    if watched:
        run.watch_interrupt()
    try:
        yield run
    finally:
        run.forget_interrupt()
        if not run.is_open:
            agent._run = agent._policy = agent._layout = None


def ended(agent: Any, outcome: str | None) -> None:
    """Notes how the run ended, if it did."""
    if outcome is None:
        return
    agent._outcome = json.loads(outcome)
    if agent._outcome["reason"] == "interrupted":
        raise KeyboardInterrupt


def take(agent: Any, told: list[tuple[str, Any]], seen: dict[str, Any]) -> None:
    """Keeps what a piece of the run has told."""
    for event, details in told:
        if event == "log":
            agent._rows.append(details)
        elif event == "note":
            log.warning("%s", details)
        elif event == "episode" and "returns" in seen:
            seen["returns"].append(details["r"])
            seen["lengths"].append(details["l"])
        elif event == "evaluation":
            seen["evaluation"] = details


def count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"`{name}` is a whole number, not {value!r}")
    if value < 1:
        raise ValueError(f"`{name}` must be at least 1, not {value}")
    return int(value)


def handed(layout: Layout, batch: Mapping[str, Any]) -> dict[str, Any]:
    """A batch as the engine takes it."""
    for key in batch:
        if key not in NEEDED + ALLOWED:
            raise ValueError(f"a batch has no column {key!r}; it has {', '.join(NEEDED)}, and may have {', '.join(ALLOWED)}")
    missing = [key for key in NEEDED if batch.get(key) is None]
    if missing:
        raise ValueError(f"`{missing[0]}` is missing in the batch; it has {', '.join(NEEDED)}")
    steps, several = rows(layout, {"truncated": False, **batch})
    number = len(steps["reward"])
    extra = {name: batch.get(name) for name in ("discount", "weight")}
    return {"rows": steps, **{name: None if v is None else column(name, v, number, several) for name, v in extra.items()}}


def rows(layout: Layout, given: Mapping[str, Any]) -> tuple[dict[str, np.ndarray], bool]:
    """Steps as the engine takes them, and whether they came as rows."""
    floats, bytes_, several = observed(layout, "obs", given["obs"])
    number = len(floats)
    next_floats, next_bytes, next_several = observed(layout, "next_obs", given["next_obs"])
    if several != next_several or len(next_floats) != number:
        raise ValueError(f"`obs` has {number} rows and `next_obs` {len(next_floats)}; give both for every step")
    return {
        "floats": floats,
        "bytes": bytes_,
        "next_floats": next_floats,
        "next_bytes": next_bytes,
        "masks": masks(layout, "action_masks", given.get("action_masks"), number),
        "next_masks": masks(layout, "next_action_masks", given.get("next_action_masks"), number),
        "action": layout.action_rows(numbers("action", given["action"]), number, several),
        "reward": column("reward", given["reward"], number, several),
        "terminated": marks("terminated", given["terminated"], number, several),
        "truncated": marks("truncated", given["truncated"], number, several),
    }, several


def observed(layout: Layout, name: str, value: Any) -> tuple[np.ndarray, np.ndarray, bool]:
    for part in value.values() if isinstance(value, Mapping) else [value]:
        if not isinstance(part, Mapping) and len(np.shape(numbers(name, part))) and not len(part):
            raise ValueError(f"`{name}` has no rows")
    try:
        return layout.rows(value)
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from error


def masks(layout: Layout, name: str, value: Any, number: int) -> np.ndarray:
    if layout.masks and value is None:
        raise ValueError(f"`{name}` is missing: the environment says which actions are allowed")
    found = layout.mask_rows(value, number)
    return np.zeros((number, 0), bool) if found is None else found


def numbers(name: str, value: Any) -> np.ndarray:
    """An array of numbers."""
    try:
        found = np.asarray(value)
    except ValueError as error:
        raise ValueError(f"`{name}` has rows of several shapes") from error
    if found.dtype.kind not in "fiub":
        raise ValueError(f"`{name}` is of type {found.dtype}; give numbers, all rows of the same shape")
    return found


def column(name: str, value: Any, number: int, several: bool) -> np.ndarray:
    """One number for each step."""
    found = numbers(name, value)
    wanted = (number,) if several else ()
    if found.shape not in (wanted, (*wanted, 1)):
        raise ValueError(f"`{name}` has the shape {found.shape} where {wanted} belongs: one number for each step")
    return np.ascontiguousarray(found.reshape(number), np.float32)


def marks(name: str, value: Any, number: int, several: bool) -> np.ndarray:
    """Whether, for each step; one mark may stand for all."""
    found = numbers(name, value)
    if not np.isin(found, (0, 1)).all():
        raise ValueError(f"`{name}` is of marks: True or False, or 1 and 0")
    if several and found.shape == ():
        return np.full(number, bool(found))
    return column(name, found, number, several).astype(bool)
