//! Times several shapes of work in turns, so that whatever disturbs the machine disturbs them alike.

use std::time::{Duration, Instant};

/// How long one turn of one shape takes, about: short enough that most turns are left alone by the machine.
const TURN: Duration = Duration::from_millis(1);
const TURNS: usize = 61;

/// Something to time: a name that `cargo xtask bench` knows, and what to do a given number of times.
pub struct Shape<'a> {
    name: &'static str,
    work: Box<dyn FnMut(u32) + 'a>,
}

impl<'a> Shape<'a> {
    /// `work` gets the number of times to do what is timed.
    pub fn new(name: &'static str, work: impl FnMut(u32) + 'a) -> Self {
        Self { name, work: Box::new(work) }
    }

    /// How many times fit into one turn. The fastest of a few tries: a try that the machine interrupted says nothing.
    fn calibrate(&mut self) -> u32 {
        let mut times = 1;
        loop {
            let taken = (0..5).map(|_| self.time(times)).min().unwrap_or_default();
            if taken >= TURN / 2 {
                let per_turn = TURN.as_nanos() * u128::from(times) / taken.as_nanos().max(1);
                return u32::try_from(per_turn).unwrap_or(u32::MAX).max(1);
            }
            times *= 2;
        }
    }

    fn time(&mut self, times: u32) -> Duration {
        let start = Instant::now();
        (self.work)(times);
        start.elapsed()
    }
}

/// Runs the shapes in turns and prints the median of each as `{"sample": NAME, "ns": TIME}`.
pub fn side_by_side<'a>(shapes: impl IntoIterator<Item = Shape<'a>>) {
    let mut shapes: Vec<_> = shapes
        .into_iter()
        .map(|mut shape| {
            let times = shape.calibrate();
            (shape, times, Vec::with_capacity(TURNS))
        })
        .collect();
    for _ in 0..TURNS {
        for (shape, times, taken) in &mut shapes {
            let turn = shape.time(*times).as_secs_f64() * 1e9 / f64::from(*times);
            taken.push(turn);
        }
    }
    for (shape, _, mut taken) in shapes {
        taken.sort_by(f64::total_cmp);
        let median = taken.get(TURNS / 2).copied().unwrap_or(f64::NAN);
        println!("{{\"sample\": \"{}\", \"ns\": {median:.3}}}", shape.name);
    }
}
