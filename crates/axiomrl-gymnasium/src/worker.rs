//! One worker process: its pipes, its memory and its end.

use crate::python;
use crate::shared::SharedMemory;
use axiomrl_envs::names::short;
use axiomrl_envs::{EnvError, Spaces};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process_group};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::ops::Range;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Both sides must mean the same by every letter.
const PROTOCOL: u64 = 1;
/// Lines of its standard error that are kept for when it dies.
const LAST_WORDS: usize = 12;
/// No answer is that long: a picture of 8192 by 8192.
const LONGEST_ANSWER: usize = 256 << 20;

/// What can go wrong with a worker.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// The process is gone; another may do better.
    #[error("the worker process died ({how}){last_words}")]
    Died { how: String, last_words: String },
    /// It does not answer; another may do better.
    #[error("no answer came for {} s (`env_kwargs.step_timeout` and `start_timeout` say how long to wait){last_words}", .seconds)]
    Hung { seconds: u64, last_words: String },
    /// It said no.
    #[error("{message}")]
    Refused { message: String, env: Option<usize>, traceback: String },
    /// There is no environment of that name.
    #[error("{message}")]
    Unknown { message: String },
}

impl Trouble {
    /// As an error about the environment of this name.
    pub fn about(self, id: &str) -> EnvError {
        match self {
            Trouble::Unknown { message } => EnvError::Unknown { name: short(id), hint: format!(" ({message})") },
            other => other.into(),
        }
    }
}

impl From<Trouble> for EnvError {
    fn from(trouble: Trouble) -> Self {
        let Trouble::Refused { message, env, traceback } = trouble else { return EnvError::failed(trouble) };
        if !traceback.is_empty() {
            // Where an environment failed is for whoever wrote it; the error itself is one line. Nobody may be listening.
            let _ = write!(io::stderr(), "{traceback}");
        }
        match env {
            Some(env) => EnvError::OneOfMany { env, source: Box::new(EnvError::failed(message)) },
            None => EnvError::failed(message),
        }
    }
}

/// How workers are started.
#[derive(Clone, Debug)]
pub struct WorkerOptions {
    pub python: PathBuf,
    /// How long it may take until the environments are made.
    pub start_timeout: Duration,
    /// How long a step may take, or whatever else is asked.
    pub step_timeout: Duration,
}

/// What a worker has made.
#[derive(Clone, Debug, Deserialize)]
pub struct Opened {
    pub spaces: Spaces,
    arrays: BTreeMap<String, (usize, usize)>,
    bytes: u64,
    pub can_begin: bool,
    pub has_rules: bool,
}

#[derive(Deserialize)]
struct Hello {
    protocol: u64,
}

#[derive(Deserialize)]
struct Failure {
    message: String,
    env: Option<usize>,
    traceback: String,
    #[serde(default)]
    unknown: bool,
}

pub struct Worker {
    child: Child,
    to: ChildStdin,
    from: ChildStdout,
    memory: SharedMemory,
    last_words: Arc<Mutex<VecDeque<String>>>,
    listener: Option<JoinHandle<()>>,
    options: WorkerOptions,
}

