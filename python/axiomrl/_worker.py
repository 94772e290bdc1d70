"""A process of its own for environments: reads commands, writes outcomes to shared memory.

A command is a letter, the length of what follows (four bytes) and as many bytes; so is an answer, whose letter is `k` where all
went well and `e` where not. Standard input and output are the engine's: what environments print goes to standard error.
"""

from __future__ import annotations

import json
import math
import mmap
import os
import signal
import struct
import sys
import traceback

import numpy as np

from . import _bridge_make as making
from ._bridge import Batch, EnvironmentFailed

# Both sides must mean the same by every letter.
PROTOCOL = 1
# Where arrays begin: what processors like.
ALIGNMENT = 64
HEAD = struct.Struct("<cI")


def main():
    # Ctrl-C is for the engine, which saves and then ends this process.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    worker = Worker(int(sys.argv[1]))
    while True:
        head = read(requests, HEAD.size)
        if head is None:
            break
        letter, length = HEAD.unpack(head)
        try:
            payload = read(requests, length) if length else b""
            answer = worker.commands[letter](payload) or b""
            letter = b"k"
        except Exception as error:
            letter, answer = b"e", failure(error)
        write(replies, HEAD.pack(letter, len(answer)) + answer)
    worker.close(b"")


def read(fd, count):
    """So many bytes, or None when nobody writes any more."""
    found = os.read(fd, count)
    while len(found) < count:
        more = os.read(fd, count - len(found))
        if not more:
            return None
        found += more
    return found


def write(fd, data):
    while data:
        data = data[os.write(fd, data) :]


def failure(error):
    # What the environment raised is of interest, not what was made of it here.
    root = error.__cause__ or error
    shown = getattr(error, "raised", True)
    trace = "".join(traceback.format_exception(type(root), root, root.__traceback__)) if shown else ""
    message = error.message if isinstance(error, EnvironmentFailed) else f"{type(error).__name__}: {error}"
    unknown = getattr(error, "unknown", False)
    said = {"message": message, "env": getattr(error, "env", None), "traceback": trace, "unknown": unknown}
    return json.dumps(said).encode()


class Worker:
    def __init__(self, memory):
        self.memory = memory
        self.batch = None
        self.commands = {
            b"h": self.hello,
            b"o": self.open,
            b"m": self.map,
            b"r": self.reset,
            b"b": self.begin,
            b"s": self.step,
            b"p": self.picture,
            b"j": self.judge,
            b"l": self.list,
            b"c": self.close,
            b"t": self.test,
        }

    def hello(self, _):
        gym = making.gymnasium()
        return json.dumps({"protocol": PROTOCOL, "python": sys.version.split()[0], "gymnasium": gym.__version__}).encode()

    def open(self, payload):
        """Makes environments and says what they look like and where in memory each array will lie."""
        self.close(b"")
        wanted = json.loads(payload)
        batch = Batch.from_id(
            wanted["id"], wanted["n"], wanted["kwargs"], purpose=wanted["purpose"], action_repeat=wanted["action_repeat"]
        )
        self.batch, self.layout, end = batch, {}, 0
        shapes = {**batch.shapes(), "actions": ((wanted["n"], batch.action_width), np.float32)}
        for name, (shape, dtype) in shapes.items():
            size = math.prod(shape) * np.dtype(dtype).itemsize
            self.layout[name] = (end, size, shape, dtype)
            end += -(-size // ALIGNMENT) * ALIGNMENT
        answer = {
            "spaces": batch.spaces,
            "arrays": {name: [start, size] for name, (start, size, _, _) in self.layout.items()},
            "bytes": max(end, ALIGNMENT),
            "can_begin": batch.can_begin,
            "has_rules": batch.has_rules,
        }
        return json.dumps(answer).encode()

    def map(self, _):
        """The memory is as large as it was asked to be."""
        memory = mmap.mmap(self.memory, 0)
        arrays = {
            name: np.frombuffer(memory, dtype, math.prod(shape), start).reshape(shape)
            for name, (start, _, shape, dtype) in self.layout.items()
        }
        self.actions = arrays.pop("actions")
        self.batch.bind(arrays)

    def reset(self, payload):
        self.batch.reset(json.loads(payload))

    def begin(self, payload):
        self.batch.begin(*json.loads(payload))

    def step(self, _):
        self.batch.step(self.actions)

    def picture(self, payload):
        picture = self.batch.render(json.loads(payload))
        return b"" if picture is None else struct.pack("<II", *picture.shape[:2]) + picture.tobytes()

    def judge(self, payload):
        """Rewards and ends of rows of goals: achieved ones, then desired ones."""
        (rows,) = struct.unpack_from("<I", payload)
        goals = np.frombuffer(payload, np.float32, offset=4).reshape(2, rows, -1)
        rewards = self.batch.compute_reward(goals[0], goals[1])
        return rewards.tobytes() + self.batch.compute_terminated(goals[0], goals[1]).tobytes()

    def list(self, _):
        return json.dumps(making.known()).encode()

    def test(self, payload):
        from ._check import check

        wanted = json.loads(payload)
        return json.dumps(check(wanted["id"], wanted["kwargs"], wanted["steps"])).encode()

    def close(self, _):
        if self.batch is not None:
            batch, self.batch, self.actions = self.batch, None, None
            batch.close()
