#!/usr/bin/env python3
"""Records small PyTorch networks, their outputs and gradients as fixtures for the parity tests of axiomrl-nn.

Needs the real thing: `pip install torch`. Run from anywhere:

    python scripts/record_pytorch.py

Each file holds the tensors by PyTorch's names, the input, the numbers the outputs are weighed with, the outputs and the
gradients of their weighted sum. Images are written channels last, as axiomrl-nn takes them.
"""

import json
from pathlib import Path

import torch

FIXTURES = Path(__file__).parent.parent / "crates" / "axiomrl-nn" / "tests" / "fixtures"


def numbers(tensor):
    """Shape and values; nine digits give a single-precision number back exactly."""
    values = [float(f"{v:.9g}") for v in tensor.detach().contiguous().flatten().tolist()]
    return {"shape": list(tensor.shape), "values": values}


def write(name, module, record, reorder=lambda key, value: value):
    """`reorder` turns tensors that depend on how an image is flattened."""
    record["tensors"] = {key: numbers(reorder(key, value)) for key, value in module.state_dict().items()}
    record["gradients"] = {key: numbers(reorder(key, value.grad)) for key, value in module.named_parameters()}
    FIXTURES.mkdir(parents=True, exist_ok=True)
    (FIXTURES / f"{name}.json").write_text(json.dumps(record) + "\n")


def recurrent(name, kind):
    steps, rows, inputs, hidden = 5, 3, 4, 6
    cell = kind(inputs, hidden)
    x = torch.randn(steps, rows, inputs, requires_grad=True)
    parts = 2 if kind is torch.nn.LSTM else 1
    state = torch.randn(rows, parts * hidden, requires_grad=True)
    weights = torch.randn(steps, rows, hidden)
    start = tuple(part.unsqueeze(0).contiguous() for part in state.split(hidden, dim=1))
    out, last = cell(x, start if parts == 2 else start[0])
    last = torch.cat(last, dim=2) if parts == 2 else last
    (out * weights).sum().backward()
    write(name, cell, {
        "x": numbers(x), "state": numbers(state), "weights": numbers(weights), "out": numbers(out),
        "last": numbers(last[0]), "x_gradient": numbers(x.grad), "state_gradient": numbers(state.grad),
    })


def convolution():
    """Two convolutions with ReLU. Modules 0 and 2 of the sequence are renamed to layers 0 and 1."""
    images, channels, height, width = 2, 3, 9, 8
    net = torch.nn.Sequential(torch.nn.Conv2d(channels, 5, 4, 2, 1), torch.nn.ReLU(), torch.nn.Conv2d(5, 4, 3, 1, 0), torch.nn.ReLU())
    layers = torch.nn.ModuleList([net[0], net[2]])
    x = torch.randn(images, channels, height, width, requires_grad=True)
    out = net(x)
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    last = lambda t: numbers(t.permute(0, 2, 3, 1))
    write("conv", layers, {"x": last(x), "weights": last(weights), "out": last(out), "x_gradient": last(x.grad)})


class Block(torch.nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv0 = torch.nn.Conv2d(channels, channels, 3, padding=1)
        self.conv1 = torch.nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x):
        return x + self.conv1(torch.relu(self.conv0(torch.relu(x))))


class Stage(torch.nn.Module):
    def __init__(self, inputs, channels):
        super().__init__()
        self.conv = torch.nn.Conv2d(inputs, channels, 3, padding=1)
        self.block0, self.block1 = Block(channels), Block(channels)

    def forward(self, x):
        x = torch.nn.functional.max_pool2d(self.conv(x), 3, 2, 1)
        return self.block1(self.block0(x))


def residual():
    """IMPALA's encoder with two small stages; the columns of its linear map are written channels last."""
    images, inputs, height, width, features = 2, 3, 7, 6, 5
    stages = torch.nn.ModuleList([Stage(inputs, 4), Stage(4, 3)])
    stages.linear = torch.nn.Linear(3 * 2 * 2, features)
    x = torch.randn(images, inputs, height, width, requires_grad=True)
    out = torch.relu(stages.linear(torch.relu(stages[1](stages[0](x))).flatten(1)))
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    last = lambda t: numbers(t.permute(0, 2, 3, 1))
    columns = lambda key, t: t.reshape(features, 3, 2, 2).permute(0, 2, 3, 1).flatten(1) if key == "linear.weight" else t
    record = {"x": last(x), "weights": numbers(weights), "out": numbers(out), "x_gradient": last(x.grad)}
    write("residual", stages, record, columns)


def decoder():
    """A linear map to 2x3 pixels of 4 channels, written channels last, then two doublings."""
    images, inputs, start = 2, 5, (4, 2, 3)
    layers = torch.nn.ModuleList([torch.nn.Conv2d(4, 3, 3, padding=1), torch.nn.Conv2d(3, 2, 3, padding=1)])
    layers.linear = torch.nn.Linear(inputs, 4 * 2 * 3)
    x = torch.randn(images, inputs, requires_grad=True)
    larger = lambda t: torch.nn.functional.interpolate(t, scale_factor=2, mode="nearest")
    out = layers[1](larger(torch.tanh(layers[0](larger(layers.linear(x).reshape(images, *start))))))
    weights = torch.randn_like(out)
    (out * weights).sum().backward()
    last = lambda t: numbers(t.permute(0, 2, 3, 1))
    rows = lambda key, t: t.reshape(*start, -1).permute(1, 2, 0, 3).reshape(t.shape) if key.startswith("linear") else t
    record = {"x": numbers(x), "weights": last(weights), "out": last(out), "x_gradient": numbers(x.grad)}
    write("decoder", layers, record, rows)


if __name__ == "__main__":
    torch.manual_seed(7)
    recurrent("lstm", torch.nn.LSTM)
    recurrent("gru", torch.nn.GRU)
    convolution()
    residual()
    decoder()
