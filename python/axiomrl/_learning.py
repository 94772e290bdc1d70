"""The loop round a run: pieces of it in the engine, callbacks between them."""

from __future__ import annotations

import json
import logging
import signal
import sys
import threading
from typing import Any

from .callbacks import Watching

log = logging.getLogger("axiomrl")


def drive(agent: Any, run: Any, watching: Watching, progress: bool) -> dict[str, Any]:
    """Runs to the end, or until something stops it. Whatever that is, the run is saved before it is told."""
    watched = watches_interrupt()
    if watched:
        run.watch_interrupt()
    try:
        watching.tell("train_start")
        outcome = pieces(agent, run, watching, progress)
    except BaseException:
        if run.is_open:
            run.finish()
        raise
    finally:
        run.forget_interrupt()
    if watched and outcome["reason"] == "interrupted" and not outcome.get("asked"):
        raise KeyboardInterrupt
    watching.tell("train_end")
    return outcome


def pieces(agent: Any, run: Any, watching: Watching, progress: bool) -> dict[str, Any]:
    while True:
        why, told, outcome = run.advance(watching.each_step)
        go_on = True
        for event, details in told:
            if event == "log":
                agent._rows.append(details)
                if progress:
                    show(details)
            elif event == "note":
                log.warning("%s", details)
                continue
            go_on &= watching.tell(event, details)
        if why in ("step", "rollout_end"):
            go_on &= watching.tell(why)
        if outcome is not None:
            return json.loads(outcome)
        if not go_on:
            return {**json.loads(run.finish()), "asked": True}


def watches_interrupt() -> bool:
    """Ctrl-C is for this run to act on, unless somebody else has taken it over."""
    on_main = threading.current_thread() is threading.main_thread()
    return on_main and signal.getsignal(signal.SIGINT) is signal.default_int_handler


def show(row: dict[str, float]) -> None:
    """A line for those without a terminal, such as notebooks."""
    words = [f"step {row['step']:>9,}"]
    for name, label in (("rollout/ep_rew_mean", "reward"), ("eval/mean_reward", "evaluation"), ("time/fps", "steps/s")):
        if name in row:
            words.append(f"{label} {row[name]:.1f}")
    print("  ".join(words), file=sys.stderr)
