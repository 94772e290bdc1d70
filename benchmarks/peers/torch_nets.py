"""Single networks in PyTorch; `variant` is "default", "tuned" or "compiled"."""

import numpy as np
import torch
from torch import nn

from torch_updates import mlp, prepared


class NatureCnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(3136, 512), nn.ReLU(),
        )

    def forward(self, frames):
        return self.layers(frames.float() / 255.0)


def cnn_step(variant, rows=32):
    """Forward and backward from bytes, gradients of the weights alone."""
    net, frames = NatureCnn(), torch.randint(0, 256, (rows, 4, 84, 84), dtype=torch.uint8)
    if variant != "default":
        net = net.to(memory_format=torch.channels_last)
        frames = frames.contiguous(memory_format=torch.channels_last)
    forward = prepared(net, variant)

    def step():
        for parameter in net.parameters():
            parameter.grad = None
        forward(frames).mean().backward()

    return step


def lstm_step(variant, steps=16, rows=32, width=64):
    """Forward and backward over a sequence, gradients of weights and inputs. There is nothing to tune but the loop of resets,
    which a plain LSTM does not have at all."""
    net, x = nn.LSTM(width, width), torch.randn(steps, rows, width, requires_grad=True)
    state = (torch.zeros(1, rows, width), torch.zeros(1, rows, width))
    forward = prepared(net, variant)

    def step():
        x.grad = None
        for parameter in net.parameters():
            parameter.grad = None
        forward(x, state)[0].mean().backward()

    return step


def inference(variant):
    """One observation through a policy of 64x64."""
    net, obs = mlp(4, 64, 2, nn.Tanh), np.zeros((1, 4), dtype=np.float32)
    if variant == "default":

        def act():
            with torch.no_grad():
                return net(torch.as_tensor(obs)).numpy()

        return act
    forward, x = prepared(net, variant), torch.as_tensor(obs)

    def act_tuned():
        with torch.inference_mode():
            return forward(x)

    return act_tuned
