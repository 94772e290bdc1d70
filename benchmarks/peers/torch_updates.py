"""Updates of small networks in PyTorch; `variant` is "default", "tuned" or "compiled"."""

import copy
import itertools

import torch
from torch import nn
from torch.nn import functional as F


def mlp(inputs, hidden, outputs, activation):
    return nn.Sequential(
        nn.Linear(inputs, hidden), activation(), nn.Linear(hidden, hidden), activation(), nn.Linear(hidden, outputs)
    )


def optimizer(parameters, rate, tuned, eps=1e-8):
    return torch.optim.Adam(parameters, lr=rate, eps=eps, **({"fused": True} if tuned else {}))


def prepared(function, variant):
    return torch.compile(function) if variant == "compiled" else function


def descend(adam, loss, clip=lambda: None):
    """A step down the gradient of the loss; `clip` may change the gradients before it."""
    adam.zero_grad(set_to_none=True)
    loss.backward()
    clip()
    adam.step()


def dqn(variant, rows=64):
    tuned = variant != "default"
    online = mlp(4, 64, 2, nn.ReLU)
    target = copy.deepcopy(online)
    adam = optimizer(online.parameters(), 1e-4, tuned)
    parameters = list(online.parameters())
    obs, next_obs, reward = torch.randn(rows, 4), torch.randn(rows, 4), torch.randn(rows)
    action, goes_on = torch.randint(2, (rows, 1)), torch.ones(rows)

    def loss_of():
        with torch.no_grad():
            goal = reward + 0.99 * goes_on * target(next_obs).max(dim=1).values
        return F.smooth_l1_loss(online(obs).gather(1, action).squeeze(1), goal)

    loss_of = prepared(loss_of, variant)

    def update():
        descend(adam, loss_of(), lambda: nn.utils.clip_grad_norm_(parameters, 10.0, foreach=True if tuned else None))

    return update


def ppo(variant, rows=64):
    tuned = variant != "default"
    policy, value = mlp(4, 64, 2, nn.Tanh), mlp(4, 64, 1, nn.Tanh)
    parameters = list(itertools.chain(policy.parameters(), value.parameters()))
    adam = optimizer(parameters, 3e-5, tuned, eps=1e-5)
    obs, advantage, returns = torch.randn(rows, 4), torch.randn(rows), torch.randn(rows)
    action, old_log_prob = torch.randint(2, (rows,)), torch.full((rows,), -0.7)

    def log_prob_entropy(logits):
        if not tuned:
            distribution = torch.distributions.Categorical(logits=logits)
            return distribution.log_prob(action), distribution.entropy()
        logs = F.log_softmax(logits, dim=1)
        return logs.gather(1, action[:, None]).squeeze(1), -(logs.exp() * logs).sum(dim=1)

    def loss_of():
        log_prob, entropy = log_prob_entropy(policy(obs))
        standard = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        ratio = (log_prob - old_log_prob).exp()
        gain = torch.min(ratio * standard, ratio.clamp(0.8, 1.2) * standard).mean()
        return -gain + 0.5 * 0.5 * F.mse_loss(value(obs).squeeze(1), returns) - 0.01 * entropy.mean()

    loss_of = prepared(loss_of, variant)

    def update():
        descend(adam, loss_of(), lambda: nn.utils.clip_grad_norm_(parameters, 0.5, foreach=True if tuned else None))

    return update


def follow(slow, fast, tuned, share=0.005):
    """Moves target parameters by this share towards the online ones."""
    with torch.no_grad():
        if tuned:
            torch._foreach_lerp_(slow, fast, share)
        else:
            for old, new in zip(slow, fast):
                old.mul_(1 - share).add_(new, alpha=share)


def squashed(head):
    """An action of the tanh-Gaussian policy and its log-density."""
    mean, log_std = head.chunk(2, dim=1)
    log_std = log_std.clamp(-20, 2)
    noise = torch.randn_like(mean)
    before = mean + log_std.exp() * noise
    density = -0.5 * noise.square() - log_std - 0.9189385
    # ln(1 - tanh(x)^2), written so that it does not overflow
    correction = 2.0 * (0.6931472 - before - F.softplus(-2.0 * before))
    return before.tanh(), (density - correction).sum(dim=1)


