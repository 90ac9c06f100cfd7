//! What the host has and a command must not touch: processes, sockets, terminals, memory, and descriptors left open.

use std::{
    cell::RefCell,
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream, UdpSocket},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        linux::net::SocketAddrExt,
        unix::{
            fs::FileExt,
            net::{SocketAddr, UnixDatagram, UnixListener, UnixStream},
        },
    },
    path::PathBuf,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    thread,
    time::Duration,
};

use rustix::{
    fs::{OFlags, fcntl_setfl},
    io::{FdFlags, fcntl_setfd},
};

use crate::{
    users,
    world::{PATH, SECRET, World, program},
};

/// What an attack sends when it reaches somebody.
pub(crate) const TOKEN: &str = "the-token-of-the-attack";

/// Whatever can be read from without waiting.
type Ear = Box<dyn FnMut() -> Vec<u8>>;

pub(crate) struct Host {
    pub(crate) variables: Vec<(&'static str, String)>,
    pub(crate) victim: Option<Victim>,
    ears: RefCell<Vec<Ear>>,
    /// Open, and not closed on exec.
    left_open: Vec<OwnedFd>,
    pub(crate) temporary: Vec<PathBuf>,
    pub(crate) mark: String,
}

pub(crate) struct Victim {
    process: RefCell<Child>,
    address: u64,
    before: String,
}

impl Host {
    /// Makes what the script mentions.
    pub(crate) fn new(world: &World, script: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let mut host = Self {
            variables: Vec::new(),
            victim: None,
            ears: RefCell::default(),
            left_open: Vec::new(),
            temporary: Vec::new(),
            mark: format!("pintle-test-{}-{count}-end", std::process::id()),
        };
        let text = |path: PathBuf| path.display().to_string();
        let plain = [
            ("PATH", PATH.to_owned()),
            ("HOME", text(world.home())),
            ("WS", text(world.workspace())),
            ("DATA", text(world.root.join("data"))),
            ("LETTERS", text(world.home().join("letters"))),
            ("SECRET_FILE", text(world.home().join(".ssh/id_key"))),
            ("TOOL", text(program("tool"))),
            ("PRELOAD", text(program("preload"))),
            ("TOKEN", TOKEN.to_owned()),
            ("MARK", host.mark.clone()),
        ];
        host.variables.extend(plain);
        for (name, make) in MAKERS {
            if script.contains(name) {
                let value = make(&mut host, world);
                host.variables.push((name, value));
            }
        }
        if script.contains("VICTIM") {
            let victim = Victim::new(world);
            host.variables.push(("VICTIM", victim.id().to_string()));
            host.variables.push(("ADDRESS", victim.address.to_string()));
            host.victim = Some(victim);
        }
        host
    }

    fn hear(&mut self, mut ear: impl FnMut(&mut [u8]) -> std::io::Result<usize> + 'static) {
        self.ears.get_mut().push(Box::new(move || {
            let mut heard = [0; 4096];
            let length = ear(&mut heard).unwrap_or_default();
            heard[..length].to_vec()
        }));
    }

    /// Whether the token has come in anywhere.
    pub(crate) fn received(&self) -> bool {
        let heard: Vec<u8> = self.ears.borrow_mut().iter_mut().flat_map(|ear| ear()).collect();
        String::from_utf8_lossy(&heard).contains(TOKEN)
    }

    /// Leaves a descriptor open for every process that this one starts; its number is what the attack gets.
    fn leave_open(&mut self, file: impl Into<OwnedFd>) -> String {
        let file = file.into();
        fcntl_setfd(&file, FdFlags::empty()).unwrap();
        let number = file.as_raw_fd().to_string();
        self.left_open.push(file);
        number
    }

    /// The processes that carry the mark of this attack on their command line.
    pub(crate) fn survivors(&self) -> Vec<i32> {
        let entries = fs::read_dir("/proc").unwrap().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| {
            let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            line.windows(self.mark.len()).any(|part| part == self.mark.as_bytes())
        })
        .collect()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        for pid in self.survivors() {
            let _ = nix::sys::signal::kill(
                nix::unistd::Pid::from_raw(pid),
                nix::sys::signal::Signal::SIGKILL,
            );
        }
        for path in &self.temporary {
            let _ = fs::remove_file(path);
        }
        let value = |name| self.variables.iter().find(|(known, _)| *known == name);
        for (name, remove) in [("SHM", "shm-remove"), ("QUEUE", "queue-remove")] {
            if let Some((_, id)) = value(name) {
                let _ = tool(&[remove, id]);
            }
        }
    }
}

