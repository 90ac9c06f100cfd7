//! A seccomp filter with an error of its own for each call, as one program: the kernel takes its time over each program.

use std::num::TryFromIntError;

use seccompiler::{BpfProgram, sock_filter};

/// A comparison of the low half of an argument: the kernel looks at no more of these.
#[derive(Clone, Copy)]
pub(super) enum Test {
    Equals(u8, u32),
    Differs(u8, u32),
    /// Any of these bits.
    HasBit(u8, u32),
    /// The bits under the mask have this value.
    Masked(u8, u32, u32),
}

/// A call that is refused with an error if all tests hold.
struct Rule {
    tests: Vec<Test>,
    errno: u32,
}

/// What is refused; everything else is allowed. The first call added is found fastest, the first rule of a call decides.
#[derive(Default)]
pub(super) struct Filter {
    calls: Vec<(u32, Vec<Rule>)>,
}

// Of linux/bpf_common.h, linux/seccomp.h and linux/audit.h.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP_EQUAL: u16 = 0x15;
const JUMP_BITS: u16 = 0x45;
const RETURN: u16 = 0x06;
const KILL: u32 = 0x8000_0000;
const ERRNO: u32 = 0x0005_0000;
const ALLOW: u32 = 0x7fff_0000;
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;
const THIS_ARCHITECTURE: u32 =
    if cfg!(target_arch = "aarch64") { 0xc000_00b7 } else { 0xc000_003e };
/// On x86_64, the second set of numbers for the same calls: a list of numbers alone would be walked around.
const X32: u32 = 0x4000_0000;

impl Filter {
    /// Refuses a call whatever its arguments are.
    pub(super) fn refuse(&mut self, call: i64, errno: i32) {
        self.refuse_if(call, &[], errno);
    }

    /// Refuses a call if all of these hold.
    pub(super) fn refuse_if(&mut self, call: i64, tests: &[Test], errno: i32) {
        let Ok(call) = u32::try_from(call) else { return };
        let rule = Rule { tests: tests.to_vec(), errno: errno.unsigned_abs() };
        match self.calls.iter_mut().find(|(known, _)| *known == call) {
            Some((_, rules)) => rules.push(rule),
            None => self.calls.push((call, vec![rule])),
        }
    }

    /// # Errors
    /// When the rules of one call are longer than a jump.
    pub(super) fn program(&self) -> Result<BpfProgram, TryFromIntError> {
        let unknown = ERRNO | libc::ENOSYS.unsigned_abs();
        let mut program = vec![
            op(LOAD, 0, 0, ARCHITECTURE),
            op(JUMP_EQUAL, 1, 0, THIS_ARCHITECTURE),
            op(RETURN, 0, 0, KILL),
            op(LOAD, 0, 0, NUMBER),
        ];
        if cfg!(target_arch = "x86_64") {
            program.extend([op(JUMP_BITS, 0, 1, X32), op(RETURN, 0, 0, unknown)]);
        }
        for (call, rules) in &self.calls {
            let mut code = Vec::new();
            for rule in rules {
                code.extend(rule.code()?);
            }
            // After the rules the number is no longer loaded: the call is allowed there and then.
            program.push(op(JUMP_EQUAL, 0, u8::try_from(code.len() + 1)?, *call));
            program.extend(code);
            program.push(op(RETURN, 0, 0, ALLOW));
        }
        program.push(op(RETURN, 0, 0, ALLOW));
        Ok(program)
    }
}

