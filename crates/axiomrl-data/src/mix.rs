//! Whole episodes of several sources, by share.

use crate::fit::Fit;
use crate::{DataError, EpisodeBuf, EpisodeReader, Metadata, Recording};
use axiomrl_core::{Rng, random, stream};
use axiomrl_envs::Spaces;

/// A source and its weight; shares are weights divided by their sum.
pub struct Share {
    pub reader: Box<dyn EpisodeReader>,
    pub weight: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct MixOptions {
    /// Transitions; as episodes stay whole, up to one episode of each source more.
    pub size: u64,
    pub seed: u64,
    /// Whether a source that is too small may hand out its episodes again.
    pub repeats: bool,
}

/// Draws whole episodes from each source, at random and without replacement, until its share of `size` is met, and shuffles
/// them. The spaces are those of the first source, which the others must fit.
pub fn mix(sources: Vec<Share>, options: &MixOptions) -> Result<Recording, DataError> {
    let total: f64 = sources.iter().map(|source| source.weight).sum();
    if sources.iter().any(|source| !(source.weight.is_finite() && source.weight > 0.0)) || !total.is_finite() {
        return Err(DataError::Invalid("every source of a mixture needs a weight above 0".into()));
    }
    if options.size == 0 {
        return Err(DataError::Invalid("a mixture needs a size of 1 transition or more".into()));
    }
    let Some(first) = sources.first() else {
        return Err(DataError::Invalid("a mixture needs a source".into()));
    };
    let spaces = first.reader.spaces().clone();
    let mut metadata = common(&sources);
    let (mut episodes, mut parts) = (Vec::new(), Vec::new());
    let (mut weight, mut before) = (0.0, 0);
    for (i, Share { mut reader, weight: own }) in sources.into_iter().enumerate() {
        // From the sum of weights, so that the shares of all add up to the size.
        weight += own;
        let upto = (options.size as f64 * (weight / total)).round() as u64;
        let (share, mut rng) = (upto - before, stream(options.seed, &format!("mix/{i}")));
        before = upto;
        let drawn = draw(reader.as_mut(), &spaces, share, options.repeats, &mut rng)?;
        let steps: usize = drawn.iter().map(EpisodeBuf::steps).sum();
        parts.push(format!("{steps} of {}", reader.name()));
        episodes.extend(drawn);
    }
    shuffle(&mut episodes, &mut stream(options.seed, "mix/order"));
    metadata.description = Some(format!("a mixture of transitions: {} (seed {})", parts.join(", "), options.seed));
    Ok(Recording { name: "mixture".into(), spaces, metadata, episodes })
}

/// Episodes of a source until they have as many steps as are wanted.
fn draw(
    reader: &mut dyn EpisodeReader,
    spaces: &Spaces,
    wanted: u64,
    repeats: bool,
    rng: &mut Rng,
) -> Result<Vec<EpisodeBuf>, DataError> {
    let name = reader.name().to_owned();
    let fit = Fit::new(reader.spaces(), spaces, false).map_err(|problem| DataError::Spaces {
        name: name.clone(),
        problem: format!("{problem} (here the first source of the mixture)"),
    })?;
    let mut all = Vec::new();
    while let Some(mut episode) = reader.next_episode()? {
        episode.obs = fit.arrange(episode.obs);
        if fit.drops_masks {
            episode.masks.clear();
        }
        if episode.steps() > 0 {
            all.push(episode);
        }
    }
    let held: u64 = all.iter().map(|episode| episode.steps() as u64).sum();
    if held == 0 {
        return Err(DataError::Empty { name });
    }
    if held < wanted && !repeats {
        return Err(DataError::Invalid(format!(
            "{name}: it has {held} transitions, and its share of the mixture is {wanted}; ask for a smaller size or share, or \
             allow repeats"
        )));
    }
    // Whole rounds of everything first, and then some of one more.
    let mut drawn = Vec::new();
    for _ in 0..wanted / held {
        drawn.extend(all.iter().cloned());
    }
    let mut missing = wanted % held;
    shuffle(&mut all, rng);
    for episode in all {
        if missing == 0 {
            break;
        }
        missing = missing.saturating_sub(episode.steps() as u64);
        drawn.push(episode);
    }
    Ok(drawn)
}

fn shuffle<T>(items: &mut [T], rng: &mut Rng) {
    for i in (1..items.len()).rev() {
        items.swap(i, random::below(rng, i + 1));
    }
}

/// What is true of all sources.
fn common(sources: &[Share]) -> Metadata {
    let first = sources.first().map(|source| source.reader.metadata().clone()).unwrap_or_default();
    let same = |of: fn(&Metadata) -> (&Option<String>, &serde_json::Map<String, serde_json::Value>, Option<u64>)| {
        sources.iter().all(|source| of(source.reader.metadata()) == of(&first))
    };
    let mut metadata = Metadata::default();
    if same(|metadata| (&metadata.env_id, &metadata.env_kwargs, metadata.max_episode_steps)) {
        metadata.env_id = first.env_id.clone();
        metadata.env_kwargs = first.env_kwargs.clone();
        metadata.max_episode_steps = first.max_episode_steps;
    }
    for author in sources.iter().flat_map(|source| &source.reader.metadata().author) {
        if !metadata.author.contains(author) {
            metadata.author.push(author.clone());
        }
    }
    metadata
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::recording;

    /// One step for each number, in episodes of these lengths; observations say which source and step it was.
    fn share(tag: f32, lengths: &[usize], weight: f64) -> Share {
        let mut source = recording(lengths);
        source.name = format!("source {tag}");
        for (number, episode) in source.episodes.iter_mut().enumerate() {
            episode.rewards.iter_mut().for_each(|reward| *reward = 100.0 * tag + number as f32);
        }
        Share { reader: Box::new(source.into_reader()), weight }
    }

    fn options(size: u64) -> MixOptions {
        MixOptions { size, seed: 1, repeats: false }
    }

    /// Number of steps and of different episodes of a source.
    fn counts(mixed: &Recording, tag: usize) -> (usize, usize) {
        let of = mixed.episodes.iter().filter(|episode| episode.rewards[0] as usize / 100 == tag);
        let mut numbers: Vec<u32> = of.clone().map(|episode| episode.rewards[0] as u32).collect();
        numbers.sort_unstable();
        numbers.dedup();
        (of.map(EpisodeBuf::steps).sum(), numbers.len())
    }

    #[test]
    fn shares_are_met_by_whole_episodes() {
        let sources = || vec![share(1.0, &[10; 30], 3.0), share(2.0, &[7; 30], 1.0)];
        let mixed = mix(sources(), &options(200)).unwrap();
        // 150 and 50, the latter rounded up to eight episodes of seven.
        assert_eq!((counts(&mixed, 1), counts(&mixed, 2)), ((150, 15), (56, 8)));
        let order: Vec<f32> = mixed.episodes.iter().map(|episode| episode.rewards[0]).collect();
        assert!(order.windows(2).filter(|pair| pair[0] > pair[1]).count() > 4, "{order:?} is in order");
        assert_eq!(mix(sources(), &options(200)).unwrap(), mixed);
        let other = mix(sources(), &MixOptions { seed: 2, ..options(200) }).unwrap();
        assert_ne!(other, mixed);
        let description = mixed.metadata.description.unwrap();
        assert!(description.contains("150 of source 1, 56 of source 2"), "{description}");
    }

    #[test]
    fn a_small_source_is_refused_unless_it_may_repeat() {
        let sources = || vec![share(1.0, &[4, 3], 1.0), share(2.0, &[10; 9], 1.0)];
        let error = mix(sources(), &options(40)).unwrap_err().to_string();
        assert!(error.contains("source 1: it has 7 transitions, and its share of the mixture is 20"), "{error}");
        let mixed = mix(sources(), &MixOptions { repeats: true, ..options(40) }).unwrap();
        // Two rounds of seven, then as many as six steps take.
        let (steps, different) = counts(&mixed, 1);
        assert!(different == 2 && steps == 21, "{steps}");
        assert_eq!(counts(&mixed, 2), (20, 2));
    }

    #[test]
    fn what_cannot_be_mixed_is_refused() {
        for (sources, size, words) in [
            (vec![], 5, "needs a source"),
            (vec![share(1.0, &[4], 0.0)], 2, "weight above 0"),
            (vec![share(1.0, &[4], f64::NAN)], 2, "weight above 0"),
            (vec![share(1.0, &[4], 1.0)], 0, "size of 1"),
            (vec![share(1.0, &[], 1.0)], 1, "source 1: it holds no step"),
        ] {
            let error = mix(sources, &options(size)).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let mut other = recording(&[3]);
        other.name = "other".into();
        other.spaces.action = axiomrl_envs::Space::Discrete { n: 2 };
        let other = Share { reader: Box::new(other.into_reader()), weight: 1.0 };
        let error = mix(vec![share(1.0, &[4], 1.0), other], &options(4)).unwrap_err().to_string();
        assert!(error.starts_with("other: actions are Discrete(2) in the data"), "{error}");
    }

    #[test]
    fn what_all_sources_agree_on_is_kept() {
        let of = |env: &str| {
            let mut source = recording(&[3]);
            source.metadata.env_id = Some(env.into());
            source.metadata.author = vec![format!("author of {env}")];
            Share { reader: Box::new(source.into_reader()), weight: 1.0 }
        };
        let mixed = |other: &str| mix(vec![of("A-v0"), of(other)], &options(2)).unwrap().metadata;
        assert_eq!(mixed("A-v0").env_id.as_deref(), Some("A-v0"));
        assert_eq!((mixed("B-v0").env_id, mixed("B-v0").author.len(), mixed("A-v0").author.len()), (None, 2, 1));
    }
}
