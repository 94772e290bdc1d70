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
    tags = set(events.Tags()["scalars"])
    assert {"eval/mean_reward", "rollout/ep_rew_mean", "time/fps"} <= tags
    # What a curve's axis shows is no curve itself.
    assert set(metrics) - tags == {"time/time_elapsed", "time/episodes", "time/total_timesteps"}
    for name in tags & set(metrics):
        values = metrics[name]
        there = np.isfinite(values)
        read = events.Scalars(name)
        assert [event.step for event in read] == steps[there].tolist(), name
        assert np.allclose([event.value for event in read], values[there], rtol=1e-6), name
