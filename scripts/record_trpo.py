#!/usr/bin/env python3
"""Records a step of sb3-contrib's TRPO on a small rollout, as fixtures for the parity test of axiomrl-algos.

Needs the real thing: `pip install sb3-contrib`. Run from anywhere:

    python scripts/record_trpo.py

Each file holds the policy's tensors by PyTorch's names, the rollout with standardised advantages, the gradient of the
surrogate, a vector with its Fisher product, the step, and the divergences after the whole of it. Conjugate gradients are run
until they have converged, because theirs begin at random numbers and ours at zero.
"""

import copy
import json
from pathlib import Path

import torch
from sb3_contrib import TRPO
from sb3_contrib.common.utils import conjugate_gradient_solver
from stable_baselines3.common.distributions import kl_divergence

FIXTURES = Path(__file__).parent.parent / "crates" / "axiomrl-algos" / "tests" / "fixtures"
LAYERS = {"mlp_extractor.policy_net.0": "0", "mlp_extractor.policy_net.2": "1", "action_net": "2"}


def numbers(tensor):
    """Shape and values; nine digits give a single-precision number back exactly."""
    values = [float(f"{v:.9g}") for v in tensor.detach().contiguous().flatten().tolist()]
    return {"shape": list(tensor.shape), "values": values}


class Recorded(TRPO):
    def train(self):
        data = next(self.rollout_buffer.get(batch_size=None))
        discrete = hasattr(self.action_space, "n")
        actions = data.actions.long().flatten() if discrete else data.actions
        with torch.no_grad():
            # The policy hands out one object again and again.
            old = copy.copy(self.policy.get_distribution(data.observations))
        now = self.policy.get_distribution(data.observations)
        advantages = (data.advantages - data.advantages.mean()) / (data.advantages.std() + 1e-8)
        objective = (advantages * torch.exp(now.log_prob(actions) - data.old_log_prob)).mean()
        divergence = kl_divergence(now, old).mean()
        params, gradient, grad_kl, _ = self._compute_actor_grad(divergence, objective)
        product = lambda v, retain_graph=True: self.hessian_vector_product(params, grad_kl, v, retain_graph)
        vector = torch.randn_like(gradient)
        direction = conjugate_gradient_solver(product, gradient, max_iter=2000, residual_tol=1e-14)
        step = direction * torch.sqrt(2 * self.target_kl / torch.dot(direction, product(direction)))

        by_identity = {id(param): name for name, param in self.policy.named_parameters()}

        def tensors(flat):
            parts = torch.split(flat, [param.numel() for param in params])
            found = {}
            for param, part in zip(params, parts):
                layer, _, kind = by_identity[id(param)].rpartition(".")
                found[f"{LAYERS[layer]}.{kind}" if layer else kind] = numbers(part.view(param.shape))
            return found

        record = {
            "observations": numbers(data.observations), "actions": numbers(data.actions),
            "log_prob": numbers(data.old_log_prob), "advantages": numbers(advantages),
            "max_kl": self.target_kl, "damping": self.cg_damping,
            "policy": tensors(torch.cat([param.detach().flatten() for param in params])),
            "gradient": tensors(gradient), "vector": tensors(vector), "product": tensors(product(vector)),
            "step": tensors(step),
        }
        with torch.no_grad():
            for param, part in zip(params, torch.split(step, [param.numel() for param in params])):
                param += part.view(param.shape)
            new = self.policy.get_distribution(data.observations)
            record["kl_old_new"] = float(kl_divergence(old, new).mean())
            record["kl_new_old"] = float(kl_divergence(new, old).mean())
            ratio = torch.exp(new.log_prob(actions) - data.old_log_prob)
            record["gain"] = float((advantages * ratio).mean() - objective)
        self.record = record


def main():
    for name, env in [("trpo_cartpole", "CartPole-v1"), ("trpo_pendulum", "Pendulum-v1")]:
        model = Recorded("MlpPolicy", env, n_steps=48, batch_size=48, seed=7, device="cpu",
                         policy_kwargs={"net_arch": [12, 12]})
        # Away from the small outputs of the beginning, so that curvature differs from step to step.
        with torch.no_grad():
            for param in model.policy.parameters():
                param += 0.3 * torch.randn_like(param)
        model.learn(48)
        FIXTURES.mkdir(parents=True, exist_ok=True)
        (FIXTURES / f"{name}.json").write_text(json.dumps(model.record) + "\n")


main()
