//! Learning from what somebody recorded, without asking the environment, and going on in it afterwards where a method can.

pub mod regression;
