#!/bin/sh
# Trains tiny policies and keeps their checkpoints, with what `eval` says of them, for the test that later versions still
# read them: crates/axiomrl-cli/tests/older_versions.rs.
#
# Usage: scripts/record_fixtures.sh PROGRAM, a release build of the version whose files are to be kept.
set -eu

program=$(realpath "$1")
version=$("$program" --version | cut -d ' ' -f 2)
fixtures=$(dirname "$0")/../crates/axiomrl-run/tests/fixtures/$version
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$fixtures"
fixtures=$(realpath "$fixtures")

# record NAME CONFIG STEPS EPISODES SETTING...
record() {
    name=$1 config=$2 steps=$3 episodes=$4
    shift 4
    settings=""
    for setting in "$@"; do
        settings="$settings --set $setting"
    done
    # One evaluation, at the end: the best policy is then the last one, and its checkpoint has no store.
    # shellcheck disable=SC2086
    "$program" train "$config" --total-timesteps "$steps" --quiet --json --threads 1 --run-dir "$scratch/$name" \
        --set eval_interval=0 --set checkpoint_interval=0 --set eval_episodes=2 $settings >/dev/null
    rm -rf "${fixtures:?}/$name"
    cp -r "$scratch/$name/checkpoints/best" "$fixtures/$name"
    # From inside, so that no path of this machine is written down.
    (cd "$fixtures" && "$program" eval "$name" --json --episodes "$episodes" >"$name.json")
}

small="algo_kwargs.hidden_sizes=[16,16]"
soon="algo_kwargs.learning_starts=100"
# Short episodes: rounding grows with every step of a pendulum.
short="env_kwargs.max_episode_steps=40"

# Long enough to do better than by chance: what plays like any other policy proves nothing.
record ppo ppo/pendulum 32768 3 $small $short normalize_observation=true normalize_reward=true
# A return is -1 or 1, so many of them.
record rainbow_dqn rainbow_dqn/catch 5000 20 "algo_kwargs.hidden_sizes=[8]" $soon
record fqf fqf/cartpole 8000 3 $small $soon
record crossq crossq/pendulum 1500 3 $small $soon $short
record r2d2 r2d2/cartpole_novel 12000 3 "algo_kwargs.hidden_sizes=[8]" algo_kwargs.recurrent_hidden_size=8 \
    "algo_kwargs.head_sizes=[8]" algo_kwargs.learning_starts=500
record drqv2 drqv2/pendulum_pixels 1500 3 "algo_kwargs.hidden_sizes=[8]" algo_kwargs.feature_dim=8 $soon \
    algo_kwargs.batch_size=16 env_kwargs.size=12 $short
du -sk "$fixtures"
