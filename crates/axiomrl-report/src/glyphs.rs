//! Letters as strokes, for pictures that cannot leave them to whoever looks at them.

/// Height of a capital letter, in the units that strokes are given in.
pub const CAPITAL: f64 = 6.0;
/// Room between two letters, and the width of a space.
const GAP: f64 = 1.7;
const SPACE: f64 = 2.5;

/// Strokes of a letter on a grid: pairs of digits are x from the left and y from the top of a capital, whose foot is 6.
fn drawn(letter: char) -> &'static str {
    match letter {
        'A' => "062046 1434",
        'B' => "003041423303 334445360600",
        'C' => "4130100105163645",
        'D' => "00204244260600",
        'E' => "40000646 0333",
        'F' => "400006 0333",
        'G' => "41301001051636454323",
        'H' => "0006 4046 0343",
        'I' => "1016",
        'J' => "303526160504",
        'K' => "0006 4004 1346",
        'L' => "000646",
        'M' => "0600234046",
        'N' => "06004640",
        'O' => "103041453616050110",
        'P' => "06003041423303",
        'Q' => "103041453616050110 2446",
        'R' => "06003041423303 2346",
        'S' => "413010010213334445361605",
        'T' => "0040 2026",
        'U' => "000516364540",
        'V' => "002640",
        'W' => "0016223640",
        'X' => "0046 4006",
        'Y' => "002340 2326",
        'Z' => "00400646",
        '0' => "103041453616050110",
        '1' => "011016",
        '2' => "01103041420646",
        '3' => "004023334445361605",
        '4' => "36300444",
        '5' => "400003334445361605",
        '6' => "4130100105163645443303",
        '7' => "004016",
        '8' => "103041423313020110 3344453616050413",
        '9' => "0516364541301001021343",
        'a' => "12324346 441405163645",
        'b' => "0006 0312324345361605",
        'c' => "4332120305163645",
        'd' => "4046 4332120305163645",
        'e' => "044443321203051646",
        'f' => "201116 0222",
        'g' => "4332120305163645 42473818",
        'h' => "0006 0312324346",
        'i' => "0206 00",
        'j' => "12171808 10",
        'k' => "0006 3204 1436",
        'l' => "0006",
        'm' => "0206 03122326 23324346",
        'n' => "0206 0312324346",
        'o' => "123243453616050312",
        'p' => "0208 0312324345361605",
        'q' => "4248 4332120305163645",
        'r' => "0206 041222",
        's' => "4212031434453606",
        't' => "10152636 0222",
        'u' => "0205163645 4246",
        'v' => "022642",
        'w' => "0216233642",
        'x' => "0246 4206",
        'y' => "0226 4218",
        'z' => "02420646",
        '.' => "06",
        ',' => "0608",
        ':' => "03 06",
        '-' => "0424",
        '_' => "0747",
        '/' => "0630",
        '(' => "20111526",
        ')' => "00111506",
        '[' => "20101626",
        ']' => "00101606",
        '+' => "2226 0444",
        '=' => "0343 0545",
        '<' => "420446",
        '>' => "024406",
        '|' => "0007",
        '\'' => "0001",
        '"' => "0001 1011",
        '*' => "0135 3105",
        '#' => "1016 3036 0242 0444",
        '&' => "46121120310405162644",
        '%' => "0640 01 45",
        '!' => "0004 06",
        // What is not among them is asked about, as it were.
        _ => "01103041422324 26",
    }
}

/// Points of a stroke, on the grid of the letters; a single one is a dot.
pub type Stroke = Vec<(f64, f64)>;

/// All strokes of a text from its left end on, and how wide it is.
pub fn strokes(text: &str) -> (Vec<Stroke>, f64) {
    let (mut found, mut left) = (Vec::new(), 0.0);
    for letter in text.chars() {
        if letter == ' ' {
            left += SPACE;
            continue;
        }
        let mut width: f64 = 0.0;
        for stroke in drawn(letter).split(' ') {
            let digits: Vec<f64> = stroke.bytes().map(|digit| f64::from(digit - b'0')).collect();
            width = digits.iter().step_by(2).copied().fold(width, f64::max);
            found.push(digits.chunks_exact(2).map(|pair| (left + pair[0], pair[1])).collect());
        }
        left += width + GAP;
    }
    (found, (left - GAP).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strokes_follow_each_other() {
        let (found, width) = strokes("L-i");
        // The foot of the L ends at 4; the hyphen begins a gap later, and the dot of the i stands alone.
        assert_eq!(found[0], [(0.0, 0.0), (0.0, 6.0), (4.0, 6.0)]);
        assert_eq!(found[1], [(5.7, 4.0), (7.7, 4.0)]);
        assert_eq!(found[3].len(), 1);
        assert!((width - 9.4).abs() < 1e-12, "{width}");
        assert_eq!(strokes("").1, 0.0);
    }

    #[test]
    fn every_letter_is_whole_pairs_of_digits_within_the_grid() {
        for letter in (33..127_u8).map(char::from) {
            for stroke in drawn(letter).split(' ') {
                assert!(!stroke.is_empty() && stroke.len() % 2 == 0, "{letter}");
                assert!(stroke.bytes().all(|digit| (b'0'..=b'8').contains(&digit)), "{letter}");
            }
        }
    }
}