impl Rule {
    /// Ends the program if the rule holds, and otherwise goes on behind it.
    fn code(&self) -> Result<Vec<sock_filter>, TryFromIntError> {
        let tests: Vec<Vec<sock_filter>> = self.tests.iter().map(|test| test.code()).collect();
        let mut left: usize = tests.iter().map(Vec::len).sum();
        let mut code = Vec::with_capacity(left + 1);
        for mut test in tests {
            left -= test.len();
            // The last instruction of a test is its jump: past what is left and the return.
            let past = u8::try_from(left + 1)?;
            if let Some(jump) = test.last_mut() {
                (jump.jt, jump.jf) = if jump.jt == HOLDS { (0, past) } else { (past, 0) };
            }
            code.extend(test);
        }
        code.push(op(RETURN, 0, 0, ERRNO | self.errno));
        Ok(code)
    }
}

/// Marks the side of a jump on which a test holds.
const HOLDS: u8 = 1;

impl Test {
    fn code(self) -> Vec<sock_filter> {
        let load = |argument: u8| op(LOAD, 0, 0, ARGUMENTS + 8 * u32::from(argument));
        match self {
            Self::Equals(argument, value) => {
                vec![load(argument), op(JUMP_EQUAL, HOLDS, 0, value)]
            }
            Self::Differs(argument, value) => {
                vec![load(argument), op(JUMP_EQUAL, 0, HOLDS, value)]
            }
            Self::HasBit(argument, bits) => vec![load(argument), op(JUMP_BITS, HOLDS, 0, bits)],
            Self::Masked(argument, mask, value) => {
                vec![load(argument), op(AND, 0, 0, mask), op(JUMP_EQUAL, HOLDS, 0, value)]
            }
        }
    }
}

fn op(code: u16, jt: u8, jf: u8, k: u32) -> sock_filter {
    sock_filter { code, jt, jf, k }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a program as the kernel does.
    fn run(program: &[sock_filter], architecture: u32, call: u32, arguments: [u32; 6]) -> u32 {
        let (mut at, mut value) = (0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match code {
                LOAD if k == NUMBER => value = call,
                LOAD if k == ARCHITECTURE => value = architecture,
                LOAD => value = arguments[(k as usize - 16) / 8],
                AND => value &= k,
                JUMP_EQUAL => at += usize::from(if value == k { jt } else { jf }),
                JUMP_BITS => at += usize::from(if value & k != 0 { jt } else { jf }),
                RETURN => return k,
                _ => panic!("{code:#x}"),
            }
        }
    }

    #[test]
    fn each_call_is_refused_with_its_error_if_the_tests_of_one_rule_hold() {
        let mut filter = Filter::default();
        filter.refuse_if(10, &[Test::Equals(0, 1), Test::Differs(2, 7)], 1);
        filter.refuse_if(10, &[Test::HasBit(1, 0b110)], 2);
        filter.refuse_if(10, &[Test::Masked(3, 0xf, 3)], 3);
        filter.refuse(20, 4);
        let program = filter.program().unwrap();
        let answer = |call, arguments| match run(&program, THIS_ARCHITECTURE, call, arguments) {
            ALLOW => None,
            refused => Some(refused - ERRNO),
        };
        assert_eq!(answer(10, [1, 0, 0, 0, 0, 0]), Some(1));
        assert_eq!(answer(10, [1, 0, 7, 0, 0, 0]), None);
        assert_eq!(answer(10, [2, 0, 0, 0, 0, 0]), None);
        assert_eq!(answer(10, [1, 0b100, 7, 0, 0, 0]), Some(2));
        assert_eq!(answer(10, [0, 0b001, 0, 0, 0, 0]), None);
        assert_eq!(answer(10, [0, 0, 0, 0x123, 0, 0]), Some(3));
        assert_eq!(answer(10, [0, 0, 0, 0x132, 0, 0]), None);
        assert_eq!(answer(20, [0; 6]), Some(4));
        assert_eq!(answer(30, [0; 6]), None);
        assert_eq!(run(&program, 0x4000_0003, 20, [0; 6]), KILL, "calls of 32-bit programs");
        #[cfg(target_arch = "x86_64")]
        assert_eq!(answer(X32 | 30, [0; 6]), Some(libc::ENOSYS.unsigned_abs()));
    }
}