impl Victim {
    fn new(world: &World) -> Self {
        let mut process = Command::new(program("tool"))
            .args(["victim", world.home().join(".ssh/id_key").to_str().unwrap(), SECRET])
            .env_clear()
            .env("KEY", SECRET)
            .current_dir(world.home().join("letters"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut address = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut address).unwrap();
        let address = u64::from_str_radix(address.trim().trim_start_matches("0x"), 16).unwrap();
        let mut victim = Self { process: RefCell::new(process), address, before: String::new() };
        victim.before = victim.state();
        assert_ne!(victim.before, DEAD, "the victim lives before the attack");
        victim
    }

    fn id(&self) -> u32 {
        self.process.borrow().id()
    }

    /// Whatever another process could change about it.
    fn state(&self) -> String {
        let id = self.id();
        if self.process.borrow_mut().try_wait().unwrap().is_some() {
            return DEAD.into();
        }
        let read =
            |name: &str| fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
        let stat = read("stat");
        let stat: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let is_stopped = matches!(stat[0], "T" | "t");
        let status = read("status");
        let allowed = status.lines().find(|line| line.starts_with("Cpus_allowed:")).unwrap_or("");
        let mut memory = [0; 64];
        let opened = fs::File::open(format!("/proc/{id}/mem"));
        // A process that is just ending has no memory any more.
        if opened.and_then(|opened| opened.read_at(&mut memory, self.address)).is_err() {
            return DEAD.into();
        }
        let io = Command::new("ionice").args(["-p", &id.to_string()]).output().unwrap();
        format!(
            "{is_stopped} {} {} {} {allowed} {} {} {} {}",
            stat[15],
            stat[16],
            stat[38],
            read("limits"),
            read("oom_score_adj"),
            String::from_utf8_lossy(&memory),
            String::from_utf8_lossy(&io.stdout),
        )
    }

    /// Whether anything about it is not as it was. A signal may take a moment to arrive.
    pub(crate) fn is_changed(&self) -> bool {
        (0..20).any(|round| {
            thread::sleep(Duration::from_millis(round.min(5)));
            self.state() != self.before
        })
    }
}

/// The state of a victim that is gone.
const DEAD: &str = "dead";

impl Drop for Victim {
    fn drop(&mut self) {
        let process = self.process.get_mut();
        let _ = process.kill();
        let _ = process.wait();
    }
}

/// Runs the tool as the host, and gives what it printed.
pub(crate) fn tool(arguments: &[&str]) -> Option<String> {
    let run = Command::new(program("tool")).args(arguments).output().unwrap();
    run.status.success().then(|| String::from_utf8_lossy(&run.stdout).trim().to_owned())
}

type Maker = fn(&mut Host, &World) -> String;

/// What a script can mention, and how it is made.
const MAKERS: [(&str, Maker); 26] = [
    ("PORT4", |host, _| host.listen("127.0.0.1:0")),
    ("PORT6", |host, _| host.listen("[::1]:0")),
    ("UDP4", |host, _| {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        socket.set_nonblocking(true).unwrap();
        host.hear(move |heard| socket.recv(heard));
        port.to_string()
    }),
    ("HOME_SOCKET", |host, world| host.listen_at(world.home().join("letters/socket"))),
    ("TMP_SOCKET", |host, _| {
        let path = std::env::temp_dir().join(format!("{}.socket", host.mark));
        host.temporary.push(path.clone());
        host.listen_at(path)
    }),
    ("WORKSPACE_SOCKET", |host, world| host.listen_at(world.workspace().join("app/socket"))),
    ("TOOLS_SOCKET", |host, world| host.listen_at(world.root.join("tools/socket"))),
    ("DATAGRAM_SOCKET", |host, world| host.receive_at(world.home().join("letters/datagrams"))),
    ("DATAGRAMS_INSIDE", |host, world| host.receive_at(world.workspace().join("datagrams"))),
    ("ATTRIBUTES", |_, world| {
        let path = world.home().join("letters/plan.txt");
        let flags = rustix::fs::XattrFlags::empty();
        rustix::fs::setxattr(&path, "user.secret", SECRET.as_bytes(), flags).unwrap();
        path.display().to_string()
    }),
    ("ABSTRACT", |host, _| {
        let address = SocketAddr::from_abstract_name(&host.mark).unwrap();
        let listener = UnixListener::bind_addr(&address).unwrap();
        host.hear_unix(listener);
        host.mark.clone()
    }),
    ("LEFT_FILE", |host, world| {
        host.leave_open(fs::File::open(world.home().join(".ssh/id_key")).unwrap())
    }),
    ("LEFT_FOLDER", |host, world| {
        host.leave_open(fs::File::open(world.home().join("letters")).unwrap())
    }),
    ("LEFT_WRITABLE", |host, world| {
        let note = world.home().join("letters/note");
        host.leave_open(fs::File::options().append(true).open(note).unwrap())
    }),
    ("LEFT_SOCKET", |host, _| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut far, _) = listener.accept().unwrap();
        far.set_nonblocking(true).unwrap();
        host.hear(move |heard| far.read(heard));
        host.leave_open(near)
    }),
    ("LEFT_PAIR", |host, _| {
        let (near, mut far) = UnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        host.hear(move |heard| far.read(heard));
        host.leave_open(near)
    }),
    ("LEFT_LISTENER", |host, _| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.write_all(SECRET.as_bytes()).unwrap();
        host.leave_open(client);
        host.leave_open(listener)
    }),
    ("TERMINAL", |host, _| {
        let pair = nix::pty::openpty(None, None).unwrap();
        let path = fs::read_link(format!("/proc/self/fd/{}", pair.slave.as_raw_fd())).unwrap();
        fcntl_setfl(&pair.master, OFlags::NONBLOCK | OFlags::RDWR).unwrap();
        let mut master = fs::File::from(pair.master);
        let slave = pair.slave;
        host.hear(move |heard| {
            let _open = slave.as_fd();
            master.read(heard)
        });
        path.display().to_string()
    }),
    ("KEY_NUMBER", |host, _| tool(&["key-add", &host.mark, SECRET]).unwrap()),
    ("SHM", |_, _| tool(&["shm-make", SECRET]).unwrap()),
    ("QUEUE", |host, _| {
        let name = format!("/{}", host.mark);
        tool(&["queue-make", &name, SECRET]).unwrap();
        name
    }),
    ("HANDLE", |_, world| {
        tool(&["handle-of", world.home().join(".ssh/id_key").to_str().unwrap()]).unwrap()
    }),
    ("HOST_TMP", |host, _| host.file_in(std::env::temp_dir())),
    ("HOST_SHM", |host, _| host.file_in("/dev/shm".into())),
    ("KNOCKED_AT", |_, _| {
        // Free until a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        thread::spawn(move || {
            for _ in 0..60 {
                thread::sleep(Duration::from_millis(50));
                if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                    return;
                }
            }
        });
        port.to_string()
    }),
    ("SET_USER_ID", |_, _| users::prepared("setuid").display().to_string()),
];

