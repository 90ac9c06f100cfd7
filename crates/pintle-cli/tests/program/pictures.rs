//! The pictures of the README and the docs are drawn from the program's output. `cargo xtask pictures` redraws them.

use std::{fs, path::Path};

use crate::support::World;

/// The file's name, the command that is shown, and the commands before it.
const PICTURES: [(&str, &str, &str); 4] = [
    ("demo", "pintle demo --yes", ""),
    ("trace", "pintle trace", "pintle demo --yes > /dev/null 2>&1"),
    ("explain", "pintle explain -- git push origin main", PROFILE),
    ("hooks", "pintle hooks list", PROFILE),
];

/// The sample profile, trusted, after one call.
const PROFILE: &str = "export PINTLE_ALLOW_COMMAND_HOOKS=1
pintle init > /dev/null
pintle trust --accept > /dev/null
pintle chat -q 'run ls' > /dev/null";

fn draw(command: &str, before: &str) -> String {
    let world = World::new();
    let coloured = command.replacen("pintle ", "pintle --color always ", 1);
    let said = world.pasted(&format!("{before}\nexec 2>&1\n{coloured}"), &[("LC_ALL", "C.UTF-8")]);
    let screen = format!("\u{1b}[2m$\u{1b}[0m {command}\n{}", said.out);
    let folder = world.file("").display().to_string();
    anstyle_svg::Term::new().render_svg(&screen.replace(folder.trim_end_matches('/'), "~/shop"))
}

/// The words of a picture, without what differs from run to run: times, ids, the lengths of bars.
fn words(svg: &str) -> Vec<String> {
    let mut text = String::new();
    for piece in svg.split("</style>").last().unwrap_or_default().split('<').skip(1) {
        let (tag, words) = piece.split_once('>').unwrap_or((piece, ""));
        if tag.starts_with("tspan x=") {
            text.push('\n');
        }
        text.push_str(&words.replace("&lt;", "<"));
    }
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_string();
    let is_figure =
        |word: &str| bare(word).chars().all(|c| c.is_ascii_digit() || ".,:".contains(c));
    let is_unit = |word: &str| ["ms", "s", "µs"].contains(&bare(word).as_str());
    let is_bar = |word: &str| word.chars().all(|c| "█▒░▏┊".contains(c));
    let kept = |word: &&str| !is_figure(word) && !is_unit(word) && !is_bar(word);
    text.lines()
        .map(|line| {
            line.split_whitespace().filter(kept).map(without_ids).collect::<Vec<_>>().join(" ")
        })
        .filter(|line| !line.is_empty())
        .collect()
}

/// Ids and the names of temporary folders.
fn without_ids(word: &str) -> String {
    let is_id = |part: &str| part.len() == 8 && part.chars().all(|c| c.is_ascii_hexdigit());
    let is_short_id = |part: &str| {
        part.len() == 4 && part.chars().all(|c| "bcdfghjkmnpqrstvwxz23456789".contains(c))
    };
    let parts = word.split('/').map(|part| match part {
        part if part.starts_with("pintle-demo-") => "FOLDER",
        part if is_id(part) || is_short_id(part) => "ID",
        part => part,
    });
    parts.collect::<Vec<_>>().join("/")
}

#[test]
fn the_pictures_show_what_the_program_prints() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/pictures");
    for (name, command, before) in PICTURES {
        let path = folder.join(format!("{name}.svg"));
        let drawn = draw(command, before);
        if std::env::var_os("PINTLE_UPDATE").is_some_and(|value| value == "1") {
            fs::create_dir_all(&folder).unwrap();
            fs::write(&path, &drawn).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(
            words(&kept),
            words(&drawn),
            "{name}.svg is out of date: `cargo xtask pictures` draws it anew"
        );
        assert!(words(&drawn).len() > 3, "{name}.svg shows nothing");
    }
}
