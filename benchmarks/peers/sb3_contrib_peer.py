"""sb3-contrib: whole training runs, as its users write them and, where there is an optimiser, with the fused Adam."""

import common

WORKS = ("trpo_cartpole", "ars_pendulum")
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)
from sb3_contrib import ARS, TRPO  # noqa: E402

from sb3_runs import measure  # noqa: E402

torch.set_num_threads(options.threads)
algorithms = {"trpo": TRPO, "ars": ARS}
measure(algorithms, options, "default", lambda name: {})
options.work = [work for work in options.work if work != "ars_pendulum"]
measure(algorithms, options, "tuned", lambda name: {"optimizer_kwargs": {"fused": True}})