impl Host {
    fn listen(&mut self, address: &str) -> String {
        let listener = TcpListener::bind(address).unwrap();
        let port = listener.local_addr().unwrap().port();
        listener.set_nonblocking(true).unwrap();
        self.hear(move |heard| {
            let (mut from, _) = listener.accept()?;
            from.set_nonblocking(true)?;
            from.read(heard)
        });
        port.to_string()
    }

    fn listen_at(&mut self, path: PathBuf) -> String {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        self.hear_unix(UnixListener::bind(&path).unwrap());
        path.display().to_string()
    }

    fn receive_at(&mut self, path: PathBuf) -> String {
        let socket = UnixDatagram::bind(&path).unwrap();
        socket.set_nonblocking(true).unwrap();
        self.hear(move |heard| socket.recv(heard));
        path.display().to_string()
    }

    fn hear_unix(&mut self, listener: UnixListener) {
        listener.set_nonblocking(true).unwrap();
        self.hear(move |heard| {
            let (mut from, _) = listener.accept()?;
            from.set_nonblocking(true)?;
            from.read(heard)
        });
    }

    fn file_in(&mut self, folder: PathBuf) -> String {
        let path = folder.join(&self.mark);
        fs::write(&path, SECRET).unwrap();
        self.temporary.push(path.clone());
        path.display().to_string()
    }
}

impl Host {
    /// A proxy that reads names as carelessly as some do, so that requests which abuse that can be seen to work.
    pub(crate) fn serve_naive_proxy(&mut self, wanted: bool) {
        if !wanted {
            return;
        }
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        self.variables.push(("http_proxy", format!("http://{address}")));
        thread::spawn(move || {
            for client in listener.incoming().take(4).flatten() {
                let _ = forward(client);
            }
        });
    }
}

fn forward(mut client: TcpStream) -> std::io::Result<()> {
    let mut head = [0; 4096];
    let length = client.read(&mut head)?;
    let head = String::from_utf8_lossy(&head[..length]).into_owned();
    let target = head.split(' ').nth(1).unwrap_or_default();
    let target = target.strip_prefix("http://").unwrap_or(target);
    let authority = target.split('/').next().unwrap_or_default();
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let (host, port) = authority.rsplit_once(':').unwrap_or((authority, "80"));
    // As a C string: it ends at the first NUL.
    let host = host.split('\0').next().unwrap_or_default().trim_matches(['[', ']']);
    let mut upstream = TcpStream::connect((host, port.parse().unwrap_or(80)))?;
    if head.starts_with("CONNECT") {
        client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
        std::io::copy(&mut client, &mut upstream)?;
        return Ok(());
    }
    upstream.write_all(head.as_bytes())
}
