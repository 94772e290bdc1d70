//! Which images can be looked at, and how often they are halved.

use super::choices::Sight;
use super::recipe::Style;
use crate::config::Problem;
use axiomrl_envs::{ObsSpace, Part};

/// An image and what is left of it after so many halvings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stages {
    pub image: [usize; 3],
    /// Height and width of the last stage: four to seven pixels, or so.
    pub smallest: [usize; 2],
    pub count: usize,
}

impl Stages {
    /// Halves as long as both sides are even and of eight pixels or more. `None` where that leaves more than sixteen, or where
    /// there is nothing to halve.
    pub fn of(image: [usize; 3]) -> Option<Self> {
        let ([mut height, mut width, _], mut count) = (image, 0);
        while height.is_multiple_of(2) && width.is_multiple_of(2) && height.min(width) >= 8 {
            (height, width, count) = (height / 2, width / 2, count + 1);
        }
        let fits = count > 0 && height.max(width) <= 16;
        fits.then_some(Self { image, smallest: [height, width], count })
    }

    /// Channels after each halving.
    pub fn channels(&self, style: &Style, depth: usize) -> Vec<usize> {
        let multiple = |stage: usize| if style.normed { [2, 3, 4, 4][stage.min(3)] } else { 1 << stage.min(3) };
        (0..self.count).map(|stage| depth * multiple(stage)).collect()
    }
}

/// The images that are looked at, or what is wrong with one.
pub fn parts(space: &ObsSpace, vision: Sight) -> Result<Vec<(&Part, Stages)>, Problem> {
    let images = space.parts.iter().filter_map(|part| Some((part, part.image_shape()?)));
    let looked_at = images.filter(|_| vision != Sight::Flat);
    let each = |(part, image): (_, [usize; 3])| match Stages::of(image) {
        Some(stages) => Ok((part, stages)),
        None => {
            let next =
                |side: usize| [8, 16, 24, 32, 48, 64, 96, 128].into_iter().find(|&fits| fits >= side).unwrap_or(128);
            let [height, width, _] = image;
            let problem = format!(
                "an image of {height} by {width} pixels cannot be halved to four to sixteen; make it {} by {}, or set \
                 `vision: flat`",
                next(height),
                next(width)
            );
            Err(Problem::new(&["vision"], problem))
        }
    };
    looked_at.map(each).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axiomrl_envs::{BoxSpace, Space};

    #[test]
    fn images_are_halved_to_four_to_seven_pixels_or_refused_with_the_next_size() {
        for (side, count, smallest) in [(64, 4, 4), (32, 3, 4), (16, 2, 4), (96, 4, 6), (84, 2, 21), (24, 2, 6)] {
            let found = Stages::of([side, side, 3]);
            match smallest {
                21 => assert_eq!(found, None),
                _ => assert_eq!(found.map(|found| (found.count, found.smallest)), Some((count, [smallest; 2]))),
            }
        }
        let catch = ObsSpace::of(&Space::Box(BoxSpace::image(10, 5, 1)));
        let problem = parts(&catch, Sight::Auto).unwrap_err().to_string();
        assert!(problem.contains("16 by 8") && problem.contains("vision: flat"), "{problem}");
        assert!(parts(&catch, Sight::Flat).unwrap().is_empty());
    }
}
