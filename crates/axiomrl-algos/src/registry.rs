//! The table of algorithms. Listing, schema, documentation, construction and the registry-wide tests follow from it.

use crate::agent::Setup;
use crate::config::{ConfigError, Document, Idle, Problem, RunConfig};
use crate::erased::{Erased, Preset};
use crate::parts::checks::BuildError;
use crate::regimes::Learner;
use crate::{
    actor_critic, goal, imitation, model_based, offline, policy_gradient, population, q_learning, world_model,
};
use axiomrl_envs::Space;
use axiomrl_envs::names::{short, suggestion};
use garde::Validate;
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::sync::LazyLock;

/// Kinds of action spaces an algorithm can act in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActionKind {
    Discrete,
    MultiDiscrete,
    MultiBinary,
    Box,
}

impl ActionKind {
    pub fn of(space: &Space) -> Option<Self> {
        match space {
            Space::Discrete { .. } => Some(Self::Discrete),
            Space::MultiDiscrete { .. } => Some(Self::MultiDiscrete),
            Space::MultiBinary { .. } => Some(Self::MultiBinary),
            Space::Box(_) => Some(Self::Box),
            Space::Dict { .. } => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Discrete => "Discrete",
            Self::MultiDiscrete => "MultiDiscrete",
            Self::MultiBinary => "MultiBinary",
            Self::Box => "Box",
        }
    }
}

/// An algorithm's settings and how to make an agent of them.
pub trait Algorithm: 'static {
    type Config: DeserializeOwned + Serialize + Default + Validate<Context = ()> + JsonSchema + 'static;

    /// Refuses settings that are each in range and contradict each other.
    fn check(_config: &Self::Config) -> Result<(), Problem> {
        Ok(())
    }

    /// Refuses settings that do not go with an environment. Nothing large is made for it.
    fn check_setup(_config: &Self::Config, _setup: &Setup) -> Result<(), Problem> {
        Ok(())
    }

    /// Settings without an effect beside the others: whoever writes one is told.
    fn idle(_config: &Self::Config) -> Vec<Idle> {
        Vec::new()
    }

    /// Whether recorded transitions are learned from.
    fn wants_data(_config: &Self::Config) -> bool {
        false
    }

    /// Whether environment steps are taken: what learns from recorded transitions alone needs no environment.
    fn takes_steps(_config: &Self::Config) -> bool {
        true
    }

    fn build(config: Self::Config, setup: &Setup) -> Result<Learner, BuildError>;
}

/// Settings that say which algorithm they belong to, so that a program can begin with them.
pub trait Settings: Serialize + Default + 'static {
    type Algorithm: Algorithm<Config = Self>;

    /// The row that their own defaults stand for.
    fn about() -> About;
}

/// Settings of built-in algorithms; what is said of them stands in the table.
macro_rules! settings_of {
    ($($config:path => $algorithm:path, $name:literal;)*) => {$(
        impl Settings for $config {
            type Algorithm = $algorithm;

            fn about() -> About {
                About { name: $name, summary: "", page: "", actions: ANY }
            }
        }
    )*};
}

