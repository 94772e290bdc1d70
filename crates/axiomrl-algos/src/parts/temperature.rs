//! The weight of the entropy in soft methods: fixed, or adapted so that the entropy stays at a target.

use crate::state::{StateError, StateIo};
use axiomrl_nn::{AdamConfig, Optimizer, OptimizerConfig, Params};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// As written in a run file: `auto` or a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TemperatureSetting {
    Auto,
    Fixed(f32),
}

impl Serialize for TemperatureSetting {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => to.serialize_str("auto"),
            Self::Fixed(value) => to.serialize_f32(*value),
        }
    }
}

impl<'de> Deserialize<'de> for TemperatureSetting {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct AutoOrNumber;
        impl Visitor<'_> for AutoOrNumber {
            type Value = TemperatureSetting;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`auto` or a number from 0 to 1000")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
                match text.parse::<f64>() {
                    _ if text == "auto" => Ok(TemperatureSetting::Auto),
                    Ok(number) => self.visit_f64(number),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
                if (0.0..=1000.0).contains(&number) {
                    Ok(TemperatureSetting::Fixed(number as f32))
                } else {
                    Err(E::invalid_value(de::Unexpected::Float(number), &self))
                }
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
                self.visit_f64(number as f64)
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
                self.visit_f64(number as f64)
            }
        }
        from.deserialize_any(AutoOrNumber)
    }
}

impl JsonSchema for TemperatureSetting {
    fn schema_name() -> Cow<'static, str> {
        "Temperature".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "oneOf": [{ "const": "auto" }, { "type": "number", "minimum": 0, "maximum": 1000 }] })
    }
}

/// What an adapted weight alpha descends on, with H the entropy and H* the one to aim for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TemperatureLoss {
    /// log alpha * (H - H*).
    Log,
    /// alpha * (H - H*): slower the smaller it is.
    Linear,
}

/// The weight at work.
pub struct Temperature {
    /// Logarithm of the weight, so that it stays positive.
    log: Params,
    fixed: Option<f32>,
    target_entropy: f32,
    loss: TemperatureLoss,
    optimizer: Optimizer,
}

impl Temperature {
    pub fn new(setting: TemperatureSetting, initial: f32, target_entropy: f32) -> Self {
        let fixed = if let TemperatureSetting::Fixed(value) = setting { Some(value) } else { None };
        let optimizer = Optimizer::new(&OptimizerConfig::Adam(AdamConfig::default()), 1);
        let log = Params::from_vec(1, 1, vec![initial.ln()]);
        Self { log, fixed, target_entropy, loss: TemperatureLoss::Log, optimizer }
    }

    /// Descends on another loss.
    pub fn on(self, loss: TemperatureLoss) -> Self {
        Self { loss, ..self }
    }

    pub fn value(&self) -> f32 {
        self.fixed.unwrap_or_else(|| self.log.as_slice()[0].exp())
    }

    /// One step on -log alpha * (mean log-probability + target): alpha grows while the policy is too certain.
    pub fn update(&mut self, mean_log_prob: f32, rate: f32) {
        if self.fixed.is_none() {
            let gradient = self.slope(mean_log_prob);
            self.optimizer.step(&mut self.log, &[gradient], rate, 1.0);
        }
    }

    /// The loss by log alpha: of the linear loss that is the loss itself.
    fn slope(&self, mean_log_prob: f32) -> f32 {
        let above = -(mean_log_prob + self.target_entropy);
        match self.loss {
            TemperatureLoss::Log => above,
            TemperatureLoss::Linear => self.value() * above,
        }
    }

    pub fn visit_state(&mut self, io: &mut StateIo<'_>) -> Result<(), StateError> {
        if self.fixed.is_some() {
            return Ok(());
        }
        io.params("log_ent_coef", &mut self.log)?;
        io.optimizer("ent_coef", &mut self.optimizer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moves_towards_the_target_entropy() {
        let mut t = Temperature::new(TemperatureSetting::Auto, 1.0, -1.0);
        // log-probability 3 is entropy -3, below the target -1: more weight on entropy is needed.
        t.update(3.0, 0.1);
        assert!(t.value() > 1.0);
        let mut t = Temperature::new(TemperatureSetting::Auto, 1.0, -1.0);
        t.update(-3.0, 0.1);
        assert!(t.value() < 1.0);
        let mut t = Temperature::new(TemperatureSetting::Fixed(0.2), 1.0, -1.0);
        t.update(3.0, 0.1);
        assert_eq!(t.value(), 0.2);
    }

    #[test]
    fn the_linear_loss_by_hand() {
        // Two actions with a target of half their number: entropy 0.5 is 1.5 above it.
        let mut t = Temperature::new(TemperatureSetting::Auto, 1.0, -1.0).on(TemperatureLoss::Linear);
        assert_eq!(t.slope(-0.5), 1.5);
        t.update(-0.5, 0.1);
        assert!(t.value() < 1.0);
        // It is smaller where the weight is; the logarithm's is not.
        let small = |loss| Temperature::new(TemperatureSetting::Auto, 0.5, -1.0).on(loss).slope(-0.5);
        assert_eq!((small(TemperatureLoss::Linear), small(TemperatureLoss::Log)), (0.75, 1.5));
    }

    #[test]
    fn reads_auto_and_numbers_and_refuses_the_rest() {
        let read = |text: &str| serde_json::from_str::<TemperatureSetting>(text);
        assert_eq!(read("\"auto\"").unwrap(), TemperatureSetting::Auto);
        assert_eq!(read("0.2").unwrap(), TemperatureSetting::Fixed(0.2));
        assert!(read("\"automatic\"").is_err());
        assert!(read("-1").is_err());
    }
}
