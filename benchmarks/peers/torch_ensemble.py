"""A gradient step of MBPO's ensemble in PyTorch; `variant` is "default", "tuned" or "compiled".

Seven networks that predict a reward and the change of an observation as Gaussians, all members in one batched product, each on rows
of its own that are drawn with replacement and shuffled once per epoch. As ours has them: learned bounds of the log-variances, weight
decay layer by layer, gradients clipped member by member, Adam."""

import torch
from torch import nn
from torch.nn import functional as F

from torch_updates import descend, optimizer, prepared

MEMBERS, ROWS, BATCH = 7, 2560, 256
# Pendulum: three numbers and a torque in, the reward and three changes out.
INPUTS, OUTPUTS, HIDDEN = 4, 4, 200
# Of the first, the second, all further hidden layers, and the output.
DECAY = (2.5e-5, 5e-5, 7.5e-5, 7.5e-5, 1e-4)
BOUNDS_WEIGHT, LARGEST_NORM = 0.01, 10.0


def truncated_normal(inputs, outputs):
    std = 0.5 / inputs**0.5
    return nn.init.trunc_normal_(torch.empty(MEMBERS, inputs, outputs), std=std, a=-2 * std, b=2 * std)


class Ensemble(nn.Module):
    def __init__(self):
        super().__init__()
        sizes = [INPUTS, *[HIDDEN] * 4, 2 * OUTPUTS]
        pairs = list(zip(sizes, sizes[1:]))
        self.weights = nn.ParameterList(truncated_normal(i, o) for i, o in pairs)
        self.biases = nn.ParameterList(torch.zeros(MEMBERS, 1, o) for _, o in pairs)
        self.highest = nn.Parameter(torch.full((OUTPUTS,), 0.5))
        self.lowest = nn.Parameter(torch.full((OUTPUTS,), -10.0))

    def forward(self, x):
        for weight, bias in zip(self.weights[:-1], self.biases[:-1]):
            x = F.silu(torch.baddbmm(bias, x, weight))
        mean, log_var = torch.baddbmm(self.biases[-1], x, self.weights[-1]).chunk(2, dim=2)
        log_var = self.highest - F.softplus(self.highest - log_var)
        return mean, self.lowest + F.softplus(log_var - self.lowest)


def clip_each(net):
    """Clips the gradient of each member, and that of the bounds, to a norm of its own."""
    stacked = [parameter.grad for parameter in [*net.weights, *net.biases]]
    norms = sum(grad.square().sum(dim=(1, 2)) for grad in stacked).sqrt()
    scale = (LARGEST_NORM / (norms + 1e-6)).clamp(max=1.0)[:, None, None]
    for grad in stacked:
        grad.mul_(scale)
    nn.utils.clip_grad_norm_([net.highest, net.lowest], LARGEST_NORM)


def clip_each_at_once(net):
    """The same in few calls: the gradients of a member are short, and calls are what costs."""
    stacked = [parameter.grad for parameter in [*net.weights, *net.biases]]
    flat = torch.cat([grad.flatten(1) for grad in stacked], dim=1)
    scale = (LARGEST_NORM / (torch.linalg.vector_norm(flat, dim=1) + 1e-6)).clamp(max=1.0)[:, None, None]
    torch._foreach_mul_(stacked, [scale] * len(stacked))
    nn.utils.clip_grad_norm_([net.highest, net.lowest], LARGEST_NORM, foreach=True)


def mbpo_model(variant):
    tuned = variant != "default"
    net = Ensemble()
    adam = optimizer(net.parameters(), 1e-3, tuned)
    inputs, targets = torch.randn(ROWS, INPUTS), torch.randn(ROWS, OUTPUTS)
    lists = torch.randint(ROWS, (MEMBERS, ROWS))
    clip = clip_each_at_once if tuned else clip_each

    def loss_of(x, y):
        mean, log_var = net(x)
        fit = ((mean - y).square() * torch.exp(-log_var) + log_var).mean(dim=(1, 2)).sum()
        decay = sum(0.5 * rate * weight.square().sum() for rate, weight in zip(DECAY, net.weights))
        return fit + decay + BOUNDS_WEIGHT * (net.highest.sum() - net.lowest.sum())

    loss_of = prepared(loss_of, variant)
    step, order = 0, lists

    def update():
        nonlocal step, order
        first = step * BATCH % ROWS
        if first == 0:
            order = lists.gather(1, torch.rand(MEMBERS, ROWS).argsort(dim=1))
        step += 1
        chosen = order[:, first : first + BATCH]
        descend(adam, loss_of(inputs[chosen], targets[chosen]), lambda: clip(net))

    return update