impl Worker {
    /// Starts a process and has it say hello.
    pub fn start(options: &WorkerOptions) -> Result<Self, Trouble> {
        let refused = |what: &str, error: io::Error| {
            let python = options.python.display();
            let remedy = "environments that are not built in need Python 3 with gymnasium; name it with --python or AXIOMRL_PYTHON";
            Trouble::Refused {
                message: format!("{what} `{python}`: {error}; {remedy}"),
                env: None,
                traceback: String::new(),
            }
        };
        let memory = SharedMemory::new().map_err(|error| refused("no shared memory for", error))?;
        let modules = python::modules();
        let mut command = Command::new(&options.python);
        command.args(["-c", python::BOOT, &memory.number().to_string(), &modules.len().to_string()]);
        // A group of its own: Ctrl-C is for this process, which saves before it ends the worker.
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        command.env("PYGAME_HIDE_SUPPORT_PROMPT", "1");
        let mut child = command.spawn().map_err(|error| refused("cannot start", error))?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(to), Some(from), Some(words)) = pipes else {
            return Err(refused("no pipes to", io::Error::from(io::ErrorKind::BrokenPipe)));
        };
        let last_words = Arc::new(Mutex::new(VecDeque::new()));
        let listener = Some(listen(words, last_words.clone()));
        let mut worker = Self { child, to, from, memory, last_words, listener, options: options.clone() };
        worker.memory.keep().map_err(|error| refused("no shared memory for", error))?;
        if worker.to.write_all(modules.as_bytes()).is_err() {
            return Err(worker.died());
        }
        let timeout = options.start_timeout;
        let hello: Hello = worker.ask_json(b'h', b"", timeout)?;
        if hello.protocol != PROTOCOL {
            return Err(worker.nonsense(&format!("it speaks protocol {}", hello.protocol)));
        }
        Ok(worker)
    }

    /// Has it make environments, and room for what they show.
    pub fn open(&mut self, wanted: &Value) -> Result<Opened, Trouble> {
        let opened: Opened = self.ask_json(b'o', wanted.to_string().as_bytes(), self.options.start_timeout)?;
        let n = wanted["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
        if let Some(name) = opened.misplaced(n) {
            return Err(self.nonsense(&format!("its array `{name}` is not where or what it should be")));
        }
        if let Err(error) = self.memory.resize(opened.bytes) {
            return Err(self.nonsense(&format!("there is no memory for them: {error}")));
        }
        self.ask(b'm', b"", self.options.step_timeout)?;
        Ok(opened)
    }

    /// Sends a command and waits for the answer.
    pub fn ask(&mut self, letter: u8, payload: &[u8], timeout: Duration) -> Result<Vec<u8>, Trouble> {
        self.send(letter, payload)?;
        self.receive(timeout)
    }

    /// As [`Worker::ask`], for what takes as long as a step.
    pub fn tell(&mut self, letter: u8, payload: &Value) -> Result<Vec<u8>, Trouble> {
        self.ask(letter, payload.to_string().as_bytes(), self.options.step_timeout)
    }

    pub fn ask_json<T: DeserializeOwned>(
        &mut self,
        letter: u8,
        payload: &[u8],
        timeout: Duration,
    ) -> Result<T, Trouble> {
        let answer = self.ask(letter, payload, timeout)?;
        serde_json::from_slice(&answer).map_err(|error| self.nonsense(&error.to_string()))
    }

    pub fn send(&mut self, letter: u8, payload: &[u8]) -> Result<(), Trouble> {
        let mut message = Vec::with_capacity(5 + payload.len());
        message.push(letter);
        message.extend_from_slice(&(payload.len() as u32).to_le_bytes());
        message.extend_from_slice(payload);
        self.to.write_all(&message).map_err(|_| self.died())
    }

    /// The answer to the oldest command that has none yet.
    pub fn receive(&mut self, timeout: Duration) -> Result<Vec<u8>, Trouble> {
        let deadline = Instant::now() + timeout;
        let mut head = [0; 5];
        self.read(&mut head, deadline, timeout)?;
        let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > LONGEST_ANSWER {
            return Err(self.nonsense(&format!("its answer would have {length} bytes")));
        }
        let mut answer = vec![0; length];
        self.read(&mut answer, deadline, timeout)?;
        match head[0] {
            b'k' => Ok(answer),
            b'e' => Err(match serde_json::from_slice::<Failure>(&answer) {
                Ok(Failure { message, unknown: true, .. }) => Trouble::Unknown { message },
                Ok(Failure { message, env, traceback, .. }) => Trouble::Refused { message, env, traceback },
                Err(error) => self.nonsense(&error.to_string()),
            }),
            letter => Err(self.nonsense(&format!("its answer begins with {letter}"))),
        }
    }

    fn read(&mut self, mut place: &mut [u8], deadline: Instant, timeout: Duration) -> Result<(), Trouble> {
        while !place.is_empty() {
            let left = deadline.saturating_duration_since(Instant::now());
            let wait = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
            match poll(&mut [PollFd::new(&self.from, PollFlags::IN)], Some(&wait)) {
                Ok(0) => return Err(self.hung(timeout)),
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(_) => return Err(self.died()),
            }
            match self.from.read(place) {
                Ok(0) => return Err(self.died()),
                Ok(count) => place = &mut place[count..],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Err(self.died()),
            }
        }
        Ok(())
    }

    /// An array, of what `opened` says.
    pub fn array(&self, opened: &Opened, name: &str) -> &[u8] {
        opened.place(name).map_or(&[], |place| self.memory.read(&place))
    }

    pub fn write_actions(&mut self, opened: &Opened, actions: &[f32]) {
        if let Some(place) = opened.place("actions") {
            self.memory.write(&place, bytemuck::cast_slice(actions));
        }
    }

    /// Takes up work for somebody else, who may be more patient.
    pub fn adopt(&mut self, options: &WorkerOptions) {
        self.options = options.clone();
    }

    pub fn timeout(&self) -> Duration {
        self.options.step_timeout
    }

    /// It is gone, or will be.
    fn died(&mut self) -> Trouble {
        // One that ends by itself has a way of its own to do so, which is worth knowing.
        patiently(|| !matches!(self.child.try_wait(), Ok(None)));
        self.kill();
        let how = match self.child.wait() {
            Ok(status) => match (status.code(), status.signal()) {
                (_, Some(signal)) => format!("signal {signal}"),
                (code, _) => format!("exit code {}", code.unwrap_or_default()),
            },
            Err(error) => error.to_string(),
        };
        Trouble::Died { how, last_words: self.last_words() }
    }

    fn hung(&mut self, timeout: Duration) -> Trouble {
        self.kill();
        Trouble::Hung { seconds: timeout.as_secs(), last_words: self.last_words() }
    }

    /// It answers what cannot be understood: not the program that it should be.
    fn nonsense(&self, problem: &str) -> Trouble {
        let message = format!("the worker process of `{}` makes no sense: {problem}", self.options.python.display());
        Trouble::Refused { message, env: None, traceback: String::new() }
    }

    /// What it wrote to its standard error at the end.
    fn last_words(&mut self) -> String {
        if let Some(listener) = self.listener.take() {
            // All of the group is gone, so the pipe has an end, unless it went to somebody outside of it.
            patiently(|| listener.is_finished());
        }
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        if words.is_empty() {
            String::new()
        } else {
            format!("; its last words: {}", words.iter().cloned().collect::<Vec<_>>().join(" | "))
        }
    }

    /// Ends it and whatever it started.
    fn kill(&mut self) {
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // It may be gone already.
            let _ = kill_process_group(pid, Signal::KILL);
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

impl Opened {
    /// An array that does not have the size that follows from the spaces, or that lies outside of the memory.
    fn misplaced(&self, n: usize) -> Option<&'static str> {
        let widths = self.spaces.obs().widths;
        let (masks, info) = (self.spaces.masks, 4 * self.spaces.info.len());
        let sizes = [
            ("obs_floats", 4 * widths.floats),
            ("obs_bytes", widths.bytes),
            ("final_floats", 4 * widths.floats),
            ("final_bytes", widths.bytes),
            ("reward", 8),
            ("terminated", 1),
            ("truncated", 1),
            ("stepped", 1),
            ("masks", masks),
            ("final_masks", masks),
            ("info", info),
            ("actions", 4 * self.spaces.action.width()),
        ];
        let sound = |name: &str, bytes: usize| {
            self.arrays.get(name).is_some_and(|&(start, size)| {
                size == n * bytes
                    && start % 8 == 0
                    && start.checked_add(size).is_some_and(|end| end as u64 <= self.bytes)
            })
        };
        sizes.into_iter().find(|&(name, bytes)| !sound(name, bytes)).map(|(name, _)| name)
    }

    fn place(&self, name: &str) -> Option<Range<usize>> {
        self.arrays.get(name).map(|&(start, size)| start..start + size)
    }
}

/// Waits a moment for something that ought to happen.
fn patiently(mut happened: impl FnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_millis(500);
    while !happened() && Instant::now() < deadline {
        thread::sleep(Duration::from_millis(2));
    }
}

/// Passes on what a worker writes to its standard error, and keeps the end of it.
fn listen(words: ChildStderr, last: Arc<Mutex<VecDeque<String>>>) -> JoinHandle<()> {
    thread::spawn(move || {
        let mut lines = BufReader::new(words);
        let mut line = Vec::new();
        while matches!(lines.read_until(b'\n', &mut line), Ok(read) if read > 0) {
            // Nobody may be listening.
            let _ = io::stderr().write_all(&line);
            let text = String::from_utf8_lossy(&line).trim_end().to_owned();
            line.clear();
            if text.is_empty() {
                continue;
            }
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            if last.len() == LAST_WORDS {
                last.pop_front();
            }
            last.push_back(text);
        }
    })
}
