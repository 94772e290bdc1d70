"""What watches a run, and what stops it."""

import os
import signal
import subprocess
import sys
import textwrap
import threading

import axiomrl
import numpy as np
import pytest
from axiomrl import PPO, BaseCallback, Callback


def test_callbacks_are_told_and_find_the_agent_at_rest(small):
    class Watch(Callback):
        def __init__(self):
            self.steps, self.rollouts, self.evaluations, self.checkpoints, self.rows, self.ends = [], [], [], [], [], 0

        def on_step(self, agent):
            self.steps.append(agent.num_timesteps)

        def on_rollout_end(self, agent):
            self.rollouts.append(agent.num_timesteps)
            assert agent.predict(np.zeros(4))[0] in (0, 1)
            assert agent.evaluate(1)["lengths"][0] > 0
            agent.set_parameters(agent.get_parameters())
            assert agent.save("kept").is_dir()

        def on_evaluation(self, agent, result):
            self.evaluations.append(result["mean_reward"])

        def on_checkpoint(self, agent, path):
            self.checkpoints.append(os.path.basename(path))

        def on_log(self, agent, row):
            self.rows.append(row["step"])

        def on_train_end(self, agent):
            self.ends += 1

    watch = Watch()
    agent = PPO("CartPole-v1", eval_interval=64, checkpoint_interval=64, log_interval=64, **small).learn(128, callback=watch)
    assert watch.steps == list(range(2, 130, 2))
    assert watch.rollouts == [64, 128]
    assert len(watch.evaluations) == 2 and watch.rows == [64, 128] and watch.ends == 1
    assert {"best", "last", "step_64"} <= set(watch.checkpoints)
    # Whoever watches changes nothing.
    plain = PPO("CartPole-v1", eval_interval=64, checkpoint_interval=64, log_interval=64, **small).learn(128)
    assert all((value == plain.get_parameters()[name]).all() for name, value in agent.get_parameters().items())


def test_callbacks_of_stable_baselines(small):
    class Count(BaseCallback):
        seen = ()

        def _init_callback(self):
            self.seen = ["init"]

        def _on_training_start(self):
            self.seen.append("start")

        def _on_rollout_start(self):
            self.seen.append("rollout")

        def _on_step(self):
            self.logger.record("calls", self.n_calls)
            return self.num_timesteps < 100

        def _on_rollout_end(self):
            self.seen.append("learn")

        def _on_training_end(self):
            self.seen.append("end")

    count, calls = Count(), []
    agent = PPO("CartPole-v1", **small).learn(512, callback=[count, lambda locals_, globals_: calls.append(locals_["self"])])
    assert count.seen == ["init", "start", "rollout", "learn", "rollout", "end"]
    assert (count.num_timesteps, agent.num_timesteps, count.model) == (100, 100, agent)
    assert len(calls) == 50 and calls[0] is agent
    assert agent.logger.values["calls"][-1] == (100, 50)


@pytest.mark.parametrize("event", ["on_evaluation", "on_checkpoint", "on_log"])
def test_any_of_them_can_stop_the_run(small, event):
    class Stop:
        pass

    setattr(Stop, event, lambda self, agent, details: False)
    agent = PPO("CartPole-v1", eval_interval=64, checkpoint_interval=64, log_interval=64, **small).learn(256, callback=Stop())
    assert agent.num_timesteps == 64


def test_what_a_callback_raises_is_raised_and_the_run_is_saved(small):
    class Broken(Exception):
        pass

    def fail(agent):
        if agent.num_timesteps >= 100:
            raise Broken("here")

    agent = PPO("CartPole-v1", **small)
    with pytest.raises(Broken, match="here"):
        agent.learn(256, callback=fail)
    assert agent.num_timesteps == 100
    assert axiomrl.load(agent.run_dir).num_timesteps == 100
    agent.learn()
    assert agent.num_timesteps == 256
    with pytest.raises(TypeError, match="no callback"):
        agent.learn(1, callback=3)


def test_a_number_that_diverges_is_named_and_what_was_good_is_kept(small):
    agent = PPO("Faulty-v0", env_kwargs={"nan_reward_at": 40}, checkpoint_interval=32, **small)
    with pytest.raises(axiomrl.Diverged, match="reward"):
        agent.learn(256)
    assert agent.num_timesteps > 0 and agent.predict(agent.observation_space.sample())[0] is not None


def run_python(text, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(text))
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_ctrl_c_saves_then_raises(tmp_path):
    process = run_python(
        """
        import axiomrl
        agent = axiomrl.PPO("CartPole-v1", seed=1, num_envs=2)
        try:
            agent.learn(10**9, callback=lambda agent: agent.num_timesteps != 4096 or print("ready", flush=True))
        except KeyboardInterrupt:
            print(agent.num_timesteps, axiomrl.load(agent.run_dir).num_timesteps)
        """,
        tmp_path,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    now, saved = map(int, out.split())
    assert now == saved >= 4096


def test_ctrl_c_breaks_off_a_long_evaluation(tmp_path):
    process = run_python(
        """
        import axiomrl
        agent = axiomrl.PPO("Pendulum-v1", seed=1, eval_episodes=100_000, eval_interval=64, num_steps=32)
        try:
            agent.learn(10**9, callback=lambda agent: agent.num_timesteps != 64 or print("ready", flush=True))
        except KeyboardInterrupt:
            print(agent.num_timesteps)
        """,
        tmp_path,
    )
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.strip()) == (0, "64"), err


def test_a_forked_process_is_refused_where_it_would_wait_for_ever(tmp_path):
    process = run_python(
        """
        import os, sys, axiomrl
        axiomrl.PPO("CartPole-v1").predict([0.0] * 4)
        child = os.fork()
        if child == 0:
            try:
                axiomrl.PPO("CartPole-v1").predict([0.0] * 4)
            except RuntimeError as error:
                os._exit(0 if "spawn" in str(error) else 1)
            os._exit(2)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """,
        tmp_path,
    )
    assert process.wait(timeout=60) == 0, process.stderr.read()


def test_learning_off_the_main_thread_is_fine(small):
    agent = PPO("CartPole-v1", **small)
    thread = threading.Thread(target=agent.learn, args=(64,))
    thread.start()
    thread.join()
    assert agent.num_timesteps == 64
