"""DrQ-v2's update in PyTorch at 84x84, three colour frames; `variant` is "default", "tuned" or "compiled".

"default" shifts images by sampling a grid, as the method was published; "tuned" crops whole pixels of the padded bytes, runs
channels_last and the fused Adam, and computes no gradients of the critics' weights for the actor."""

import copy

import torch
from torch import nn
from torch.nn import functional as F

from torch_updates import descend, follow, optimizer, prepared

SIZE, CHANNELS, FEATURES, HIDDEN, ACTIONS, PAD = 84, 9, 50, 1024, 1, 4


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(CHANNELS, 32, 3, 2), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(),
            nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Flatten(),
        )

    def forward(self, frames):
        return self.layers(frames.float() / 255.0 - 0.5)


def trunk():
    return nn.Sequential(nn.Linear(32 * 35 * 35, FEATURES), nn.LayerNorm(FEATURES), nn.Tanh())


def head(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, outputs)
    )


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = trunk()
        self.heads = nn.ModuleList(head(FEATURES + ACTIONS, 1) for _ in range(2))

    def forward(self, seen, action):
        joint = torch.cat([self.trunk(seen), action], dim=1)
        return self.heads[0](joint), self.heads[1](joint)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk, self.head = trunk(), head(FEATURES, ACTIONS)

    def forward(self, seen):
        return torch.tanh(self.head(self.trunk(seen)))


def shift_by_grid(frames):
    rows, _, size, _ = frames.shape
    padded = F.pad(frames.float(), (PAD,) * 4, mode="replicate")
    whole = size + 2 * PAD
    line = torch.linspace(-1.0 + 1.0 / whole, 1.0 - 1.0 / whole, whole)[:size]
    x = line.unsqueeze(0).repeat(size, 1).unsqueeze(2)
    grid = torch.cat([x, x.transpose(1, 0)], dim=2).unsqueeze(0).repeat(rows, 1, 1, 1)
    offset = torch.randint(0, 2 * PAD + 1, (rows, 1, 1, 2)).float() * 2.0 / whole
    return F.grid_sample(padded, grid + offset, padding_mode="zeros", align_corners=False)


def shift_by_crop(frames):
    rows, _, size, _ = frames.shape
    offset = torch.randint(0, 2 * PAD + 1, (rows, 2)) - PAD
    line = torch.arange(size)
    y = (line + offset[:, :1]).clamp(0, size - 1)
    x = (line + offset[:, 1:]).clamp(0, size - 1)
    last = frames.permute(0, 2, 3, 1)
    cropped = last[torch.arange(rows)[:, None, None], y[:, :, None], x[:, None, :]]
    return cropped.permute(0, 3, 1, 2)


def clipped_noise(action, std=0.2, clip=0.3):
    return (action + (torch.randn_like(action) * std).clamp(-clip, clip)).clamp(-1.0, 1.0)


def drqv2(variant, rows=256):
    tuned = variant != "default"
    encoder, critic, actor = Encoder(), Critic(), Actor()
    target = copy.deepcopy(critic)
    frames = [torch.randint(0, 256, (rows, CHANNELS, SIZE, SIZE), dtype=torch.uint8) for _ in range(2)]
    if tuned:
        encoder = encoder.to(memory_format=torch.channels_last)
        frames = [frame.contiguous(memory_format=torch.channels_last) for frame in frames]
    obs, next_obs = frames
    action, reward = torch.rand(rows, ACTIONS) * 2 - 1, torch.randn(rows, 1)
    learned = list(encoder.parameters()) + list(critic.parameters())
    critic_adam, actor_adam = optimizer(learned, 1e-4, tuned), optimizer(actor.parameters(), 1e-4, tuned)
    fast, slow = list(critic.parameters()), list(target.parameters())
    shift = shift_by_crop if tuned else shift_by_grid

    def critic_loss(obs, next_obs):
        with torch.no_grad():
            seen = encoder(next_obs)
            goal = reward + 0.97 * torch.min(*target(seen, clipped_noise(actor(seen))))
        seen = encoder(obs)
        first, second = critic(seen, action)
        return F.mse_loss(first, goal) + F.mse_loss(second, goal), seen.detach()

    def actor_loss(seen):
        return -torch.min(*critic(seen, clipped_noise(actor(seen)))).mean()

    critic_loss, actor_loss = prepared(critic_loss, variant), prepared(actor_loss, variant)

    def update():
        loss, seen = critic_loss(shift(obs), shift(next_obs))
        descend(critic_adam, loss)
        if tuned:
            critic.requires_grad_(False)
        descend(actor_adam, actor_loss(seen))
        if tuned:
            critic.requires_grad_(True)
        follow(slow, fast, tuned, share=0.01)

    return update
