//! Checkpoints of 0.1.0.

use super::sealed::tamper;
use super::*;

/// What 0.1.0 wrote for a policy, under its names.
fn save_old(dir: &Path) {
    save_small(dir, &snapshot(2.0), true).unwrap();
    fs::rename(dir.join(POLICY), dir.join("model.safetensors")).unwrap();
    tamper(dir, |manifest| {
        let fields = manifest.as_object_mut().unwrap();
        fields.remove("spaces");
        fields.remove("policy");
        fields["schema_version"] = json!(1);
        let digest = fields["files"][POLICY].take();
        fields["files"] = json!({ "model.safetensors": digest });
        fields["state"] = json!({"normalizer": {"obs": {"mean": [1.0]}, "clip_obs": 10.0}, "updates": 5});
    });
}

#[test]
fn their_policies_can_be_used() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("best");
    save_old(&dir);
    let saved = load_policy(&dir).unwrap();
    assert_eq!(saved.snapshot.policy.tensors, snapshot(2.0).policy.tensors);
    assert_eq!(saved.snapshot.policy.values["observation_statistics"], json!({"mean": [1.0]}));
    assert_eq!(saved.spaces, None);
}

#[test]
fn training_does_not_go_on_from_them_and_the_message_says_why() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("last");
    save_old(&dir);
    let error = load(&dir).unwrap_err();
    assert!(matches!(error, CheckpointError::OlderSchema { found: 1, .. }), "{error}");
    assert!(error.to_string().contains("train anew"), "{error}");
}

#[test]
fn they_are_verified_like_any_other() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("best");
    save_old(&dir);
    let model = dir.join("model.safetensors");
    let mut bytes = fs::read(&model).unwrap();
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(&model, bytes).unwrap();
    assert!(load_policy(&dir).unwrap_err().to_string().contains("model.safetensors: sha256 differs"));
}
