"""JAX: the same three updates as one jit-compiled function each, buffers donated, optax's Adam.

Data and target networks are arguments, as in training: what a compiled function merely closes over, XLA may compute once
and for all while compiling."""

import common

WORKS = ("dqn_update", "ppo_minibatch", "sac_update")
options = common.arguments(WORKS)
common.pin(options.threads)

import jax  # noqa: E402  (after the thread limits)
import jax.numpy as jnp  # noqa: E402
import optax  # noqa: E402


def mlp(key, inputs, hidden, outputs):
    sizes = [inputs, hidden, hidden, outputs]
    keys = jax.random.split(key, 3)
    return [
        (jax.random.uniform(k, (i, o), minval=-1, maxval=1) / i**0.5, jnp.zeros(o))
        for k, i, o in zip(keys, sizes, sizes[1:])
    ]


def run(layers, x, activation):
    for weight, bias in layers[:-1]:
        x = activation(x @ weight + bias)
    weight, bias = layers[-1]
    return x @ weight + bias


def dqn(key, rows=64):
    adam = optax.chain(optax.clip_by_global_norm(10.0), optax.adam(1e-4))
    online = mlp(key, 4, 64, 2)
    target = mlp(key, 4, 64, 2)
    batch = (target, jax.random.normal(key, (rows, 4)), jnp.arange(rows) % 2, jnp.ones(rows), jnp.ones((rows, 4)))

    def update(state, batch):
        online, moments = state
        target, obs, action, reward, next_obs = batch
        goal = reward + 0.99 * run(target, next_obs, jax.nn.relu).max(axis=1)

        def loss(online):
            chosen = jnp.take_along_axis(run(online, obs, jax.nn.relu), action[:, None], axis=1)[:, 0]
            return optax.huber_loss(chosen, goal).mean()

        steps, moments = adam.update(jax.grad(loss)(online), moments)
        return optax.apply_updates(online, steps), moments

    return update, (online, adam.init(online)), batch


def ppo(key, rows=64):
    adam = optax.chain(optax.clip_by_global_norm(0.5), optax.adam(3e-5, eps=1e-5))
    nets = (mlp(key, 4, 64, 2), mlp(key, 4, 64, 1))
    obs, advantage, returns = (jax.random.normal(key, shape) for shape in ((rows, 4), (rows,), (rows,)))
    batch = (obs, jnp.arange(rows) % 2, jnp.full(rows, -0.7), advantage, returns)

    def loss(nets, batch):
        obs, action, old_log_prob, advantage, returns = batch
        logs = jax.nn.log_softmax(run(nets[0], obs, jnp.tanh))
        log_prob = jnp.take_along_axis(logs, action[:, None], axis=1)[:, 0]
        entropy = -(jnp.exp(logs) * logs).sum(axis=1).mean()
        standard = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        ratio = jnp.exp(log_prob - old_log_prob)
        gain = jnp.minimum(ratio * standard, jnp.clip(ratio, 0.8, 1.2) * standard).mean()
        error = run(nets[1], obs, jnp.tanh)[:, 0] - returns
        return -gain + 0.25 * jnp.square(error).mean() - 0.01 * entropy

    def update(state, batch):
        nets, moments = state
        steps, moments = adam.update(jax.grad(loss)(nets, batch), moments)
        return optax.apply_updates(nets, steps), moments

    return update, (nets, adam.init(nets)), batch


def squashed(head, key):
    mean, log_std = jnp.split(head, 2, axis=1)
    log_std = jnp.clip(log_std, -20, 2)
    noise = jax.random.normal(key, mean.shape)
    before = mean + jnp.exp(log_std) * noise
    density = -0.5 * jnp.square(noise) - log_std - 0.9189385
    correction = 2.0 * (0.6931472 - before - jax.nn.softplus(-2.0 * before))
    return jnp.tanh(before), (density - correction).sum(axis=1)


def sac(key, rows=256, obs_width=17, d=6):
    adam = optax.adam(1e-5)
    actor = mlp(key, obs_width, 256, 2 * d)
    # Both critics as one batched network.
    critics = jax.vmap(lambda k: mlp(k, obs_width + d, 256, 1))(jax.random.split(key, 2))
    targets = jax.tree.map(jnp.copy, critics)
    log_alpha = jnp.zeros(())
    obs, next_obs = jax.random.normal(key, (rows, obs_width)), jax.random.normal(key, (rows, obs_width))
    batch = (obs, jnp.zeros((rows, d)), jnp.ones(rows), next_obs)

    def values(critics, obs, action):
        joint = jnp.concatenate([obs, action], axis=1)
        return jax.vmap(lambda layers: run(layers, joint, jax.nn.relu)[:, 0])(critics)

    def update(state, batch):
        obs, action, reward, next_obs = batch
        actor, critics, targets, log_alpha, moments, key = state
        key, next_key, now_key = jax.random.split(key, 3)
        alpha = jnp.exp(log_alpha)
        next_action, next_log_prob = squashed(run(actor, next_obs, jax.nn.relu), next_key)
        goal = reward + 0.99 * (values(targets, next_obs, next_action).min(axis=0) - alpha * next_log_prob)

        def critic_loss(critics):
            return 0.5 * jnp.square(values(critics, obs, action) - goal).mean(axis=1).sum()

        def actor_loss(actor):
            drawn, log_prob = squashed(run(actor, obs, jax.nn.relu), now_key)
            return (alpha * log_prob - values(critics, obs, drawn).min(axis=0)).mean(), log_prob

        def step(loss, params, moments, **kwargs):
            gradient = jax.grad(loss, **kwargs)(params)
            gradient, other = gradient if kwargs else (gradient, None)
            steps, moments = adam.update(gradient, moments)
            return optax.apply_updates(params, steps), moments, other

        critics, critic_moments, _ = step(critic_loss, critics, moments[1])
        actor, actor_moments, log_prob = step(actor_loss, actor, moments[0], has_aux=True)
        log_alpha, alpha_moments, _ = step(lambda log: -(log * (log_prob - d)).mean(), log_alpha, moments[2])
        targets = jax.tree.map(lambda slow, fast: slow + 0.005 * (fast - slow), targets, critics)
        return actor, critics, targets, log_alpha, (actor_moments, critic_moments, alpha_moments), key

    moments = (adam.init(actor), adam.init(critics), adam.init(log_alpha))
    return update, (actor, critics, targets, log_alpha, moments, jax.random.key(2)), batch


BUILDERS = {"dqn_update": dqn, "ppo_minibatch": ppo, "sac_update": sac}
for work in options.work:
    update, state, batch = BUILDERS[work](jax.random.key(1))
    # A copy of its own for every buffer: the same one cannot be donated twice.
    state = jax.tree.map(jnp.copy, state)
    compiled = jax.jit(update, donate_argnums=0)

    def call():
        global state
        state = compiled(state, batch)

    best = common.best_microseconds(call, options.rounds, finish=lambda: jax.block_until_ready(state))
    common.emit(work, "jit", options.threads, best, "us")
