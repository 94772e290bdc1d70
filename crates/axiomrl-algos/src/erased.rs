//! What a row of the table can do with its algorithm, whatever the type of its settings.

use crate::agent::Setup;
use crate::config::{ConfigError, Document, Node, Place, Problem, RunConfig, Settings, overlay, plain};
use crate::parts::checks::BuildError;
use crate::regimes::Learner;
use crate::registry::Algorithm;
use garde::Validate;
use schemars::SchemaGenerator;
use serde_json::{Value, json};

/// An algorithm with the preset that goes with a name. Every method takes its defaults from that preset.
pub(crate) trait Erased: Send + Sync {
    /// The preset as plain JSON.
    fn defaults(&self) -> Value;
    /// The JSON Schema of a run file.
    fn schema(&self) -> Value;
    /// A document with every default filled in, all of it in range and free of contradictions.
    fn read(&self, document: &Document) -> Result<RunConfig, ConfigError>;
    /// Refuses what was written and has no effect.
    fn refuse_idle(&self, document: &Document, settings: &Value) -> Result<(), ConfigError>;
    /// Everything `build` would refuse, without building.
    fn check(&self, settings: &Value, setup: &Setup) -> Result<(), BuildError>;
    /// Whether recorded transitions are learned from.
    fn wants_data(&self, settings: &Value) -> bool;
    /// Whether environment steps are taken.
    fn takes_steps(&self, settings: &Value) -> bool;
    fn build(&self, settings: &Value, setup: &Setup) -> Result<Learner, BuildError>;
}

pub(crate) struct Preset<A: Algorithm>(pub fn() -> A::Config);

impl<A: Algorithm> Preset<A> {
    /// Plain settings as typed ones, whoever wrote them.
    pub(crate) fn typed(&self, settings: &Value) -> Result<A::Config, Problem> {
        let written = Node::of(settings, Place::Nowhere);
        let typed = overlay(&(self.0)(), Some(&written)).map_err(|mistake| Problem::new(&[], mistake.to_string()))?;
        typed.validate().map_err(|report| Problem::new(&[], report.to_string().trim()))?;
        Ok(typed)
    }
}

impl<A: Algorithm> Erased for Preset<A> {
    fn defaults(&self) -> Value {
        plain(&(self.0)())
    }

    fn schema(&self) -> Value {
        let mut generator = SchemaGenerator::default();
        let own = generator.subschema_for::<A::Config>().to_value();
        let mut schema = generator.into_root_schema_for::<RunConfig>().to_value();
        let defaults = self.defaults();
        let name = own["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")).unwrap_or_default().to_owned();
        if let Some(properties) = schema["$defs"][&name]["properties"].as_object_mut() {
            for (key, property) in properties {
                property["default"] = defaults[key].clone();
            }
        }
        let description = schema["properties"]["algo_kwargs"]["description"].clone();
        schema["properties"]["algo_kwargs"] =
            json!({ "$ref": own["$ref"], "description": description, "default": defaults });
        schema
    }

    fn read(&self, document: &Document) -> Result<RunConfig, ConfigError> {
        let mut config = document.run()?;
        let settings = document.settings(&(self.0)())?;
        A::check(&settings).map_err(|problem| document.problem(&problem))?;
        config.algo_kwargs = Settings(plain(&settings));
        Ok(config)
    }

    fn refuse_idle(&self, document: &Document, settings: &Value) -> Result<(), ConfigError> {
        let typed = self.typed(settings).map_err(|problem| document.problem(&problem))?;
        document.idle(settings, &self.defaults(), &A::idle(&typed))
    }

    fn check(&self, settings: &Value, setup: &Setup) -> Result<(), BuildError> {
        let typed = self.typed(settings)?;
        A::check(&typed)?;
        Ok(A::check_setup(&typed, setup)?)
    }

    fn wants_data(&self, settings: &Value) -> bool {
        self.typed(settings).is_ok_and(|typed| A::wants_data(&typed))
    }

    fn takes_steps(&self, settings: &Value) -> bool {
        self.typed(settings).map_or(true, |typed| A::takes_steps(&typed))
    }

    fn build(&self, settings: &Value, setup: &Setup) -> Result<Learner, BuildError> {
        self.check(settings, setup)?;
        A::build(self.typed(settings)?, setup)
    }
}