settings_of! {
    q_learning::DqnConfig => q_learning::Dqn, "dqn";
    q_learning::NafConfig => q_learning::Naf, "naf";
    policy_gradient::PpoConfig => policy_gradient::Ppo, "ppo";
    policy_gradient::A2cConfig => policy_gradient::A2c, "a2c";
    policy_gradient::ReinforceConfig => policy_gradient::Reinforce, "reinforce";
    policy_gradient::TrpoConfig => policy_gradient::Trpo, "trpo";
    policy_gradient::PpgConfig => policy_gradient::Ppg, "ppg";
    policy_gradient::AcktrConfig => policy_gradient::Acktr, "acktr";
    policy_gradient::AcerConfig => policy_gradient::Acer, "acer";
    actor_critic::AcConfig => actor_critic::OffPolicyAc, "sac";
    actor_critic::MpoConfig => actor_critic::Mpo, "mpo";
    actor_critic::DiscreteSacConfig => actor_critic::DiscreteSac, "discrete_sac";
    goal::HerConfig => goal::Her, "her";
    offline::BcqConfig => offline::Bcq, "bcq";
    offline::BearConfig => offline::Bear, "bear";
    offline::DiscreteBcqConfig => offline::DiscreteBcq, "discrete_bcq";
    offline::regression::RegressionConfig => offline::regression::WeightedRegression, "iql";
    imitation::GailConfig => imitation::Gail, "gail";
    imitation::AirlConfig => imitation::Airl, "airl";
    imitation::DaggerConfig => imitation::Dagger, "dagger";
    model_based::MbpoConfig => model_based::Mbpo, "mbpo";
    model_based::MopoConfig => model_based::Mopo, "mopo";
    model_based::PetsConfig => model_based::Pets, "pets";
    population::ArsConfig => population::Ars, "ars";
    population::OpenAiEsConfig => population::OpenAiEs, "openai_es";
    population::CemConfig => population::Cem, "cem";
    offline::DecisionTransformerConfig => offline::DecisionTransformer, "decision_transformer";
    world_model::WorldModelConfig => world_model::WorldModels, "dreamerv3";
}

/// What is said of an algorithm: all that a row of the table has besides its code.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// As run files write it.
    pub name: &'static str,
    pub summary: &'static str,
    /// The user's page, or the source file whose leading `//!` comment it is.
    pub page: &'static str,
    pub actions: &'static [ActionKind],
}

/// One row of the table.
pub struct AlgoEntry {
    pub name: &'static str,
    pub summary: &'static str,
    /// Source of the algorithm's file, whose leading comment is the user's page; or that page itself.
    source: &'static str,
    pub actions: &'static [ActionKind],
    algorithm: Box<dyn Erased>,
}

const DISCRETE: &[ActionKind] = &[ActionKind::Discrete];
const BOX: &[ActionKind] = &[ActionKind::Box];
/// Actions that are choices among some.
const CHOICES: &[ActionKind] = &[ActionKind::Discrete, ActionKind::MultiDiscrete, ActionKind::MultiBinary];
const ANY: &[ActionKind] = &[ActionKind::Discrete, ActionKind::MultiDiscrete, ActionKind::MultiBinary, ActionKind::Box];

