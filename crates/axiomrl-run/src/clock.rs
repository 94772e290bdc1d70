//! Points in time as text, always in UTC so that folders of several machines sort together.

use std::time::{SystemTime, UNIX_EPOCH};

/// Seconds since 1970, with their fraction.
pub fn unix_seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map(|since| since.as_secs_f64()).unwrap_or(0.0)
}

/// `20260131-235959`, for names of folders.
pub fn compact(time: SystemTime) -> String {
    let t = Civil::at(unix_seconds(time) as u64);
    format!("{:04}{:02}{:02}-{:02}{:02}{:02}", t.year, t.month, t.day, t.hour, t.minute, t.second)
}

/// `2026-01-31T23:59:59Z`, for files.
pub fn rfc3339(time: SystemTime) -> String {
    let t = Civil::at(unix_seconds(time) as u64);
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", t.year, t.month, t.day, t.hour, t.minute, t.second)
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
}

impl Civil {
    fn at(seconds: u64) -> Self {
        let (mut days, rest) = (seconds / 86_400, seconds % 86_400);
        let mut year = 1970;
        while days >= days_in_year(year) {
            days -= days_in_year(year);
            year += 1;
        }
        let mut month = 1;
        while days >= days_in_month(year, month) {
            days -= days_in_month(year, month);
            month += 1;
        }
        Self { year, month, day: days + 1, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60 }
    }
}

fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

fn days_in_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

fn days_in_month(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn known_moments() {
        // Reference values from `date -u -d @<seconds>`.
        for (seconds, text) in [
            (0, "19700101-000000"),
            (951_827_696, "20000229-123456"),
            (1_735_689_599, "20241231-235959"),
            (4_107_542_400, "21000301-000000"),
        ] {
            assert_eq!(compact(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(951_827_696)), "2000-02-29T12:34:56Z");
    }
}
