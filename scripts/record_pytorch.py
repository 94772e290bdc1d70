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


def write(name, module, record):
    record["tensors"] = {key: numbers(value) for key, value in module.state_dict().items()}
    record["gradients"] = {key: numbers(value.grad) for key, value in module.named_parameters()}
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


if __name__ == "__main__":
    torch.manual_seed(7)
    recurrent("lstm", torch.nn.LSTM)
    recurrent("gru", torch.nn.GRU)
    convolution()