/// A name that is a matter of settings: name, summary, the source file whose leading comment is its page, and the settings.
pub type Variant<C> = (&'static str, &'static str, &'static str, fn() -> C);

/// Declares a module for each name of a family and lists them. A module's file holds the page, the summary and the settings.
macro_rules! presets {
    ($(#[$about:meta])* $list:ident: $config:ty => $folder:literal, $($name:ident),+ $(,)?) => {
        $(
            mod $name;
            pub use self::$name::preset as $name;
        )+

        $(#[$about])*
        pub const $list: &[$crate::registry::Variant<$config>] = &[$((
            stringify!($name),
            self::$name::SUMMARY,
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/", $folder, "/", stringify!($name), ".rs")),
            self::$name::preset,
        )),+];
    };
}
pub(crate) use presets;

/// Every algorithm, in the order of the documentation.
pub fn registry() -> &'static [AlgoEntry] {
    static TABLE: LazyLock<Vec<AlgoEntry>> = LazyLock::new(builtin);
    &TABLE
}

/// The rows of the table, for whoever wants to add some.
pub fn builtin() -> Vec<AlgoEntry> {
    let families = [
        value_based(),
        from_rollouts(),
        continuous_control(),
        memory(),
        goal_conditioned(),
        with_a_model(),
        world_models(),
        populations(),
        from_data(),
        from_an_expert(),
    ];
    families.into_iter().flatten().collect()
}

fn value_based() -> Vec<AlgoEntry> {
    let dqn = entry::<q_learning::Dqn>("dqn", "Deep Q-learning", include_str!("q_learning/dqn.rs"), DISCRETE);
    std::iter::once(dqn).chain(variants::<q_learning::Dqn>(q_learning::presets::VARIANTS, DISCRETE)).collect()
}

fn from_rollouts() -> Vec<AlgoEntry> {
    use policy_gradient::{A2c, Acer, Acktr, Ppg, Ppo, Reinforce, Trpo, presets};
    let own = [
        entry::<Ppo>("ppo", "Proximal policy optimisation", include_str!("policy_gradient/ppo/mod.rs"), ANY),
        entry::<A2c>("a2c", "Advantage actor-critic", include_str!("policy_gradient/a2c/mod.rs"), ANY),
        entry::<Reinforce>(
            "reinforce",
            "The plain policy gradient with a baseline",
            include_str!("policy_gradient/reinforce/mod.rs"),
            ANY,
        ),
        entry::<Acktr>(
            "acktr",
            "Actor-critic with a Kronecker-factored trust region",
            include_str!("policy_gradient/acktr/mod.rs"),
            CHOICES,
        ),
        entry::<Acer>(
            "acer",
            "Actor-critic with experience replay",
            include_str!("policy_gradient/acer/mod.rs"),
            DISCRETE,
        ),
        entry::<Ppg>("ppg", "Phasic policy gradient", include_str!("policy_gradient/ppg/mod.rs"), ANY),
        entry::<Trpo>("trpo", "Trust region policy optimisation", include_str!("policy_gradient/trpo/mod.rs"), ANY),
    ];
    own.into_iter().chain(variants::<Ppo>(presets::CURIOUS, ANY)).collect()
}

fn continuous_control() -> Vec<AlgoEntry> {
    let own = [
        entry::<q_learning::Naf>("naf", "Normalised advantage functions", include_str!("q_learning/naf.rs"), BOX),
        entry::<actor_critic::Mpo>(
            "mpo",
            "Maximum a posteriori policy optimisation",
            include_str!("actor_critic/mpo/mod.rs"),
            BOX,
        ),
        entry::<actor_critic::DiscreteSac>(
            "discrete_sac",
            "Soft actor-critic for discrete actions",
            include_str!("actor_critic/discrete_sac/mod.rs"),
            DISCRETE,
        ),
    ];
    let rows = |presets| variants::<actor_critic::OffPolicyAc>(presets, BOX);
    rows(actor_critic::presets::VARIANTS).chain(own).chain(rows(actor_critic::presets::FROM_IMAGES)).collect()
}

fn memory() -> Vec<AlgoEntry> {
    variants::<q_learning::Dqn>(q_learning::presets::WITH_MEMORY, DISCRETE)
        .chain(variants::<policy_gradient::Ppo>(policy_gradient::presets::WITH_MEMORY, ANY))
        .chain(variants::<actor_critic::OffPolicyAc>(actor_critic::presets::WITH_MEMORY, BOX))
        .collect()
}

fn goal_conditioned() -> Vec<AlgoEntry> {
    let kinds = &[ActionKind::Discrete, ActionKind::Box];
    vec![entry::<goal::Her>("her", "Hindsight experience replay", include_str!("goal/her.rs"), kinds)]
}

/// A learned model of the environment.
fn with_a_model() -> Vec<AlgoEntry> {
    vec![
        entry::<model_based::Mbpo>("mbpo", "Model-based policy optimisation", include_str!("model_based/mbpo.rs"), BOX),
        entry::<model_based::Mopo>(
            "mopo",
            "Model-based offline policy optimisation",
            include_str!("model_based/mopo.rs"),
            BOX,
        ),
        entry::<model_based::Pets>(
            "pets",
            "Planning with probabilistic ensembles",
            include_str!("model_based/pets/mod.rs"),
            BOX,
        ),
    ]
}

fn world_models() -> Vec<AlgoEntry> {
    let kinds = &[ActionKind::Discrete, ActionKind::Box];
    variants::<world_model::WorldModels>(world_model::presets::VARIANTS, kinds).collect()
}

/// A search in the parameters of a policy.
fn populations() -> Vec<AlgoEntry> {
    use population::{Ars, Cem, OpenAiEs};
    vec![
        entry::<Ars>("ars", "Augmented random search", include_str!("population/ars.rs"), ANY),
        entry::<OpenAiEs>(
            "openai_es",
            "Evolution strategies with ranks and Adam",
            include_str!("population/openai_es.rs"),
            ANY,
        ),
        entry::<Cem>("cem", "The cross-entropy method", include_str!("population/cem.rs"), ANY),
    ]
}

/// Recorded transitions, beside steps of the run's own or alone.
fn from_data() -> Vec<AlgoEntry> {
    use offline::regression::{WeightedRegression, presets};
    let both = &[ActionKind::Discrete, ActionKind::Box];
    let own = [
        entry::<offline::Bcq>("bcq", "Batch-constrained Q-learning", include_str!("offline/bcq/mod.rs"), BOX),
        entry::<offline::DiscreteBcq>(
            "discrete_bcq",
            "Batch-constrained Q-learning for discrete actions",
            include_str!("offline/discrete_bcq/mod.rs"),
            DISCRETE,
        ),
        entry::<offline::Bear>(
            "bear",
            "Bootstrapping error accumulation reduction",
            include_str!("offline/bear/mod.rs"),
            BOX,
        ),
        entry::<offline::DecisionTransformer>(
            "decision_transformer",
            "A transformer that continues recorded episodes towards a wanted return",
            include_str!("offline/decision_transformer/mod.rs"),
            both,
        ),
    ];
    let rows = |presets| variants::<actor_critic::OffPolicyAc>(presets, BOX);
    rows(actor_critic::presets::WITH_PRIOR)
        .chain(rows(actor_critic::presets::OFFLINE))
        .chain(variants::<WeightedRegression>(presets::VARIANTS, both))
        .chain(variants::<WeightedRegression>(presets::CONTINUOUS, BOX))
        .chain(own)
        .collect()
}

fn from_an_expert() -> Vec<AlgoEntry> {
    let kinds = &[ActionKind::Discrete, ActionKind::Box];
    vec![
        entry::<imitation::Gail>(
            "gail",
            "Generative adversarial imitation learning",
            include_str!("imitation/gail/mod.rs"),
            kinds,
        ),
        entry::<imitation::Airl>(
            "airl",
            "Adversarial inverse reinforcement learning",
            include_str!("imitation/airl/mod.rs"),
            kinds,
        ),
        entry::<imitation::Dagger>("dagger", "Dataset aggregation", include_str!("imitation/dagger/mod.rs"), kinds),
    ]
}

/// Rows of names that are a matter of settings.
fn variants<A: Algorithm>(
    presets: &'static [Variant<A::Config>],
    actions: &'static [ActionKind],
) -> impl Iterator<Item = AlgoEntry> {
    presets.iter().map(move |&(name, summary, page, defaults)| preset::<A>(name, summary, page, actions, defaults))
}

/// A row whose settings start from the algorithm's own defaults.
fn entry<A: Algorithm>(
    name: &'static str,
    summary: &'static str,
    page: &'static str,
    actions: &'static [ActionKind],
) -> AlgoEntry {
    preset::<A>(name, summary, page, actions, A::Config::default)
}

/// A row whose settings start from other defaults: a variant that is a matter of settings.
fn preset<A: Algorithm>(
    name: &'static str,
    summary: &'static str,
    page: &'static str,
    actions: &'static [ActionKind],
    defaults: fn() -> A::Config,
) -> AlgoEntry {
    AlgoEntry::new::<A>(About { name, summary, page, actions }, defaults)
}

impl AlgoEntry {
    /// A row whose settings start from `preset`.
    pub fn new<A: Algorithm>(about: About, preset: fn() -> A::Config) -> Self {
        let About { name, summary, page, actions } = about;
        Self { name, summary, source: page, actions, algorithm: Box::new(Preset::<A>(preset)) }
    }

    /// Settings that a run file of this name starts from.
    pub fn defaults(&self) -> Value {
        self.algorithm.defaults()
    }

    /// Reads a run file for this algorithm: all defaults filled in, every mistake placed.
    pub fn read(&self, text: &str, source_name: &str, assignments: &[String]) -> Result<RunConfig, ConfigError> {
        self.read_document(&Document::parse(text, source_name, assignments)?)
    }

    /// As [`AlgoEntry::read`], of a document that is at hand.
    pub fn read_document(&self, document: &Document) -> Result<RunConfig, ConfigError> {
        self.algorithm.read(document)
    }

    /// Refuses settings that were written and have no effect, as whoever wrote them believes in one.
    pub fn refuse_idle(&self, document: &Document, settings: &Value) -> Result<(), ConfigError> {
        self.algorithm.refuse_idle(document, settings)
    }

    /// A configuration that was kept as JSON, such as a checkpoint's: checked like a run file, since it may be damaged, forged
    /// or older than a setting; what it lacks is filled in from this name's preset.
    pub fn revalidate(&self, config: &Value) -> Result<RunConfig, ConfigError> {
        let document = Document::of(config, "the saved configuration")?;
        let algo = document.name_at("algo")?;
        if algo != self.name {
            let message = format!("`algo` is `{}` where `{}` belongs", short(algo), self.name);
            return Err(document.blame(&["algo"], message));
        }
        self.read_document(&document)
    }

    /// The JSON Schema of a run file for this algorithm.
    pub fn schema(&self) -> Value {
        self.algorithm.schema()
    }

    /// Refuses what [`AlgoEntry::build`] would refuse, without making anything large.
    pub fn check(&self, settings: &Value, setup: &Setup) -> Result<(), BuildError> {
        self.algorithm.check(settings, setup)
    }

    /// Whether recorded transitions are learned from.
    pub fn wants_data(&self, settings: &Value) -> bool {
        self.algorithm.wants_data(settings)
    }

    /// Whether environment steps are taken.
    pub fn takes_steps(&self, settings: &Value) -> bool {
        self.algorithm.takes_steps(settings)
    }

    pub fn build(&self, settings: &Value, setup: &Setup) -> Result<Learner, BuildError> {
        self.algorithm.build(settings, setup)
    }

    /// The user's page: the comment at the top of the algorithm's file, or a text of its own for a variant.
    pub fn page(&self) -> String {
        if !self.source.starts_with("//!") {
            return self.source.trim_end().to_owned();
        }
        let lines = self.source.lines().take_while(|l| l.starts_with("//!"));
        lines.map(|l| l.trim_start_matches("//!").strip_prefix(' ').unwrap_or("")).collect::<Vec<_>>().join("\n")
    }
}

pub fn find(name: &str) -> Option<&'static AlgoEntry> {
    registry().iter().find(|e| e.name == name)
}

/// The algorithm that a document asks for.
pub fn asked_for(document: &Document) -> Result<&'static AlgoEntry, ConfigError> {
    let name = document.name_at("algo")?;
    find(name).ok_or_else(|| {
        document.blame_value(&["algo"], format!("unknown algorithm `{}`{}", short(name), suggestion(name, &names())))
    })
}

/// [`AlgoEntry::revalidate`] of the algorithm that the configuration itself names.
pub fn revalidate(config: &Value) -> Result<RunConfig, ConfigError> {
    asked_for(&Document::of(config, "the saved configuration")?)?.revalidate(config)
}

pub fn names() -> Vec<&'static str> {
    registry().iter().map(|e| e.name).collect()
}

#[cfg(test)]
mod tests;
