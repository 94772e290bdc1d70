//! The arguments of the program.

pub struct Options {
    pub threads: usize,
    pub rounds: usize,
    pub json: bool,
    pub growth: bool,
    only: Vec<String>,
}

impl Options {
    pub fn parse(mut words: impl Iterator<Item = String>, known: &[&str]) -> Result<Self, String> {
        let mut options = Self { threads: 2, rounds: 15, json: false, growth: false, only: Vec::new() };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--threads" => options.threads = number(&word, words.next())?,
                "--rounds" => options.rounds = number(&word, words.next())?,
                "--work" => {
                    let names = words.next().ok_or("--work needs names, separated by commas")?;
                    options.only = names.split(',').map(str::to_owned).collect();
                }
                "--json" => options.json = true,
                "--growth" => options.growth = true,
                _ => {
                    return Err(format!(
                        "unknown argument `{word}`; there are --threads, --rounds, --work, --json, --growth"
                    ));
                }
            }
        }
        match options.only.iter().find(|name| !known.contains(&name.as_str())) {
            Some(name) => Err(format!("unknown work `{name}`; there are {}", known.join(", "))),
            None => Ok(options),
        }
    }

    pub fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

fn number(option: &str, text: Option<String>) -> Result<usize, String> {
    let number = text.and_then(|text| text.parse().ok()).filter(|number| *number > 0);
    number.ok_or_else(|| format!("{option} needs a whole number from 1 on"))
}
