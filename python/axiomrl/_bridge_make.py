"""Where environments come from: ids of Gymnasium with options and wrappers, functions, and environments ready made."""

from __future__ import annotations

import importlib
import sys

from ._bridge_spaces import EnvironmentFailed

# Of `env_kwargs`: not for the environment itself.
OVERLAYS = ("training", "evaluation")


def gymnasium():
    try:
        import gymnasium
    except ImportError as error:
        raise EnvironmentFailed(
            f"this Python ({sys.executable}) has no gymnasium ({error}); install it with `pip install gymnasium`, or name another "
            "Python with --python or AXIOMRL_PYTHON"
        ) from error
    return gymnasium


def open(make, n, purpose):
    """A list of environments, or one vector environment."""
    if isinstance(make, str):
        return open_id(make, n, {}, (), purpose)
    gym = gymnasium()
    if isinstance(make, gym.vector.VectorEnv):
        return make
    if isinstance(make, gym.Env):
        if n != 1:
            raise EnvironmentFailed(f"one environment cannot be {n}; hand over a function that makes one, or set num_envs to 1")
        return [make]
    if not callable(make):
        what = "an id, a function that makes one, an environment of Gymnasium or a vector environment"
        raise EnvironmentFailed(f"{type(make).__name__} is no environment; hand over {what}")
    return [checked(called(make)) for _ in range(n)]


def called(make):
    try:
        return make()
    except EnvironmentFailed:
        raise
    except Exception as error:
        raise EnvironmentFailed(f"making the environment raised {type(error).__name__}: {error}", raised=True) from error


def checked(env):
    if not isinstance(env, gymnasium().Env):
        kind = f"{type(env).__module__}.{type(env).__name__}"
        remedy = "environments of the old Gym go through `shimmy` (pip install shimmy)"
        raise EnvironmentFailed(f"what was made is {kind}, which is no gymnasium.Env; {remedy}")
    return env


def open_id(env_id, n, kwargs, wrappers, purpose):
    if purpose not in OVERLAYS:
        raise EnvironmentFailed(f"purpose must be one of {', '.join(OVERLAYS)}, not {purpose!r}")
    options, wrappers = settings(kwargs, wrappers, purpose)
    gym = gymnasium()
    if env_id.startswith("ALE/"):
        register_atari(gym)
    if is_atari(env_id, options, wrappers):
        return atari(gym, env_id, n, options, purpose)
    if purpose == "evaluation" and "render_mode" not in options and draws(gym, env_id):
        options["render_mode"] = "rgb_array"
    return [wrapped(make_one(gym, env_id, options), wrappers) for _ in range(n)]


def settings(kwargs, wrappers, purpose):
    """Options and wrappers, with those of the purpose laid over them."""
    options = {key: value for key, value in kwargs.items() if key not in OVERLAYS}
    options = merged(options, kwargs.get(purpose) or {})
    named = options.pop("wrappers", None) or []
    if not isinstance(named, (list, tuple)):
        raise EnvironmentFailed('`wrappers` must be a list of names ("module:Wrapper") or of {name: {option: value}}')
    return options, [*named, *wrappers]


def merged(below, above):
    both = {**below, **above}
    for key in below.keys() & above.keys():
        if isinstance(below[key], dict) and isinstance(above[key], dict):
            both[key] = merged(below[key], above[key])
    return both


def make_one(gym, env_id, options):
    try:
        # What the checker looks for is looked for here, without its cost in every step.
        return checked(gym.make(env_id, disable_env_checker=True, **options))
    except EnvironmentFailed:
        raise
    except Exception as error:
        raise refusal(gym, env_id, error) from error


def refusal(gym, env_id, error):
    """What Gymnasium says of an id, with the remedy."""
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, gym.error.UnregisteredEnv):
        remedy = "; if a package of its own registers it, install that and write `module:Id`"
        if env_id.startswith("ALE/"):
            remedy = "; Atari needs `pip install ale-py`"
        return EnvironmentFailed(f"Gymnasium does not know it: {error}{remedy}", unknown=True)
    if isinstance(error, gym.error.DependencyNotInstalled) or isinstance(error, ImportError):
        return EnvironmentFailed(f"a package it needs is missing in {sys.executable}: {error}")
    return EnvironmentFailed(f"making it raised {said}", raised=True)


def draws(gym, env_id):
    """Whether it makes pictures."""
    try:
        module, _, name = env_id.rpartition(":")
        if module:
            importlib.import_module(module)
        entry = gym.spec(name).entry_point
        creator = gym.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        return "rgb_array" in getattr(creator, "metadata", {}).get("render_modes", [])
    except Exception:
        # Whatever is wrong with it, making it says so better.
        return False


def wrapped(env, wrappers):
    for entry in wrappers:
        name, options = one_wrapper(entry)
        try:
            env = find_wrapper(name)(env, **options)
        except EnvironmentFailed:
            raise
        except Exception as error:
            raise EnvironmentFailed(f"the wrapper `{name}` raised {type(error).__name__}: {error}", raised=True) from error
    return checked(env)


def one_wrapper(entry):
    if isinstance(entry, str):
        return entry, {}
    if isinstance(entry, dict) and len(entry) == 1:
        ((name, options),) = entry.items()
        if options is None or isinstance(options, dict):
            return name, options or {}
    raise EnvironmentFailed(f'a wrapper is "module:Wrapper" or {{"module:Wrapper": {{option: value}}}}, not {entry!r}')


def find_wrapper(name):
    module, _, wrapper = name.rpartition(":" if ":" in name else ".")
    module = module or "gymnasium.wrappers"
    try:
        return getattr(importlib.import_module(module), wrapper)
    except (ImportError, AttributeError) as error:
        raise EnvironmentFailed(f"there is no wrapper `{wrapper}` in `{module}` ({error})") from error


def is_atari(env_id, options, wrappers):
    """Ids of Atari come as ale-py's own batches, unless something is asked of them that a batch cannot do."""
    return env_id.startswith("ALE/") and "obs_type" not in options and "render_mode" not in options and not wrappers


def register_atari(gym):
    """Gymnasium knows Atari's ids once ale-py is there."""
    try:
        import ale_py

        gym.register_envs(ale_py)
        # It greets whoever starts it.
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    except ImportError as error:
        raise EnvironmentFailed(f"Atari needs ale-py in {sys.executable}; install it with `pip install ale-py`") from error


def atari(gym, env_id, n, options, purpose):
    """The usual preprocessing: 84 x 84 grey, every fourth frame, up to 30 no-ops at the start, rewards clipped to their sign in
    training alone. Frames are stacked by whoever asks for it (`frame_stack`)."""
    if "stack_num" in options:
        raise EnvironmentFailed("Atari's `stack_num` is called `frame_stack` here; set that key of the run file")
    usual = {"stack_num": 1, "reward_clipping": purpose == "training", "autoreset_mode": "SameStep"}
    try:
        return gym.make_vec(env_id, n, vectorization_mode="vector_entry_point", **{**usual, **options})
    except Exception as error:
        raise refusal(gym, env_id, error) from error


def known():
    """Every id that the Gymnasium at hand can make, with what it says of itself."""
    gym = gymnasium()
    try:
        register_atari(gym)
    except EnvironmentFailed:
        # Then there is none.
        pass
    ids = sorted(gym.registry, key=lambda name: (gym.registry[name].namespace or "", name))
    return [
        {"id": name, "max_steps": gym.registry[name].max_episode_steps, "reward_threshold": gym.registry[name].reward_threshold}
        for name in ids
    ]
