//! Weighted choice among many slots in logarithmic time.

/// A binary tree whose nodes hold the sum of their two children.
///
/// A node is always the sum of its children as they are, never adjusted by a difference: rounding errors cannot pile
/// up, and a tree rebuilt from its leaves is the same to the last bit.
#[derive(Clone, Debug)]
pub(crate) struct SumTree {
    /// `nodes[1]` is the root, the children of `i` are `2i` and `2i + 1`, the leaves are the second half.
    nodes: Vec<f64>,
}

impl SumTree {
    pub fn new(leaves: usize) -> Self {
        Self { nodes: vec![0.0; 2 * leaves.next_power_of_two()] }
    }

    fn first_leaf(&self) -> usize {
        self.nodes.len() / 2
    }

    pub fn total(&self) -> f64 {
        self.nodes[1]
    }

    pub fn get(&self, leaf: usize) -> f64 {
        self.nodes[self.first_leaf() + leaf]
    }

    pub fn set(&mut self, leaf: usize, value: f64) {
        let mut node = self.first_leaf() + leaf;
        self.nodes[node] = value;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node] + self.nodes[2 * node + 1];
        }
    }

    /// For each of the masses the leaf at which the running sum passes it. Never a leaf of value zero while the total
    /// is above zero, whatever rounding does to the mass. The masses are used up.
    ///
    /// All go down together, level by level: their memory accesses do not wait for each other.
    pub fn find(&self, masses: &mut [f64], leaves: &mut [usize]) {
        leaves.fill(1);
        for _ in 0..self.first_leaf().trailing_zeros() {
            for (node, mass) in leaves.iter_mut().zip(&mut *masses) {
                let (left, right) = (self.nodes[2 * *node], self.nodes[2 * *node + 1]);
                // Arithmetic, not branches: which way it goes is random, so a branch would be guessed wrong.
                let goes_right = (left <= 0.0) | ((*mass >= left) & (right > 0.0));
                *mass -= left * f64::from(u8::from(goes_right));
                *node = 2 * *node + usize::from(goes_right);
            }
        }
        leaves.iter_mut().for_each(|node| *node -= self.first_leaf());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn find<const N: usize>(tree: &SumTree, mut masses: [f64; N]) -> [usize; N] {
        let mut leaves = [0; N];
        tree.find(&mut masses, &mut leaves);
        leaves
    }

    #[test]
    fn finds_the_slot_under_each_part_of_the_mass() {
        let mut tree = SumTree::new(5);
        for (leaf, value) in [1.0, 0.0, 2.0, 3.0, 4.0].into_iter().enumerate() {
            tree.set(leaf, value);
        }
        assert_eq!(tree.total(), 10.0);
        assert_eq!(find(&tree, [0.0, 0.99, 1.0, 2.99, 3.0, 5.99, 6.0, 9.99]), [0, 0, 2, 2, 3, 3, 4, 4]);
        // Past the end, as rounding may put it: the last slot that has any mass.
        assert_eq!(find(&tree, [11.0]), [4]);
        tree.set(4, 0.0);
        assert_eq!(find(&tree, [6.0]), [3]);
    }

    proptest! {
        #[test]
        fn agrees_with_a_linear_scan(values in prop::collection::vec(0u8..4, 1..40), at in 0.0f64..1.0) {
            let mut tree = SumTree::new(values.len());
            // Set twice, so that overwriting is tested too.
            for (leaf, &v) in values.iter().enumerate() { tree.set(leaf, f64::from(v) + 7.0); }
            for (leaf, &v) in values.iter().enumerate() { tree.set(leaf, f64::from(v)); }
            let total: f64 = values.iter().map(|&v| f64::from(v)).sum();
            prop_assert_eq!(tree.total(), total);
            prop_assume!(total > 0.0);
            let mass = at * total;
            let mut sum = 0.0;
            let expected = values.iter().position(|&v| { sum += f64::from(v); mass < sum }).unwrap();
            prop_assert_eq!(find(&tree, [mass]), [expected]);
        }
    }
}
