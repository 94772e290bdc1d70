"""TensorBoard's own reader has every number that we have."""

import axiomrl
import numpy as np
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def test_every_metric_is_read_back(small):
    agent = axiomrl.PPO("CartPole-v1", log_interval=64, eval_interval=128, **small).learn(256)
    events = EventAccumulator(str(agent.run_dir / "tensorboard"), size_guidance={"scalars": 0})
    events.Reload()
    metrics = agent.metrics
    steps = metrics.pop("step")
    tags = events.Tags()["scalars"]
    assert {"eval/mean_reward", "rollout/ep_rew_mean"} <= set(tags) and set(metrics) <= set(tags)
    for name, values in metrics.items():
        there = np.isfinite(values)
        read = events.Scalars(name)
        assert [event.step for event in read] == steps[there].tolist(), name
        assert np.allclose([event.value for event in read], values[there], rtol=1e-6), name