def sac(variant, rows=256, obs_width=17, d=6):
    tuned = variant != "default"
    actor = mlp(obs_width, 256, 2 * d, nn.ReLU)
    critics = nn.ModuleList(mlp(obs_width + d, 256, 1, nn.ReLU) for _ in range(2))
    targets = copy.deepcopy(critics)
    log_alpha = torch.zeros(1, requires_grad=True)
    actor_adam = optimizer(actor.parameters(), 1e-5, tuned)
    critic_adam = optimizer(critics.parameters(), 1e-5, tuned)
    alpha_adam = optimizer([log_alpha], 1e-5, tuned)
    critic_parameters, target_parameters = list(critics.parameters()), list(targets.parameters())
    obs, next_obs = torch.randn(rows, obs_width), torch.randn(rows, obs_width)
    action, reward = torch.rand(rows, d) * 2 - 1, torch.randn(rows)

    def critic_loss():
        with torch.no_grad():
            next_action, next_log_prob = squashed(actor(next_obs))
            joint = torch.cat([next_obs, next_action], dim=1)
            least = torch.min(targets[0](joint), targets[1](joint)).squeeze(1)
            goal = reward + 0.99 * (least - log_alpha.exp() * next_log_prob)
        joint = torch.cat([obs, action], dim=1)
        return 0.5 * sum(F.mse_loss(critic(joint).squeeze(1), goal) for critic in critics)

    def actor_loss():
        drawn, log_prob = squashed(actor(obs))
        joint = torch.cat([obs, drawn], dim=1)
        least = torch.min(critics[0](joint), critics[1](joint)).squeeze(1)
        return (log_alpha.exp().detach() * log_prob - least).mean(), log_prob.detach()

    critic_loss, actor_loss = prepared(critic_loss, variant), prepared(actor_loss, variant)

    def update():
        descend(critic_adam, critic_loss())
        # Without this the actor's loss also computes gradients of the critics' weights, which nobody reads.
        if tuned:
            critics.requires_grad_(False)
        loss, log_prob = actor_loss()
        descend(actor_adam, loss)
        if tuned:
            critics.requires_grad_(True)
        descend(alpha_adam, -(log_alpha * (log_prob - d)).mean())
        follow(target_parameters, critic_parameters, tuned)

    return update


def td3(variant, rows=256, obs_width=3, d=1):
    """The sizes of Pendulum; every second update moves the actor and the targets."""
    tuned = variant != "default"
    actor = nn.Sequential(mlp(obs_width, 256, d, nn.ReLU), nn.Tanh())
    critics = nn.ModuleList(mlp(obs_width + d, 256, 1, nn.ReLU) for _ in range(2))
    target_actor, target_critics = copy.deepcopy(actor), copy.deepcopy(critics)
    actor_adam = optimizer(actor.parameters(), 1e-5, tuned)
    critic_adam = optimizer(critics.parameters(), 1e-5, tuned)
    fast = [*actor.parameters(), *critics.parameters()]
    slow = [*target_actor.parameters(), *target_critics.parameters()]
    obs, next_obs = torch.randn(rows, obs_width), torch.randn(rows, obs_width)
    action, reward = torch.rand(rows, d) * 2 - 1, torch.randn(rows)

    def critic_loss():
        with torch.no_grad():
            noise = (torch.randn_like(action) * 0.2).clamp(-0.5, 0.5)
            joint = torch.cat([next_obs, (target_actor(next_obs) + noise).clamp(-1, 1)], dim=1)
            goal = reward + 0.99 * torch.min(target_critics[0](joint), target_critics[1](joint)).squeeze(1)
        joint = torch.cat([obs, action], dim=1)
        return sum(F.mse_loss(critic(joint).squeeze(1), goal) for critic in critics)

    def actor_loss():
        return -critics[0](torch.cat([obs, actor(obs)], dim=1)).mean()

    critic_loss, actor_loss = prepared(critic_loss, variant), prepared(actor_loss, variant)
    updates = 0

    def update():
        nonlocal updates
        updates += 1
        descend(critic_adam, critic_loss())
        if updates % 2:
            return
        if tuned:
            critics.requires_grad_(False)
        descend(actor_adam, actor_loss())
        if tuned:
            critics.requires_grad_(True)
        follow(slow, fast, tuned)

    return update
