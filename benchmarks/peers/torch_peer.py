"""PyTorch: single updates, as they are usually written ("default"), with what a careful user would switch on ("tuned":
fused Adam, foreach clipping and averaging, plain formulas for distributions, frozen critics, channels_last,
inference_mode), and tuned with torch.compile ("compiled")."""

import sys
import warnings

import common

WORKS = (
    "dqn_update", "ppo_minibatch", "sac_update", "td3_update", "nature_cnn", "lstm", "policy_inference", "drqv2_update",
    "mbpo_model",
)
options = common.arguments(WORKS)

import torch  # noqa: E402  (after the thread limits)

from torch_drqv2 import drqv2  # noqa: E402
from torch_ensemble import mbpo_model  # noqa: E402
from torch_nets import cnn_step, inference, lstm_step  # noqa: E402
from torch_updates import dqn, ppo, sac, td3  # noqa: E402

BUILDERS = {
    "dqn_update": dqn,
    "ppo_minibatch": ppo,
    "sac_update": sac,
    "td3_update": td3,
    "nature_cnn": cnn_step,
    "lstm": lstm_step,
    "policy_inference": inference,
    "drqv2_update": drqv2,
    "mbpo_model": mbpo_model,
}


def measure(work, variant):
    torch.manual_seed(1)
    call = BUILDERS[work](variant)
    common.emit(work, variant, options.threads, common.best_microseconds(call, options.rounds), "us")


torch.set_num_threads(options.threads)
warnings.filterwarnings("ignore")
for work in options.work:
    for variant in ("default", "tuned"):
        measure(work, variant)
    # PyTorch runs its own LSTM kernel either way.
    if work == "lstm":
        continue
    try:
        measure(work, "compiled")
    except Exception as error:  # no C++ compiler, or one that torch.compile cannot use
        print(f"torch.compile of {work} failed: {error}", file=sys.stderr)
