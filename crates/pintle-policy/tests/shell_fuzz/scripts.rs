//! Lines with a script of `sed` or `awk` in them, some of which run `rm`.

use crate::grammar::Random;

/// What sets `v` before the script is put together.
const SETTERS: &[&str] = &[
    "",
    "v=e;",
    "v=/e;",
    "v=1;",
    "v=;",
    "v='x/;#';",
    "v='e rm x';",
    "v='y/\n1e rm x\n#';",
    "v='\"';",
    "v='a\"; system(\"rm x\") #';",
    "v='0; system(\"rm x\")';",
    "v=tem;",
    "v='| \"rm x\"';",
    "v=$(printf '/e');",
    "v=$(printf 'rm x\\57e');",
    "v=$(seq 2);",
    "v=`echo e`;",
    "v=$(echo x; echo 1e rm x);",
    "w=/; v=${w}e;",
    "w=xx/e; v=${w#x};",
    "w=e/; v=/${w%/};",
    "w=/e; v=$(echo \"$w\");",
    "w=/e; v=$(echo $w | tr a b);",
    "w=x/E; v=$(echo \"$w\" | tr A-Z a-z);",
    "v=$(echo x_e | tr _ /);",
    "v=$(echo xe | sed s,x,/,);",
    "v=$(echo $v);",
    "v=$(echo /);",
    "v=`expr x : '.*'`/;",
    "set -- e;",
    "set -- /e; v=$1;",
    "false && v='x/;#';",
    "printf '/e' > g; read v < g;",
    "declare v=/e;",
    "v=(/e);",
    "for v in /e; do :; done;",
];

/// Scripts between double quotes, in pieces: any of them may be left out or doubled, or have another put before it.
const SED: &[&[&str]] = &[
    &["1", "$v", " rm x"],
    &["s/a/rm x", "$v"],
    &["s/a/", "$v", "/e"],
    &["s/a", "$v", "rm x/e;#/"],
    &["s", "$v", "/a/rm x/e;#", "$v", "$v"],
    &["s/[", "$v", "]/b/;#]*/rm x/e"],
    &["s/a", "\\\\", "$v", "/b/;#/rm x/e"],
    &["s/", "$v", "/rm x/", "e"],
    &["s/[/]", "$v", "*/rm x/", "e"],
    &["s,a,rm x,", "${v-e}"],
    &["s,a,rm x,", "g", "$1"],
    &["#", "$v", "e rm x"],
    &["1i ", "$v", "\n", "e rm x"],
    &["$((1))", "e rm x"],
    &["/", "$v", "/", "e rm x"],
    &["sxaxrm ", "$v", "xe"],
    &["y/a/", "$v", "/;", "e rm x"],
    &[":", "$v", "\n", "e rm x"],
    &["{", "p;", "e rm x", "\n}"],
];
const AWK: &[&[&str]] = &[
    &["BEGIN{", "system(", "\\\"rm x\\\"", ")}"],
    &["BEGIN{", "sys", "$v", "(\\\"rm x\\\")}"],
    &["/", "$v", "/", "{print ", "| \\\"rm x\\\"}"],
    &["{print \\\"", "$v", "\\\"}"],
    &["BEGIN{y=4. ", "/2;", "print | \\\"rm x\\\"; z=1 ", "/1}"],
    &["BEGIN{x=4;y=x \\\n", "/2;", "print | \\\"rm x\\\"; z=1 ", "/1}"],
    &["/[^]/\\\"]/", "{print | \\\"rm x\\\"}", "#\\\""],
    &["/[[:alpha:]/\\\"]/", "{print | \\\"rm x\\\"}", "#\\\""],
    &["/[]/\\\"a]/", "{print | \\\"rm x\\\"}", "#\\\""],
    &["{if (1 > ", "$v", ") print | \\\"rm x\\\"}"],
    &["{x = 1 ", "# ", "$v", "\n", "; print | \\\"rm x\\\"}"],
];
const PIECES: &[&str] = &[
    "$v",
    "${v}",
    "${v:-e}",
    "/",
    "e",
    ";",
    "\n",
    "#",
    "\\\"",
    "[",
    "]",
    "1",
    "p",
    " ",
    "{",
    "}",
    "$(printf e)",
    "$((1))",
    "\\\\",
    "|",
    "a",
];

pub(crate) fn line(random: &mut Random) -> String {
    let (program, scripts) = if random.below(2) == 0 { ("sed", SED) } else { ("awk", AWK) };
    let mut script = String::new();
    for piece in scripts[random.below(scripts.len())] {
        match random.below(12) {
            0 => {}
            1 => script.extend([*piece, *piece]),
            2 | 3 => script.extend([PIECES[random.below(PIECES.len())], *piece]),
            _ => script.push_str(piece),
        }
    }
    let setter = SETTERS[random.below(SETTERS.len())];
    match random.below(8) {
        0 => format!("f() {{ echo a | {program} \"{script}\"; }}; {setter} f \"$v\""),
        1 => format!("{setter} echo a | {program} {script}"),
        _ => format!("{setter} echo a | {program} \"{script}\""),
    }
}
