//! `axiomrl export`: a policy for other programs.

use crate::failure::Failure;
use crate::options::PolicySource;
use crate::output::{pairs, print, print_json};
use crate::{policy, pool};
use axiomrl_algos::export::Named;
use axiomrl_run::export::{Exported, export};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Writes a trained policy as an ONNX file, which other programs run
///
/// The file takes observations as the environment gives them, as many rows at once as there are, and gives the action that
/// predict and eval take, in the environment's own units: statistics, networks, squashing and scaling are inside. The command
/// prints what goes in and what comes out.
///
/// Of named parts each is an input of its own, other observations are called observation. Pixels are bytes (height, width,
/// channels), choices whole numbers counted from 0. A policy that was trained with masks takes a mask, one with a memory takes
/// its state (all zeros where an episode begins) and gives next_state. World models take noise, too: numbers drawn anew at every
/// step, uniformly from 0 to 1 where their states are choices, normally where they are Gaussian.
///
/// Policies that plan by drawing (pets), or act on the rewards so far (decision_transformer), are refused.
#[derive(Args)]
pub struct Export {
    #[command(flatten)]
    source: PolicySource,
    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "policy.onnx")]
    output: PathBuf,
    /// Prints what was written as one JSON object
    #[arg(long)]
    json: bool,
}

impl Export {
    pub fn run(self) -> Result<(), Failure> {
        let (written, checkpoint) = pool::run(None, || {
            let (policy, checkpoint) = policy::open(&self.source)?;
            let written = export(policy.policy.as_ref(), &policy.config, &self.output).map_err(Failure::bad_input)?;
            Ok::<_, Failure>((written, checkpoint))
        })?;
        let Exported { inputs, outputs, bytes } = written;
        let path = self.output.display().to_string();
        if self.json {
            let list = |all: &[Named]| all.iter().map(as_json).collect::<Vec<_>>();
            return print_json(&json!({
                "path": path,
                "checkpoint": checkpoint.display().to_string(),
                "bytes": bytes,
                "inputs": list(&inputs),
                "outputs": list(&outputs),
            }));
        }
        let list = |all: &[Named]| all.iter().map(in_words).collect::<Vec<_>>().join(", ");
        let size = format!("{path}, {} KiB", bytes.div_ceil(1024));
        print(&pairs(&[("written", size), ("inputs", list(&inputs)), ("outputs", list(&outputs))]))
    }
}

fn as_json(named: &Named) -> Value {
    let sizes = named.shape.iter().map(|&size| json!(size));
    let shape: Vec<Value> = std::iter::once(json!("batch")).chain(sizes).collect();
    json!({ "name": named.name, "dtype": named.element.name(), "shape": shape })
}

fn in_words(named: &Named) -> String {
    let sizes = named.shape.iter().map(usize::to_string);
    let shape: Vec<String> = std::iter::once("batch".to_owned()).chain(sizes).collect();
    format!("{} {}[{}]", named.name, named.element.name(), shape.join(", "))
}
