//! Named tensors in PyTorch's layout.

use crate::reference::{network, normal};
use axiomrl_nn::{Activation, MlpSpec, NamedTensors, NnError};
use std::collections::BTreeMap;

type File = BTreeMap<String, (Vec<usize>, Vec<f32>)>;

fn saved(spec: &MlpSpec, members: usize, prefix: &str) -> (File, axiomrl_nn::Mlp) {
    let net = network(spec.clone(), members, 1);
    let mut file = File::new();
    net.export(prefix, &mut |name, shape, data| {
        file.insert(name, (shape, data));
    });
    (file, net)
}

#[test]
fn a_round_trip_restores_every_bit() {
    for spec in [
        MlpSpec::new(3, &[5, 4], 2, Activation::Relu),
        MlpSpec::new(17, &[33], 1, Activation::Tanh).with_layer_norm(),
        MlpSpec::new(2, &[], 2, Activation::Tanh),
    ] {
        for members in [1, 3] {
            let (file, net) = saved(&spec, members, "critic");
            let mut other = network(spec.clone(), members, 9);
            assert_ne!(other.params.as_slice(), net.params.as_slice());
            other.import("critic", &mut |name| file.get(name).cloned()).expect("the same network");
            assert_eq!(other.params.as_slice(), net.params.as_slice());
        }
    }
}

#[test]
fn names_and_layout_are_pytorchs() {
    let spec = MlpSpec::new(3, &[5], 2, Activation::Identity).with_layer_norm();
    let (file, _) = saved(&spec, 1, "actor");
    let names: Vec<&str> = file.keys().map(String::as_str).collect();
    let wanted = [
        "actor.0.bias",
        "actor.0.norm.bias",
        "actor.0.norm.weight",
        "actor.0.weight",
        "actor.1.bias",
        "actor.1.weight",
    ];
    assert_eq!(names, wanted);
    assert_eq!(file["actor.0.weight"].0, [5, 3]);
    assert!(saved(&spec, 2, "").0.contains_key("1.0.norm.weight"));

    // y = x Wᵀ + b with the exported tensors.
    let (file, net) = saved(&MlpSpec::new(3, &[], 2, Activation::Identity), 1, "");
    let x = normal(3, 4);
    let mut out = Vec::new();
    net.infer(&x, 1, &mut out);
    let (weight, bias) = (&file["0.weight"].1, &file["0.bias"].1);
    for o in 0..2 {
        let y: f32 = (0..3).map(|i| weight[o * 3 + i] * x[i]).sum::<f32>() + bias[o];
        assert!((y - out[o]).abs() < 1e-5);
    }
}

#[test]
fn a_foreign_file_is_refused_and_nothing_changes() {
    let spec = MlpSpec::new(3, &[5], 2, Activation::Relu);
    let (mut file, _) = saved(&spec, 2, "q");
    let mut net = network(spec, 2, 5);
    let before = net.params.as_slice().to_vec();

    let bias = file.remove("q.1.1.bias").expect("exported");
    let error = net.import("q", &mut |name| file.get(name).cloned()).expect_err("a tensor is missing");
    assert_eq!(error, NnError::MissingTensor { name: "q.1.1.bias".into() });
    assert!(error.to_string().contains("q.1.1.bias"));

    file.insert("q.1.1.bias".into(), bias);
    file.insert("q.0.0.weight".into(), (vec![3, 5], vec![0.0; 15]));
    let error = net.import("q", &mut |name| file.get(name).cloned()).expect_err("a shape is wrong");
    assert_eq!(error, NnError::WrongShape { name: "q.0.0.weight".into(), expected: vec![5, 3], found: vec![3, 5] });
    assert_eq!(net.params.as_slice(), before);
}
