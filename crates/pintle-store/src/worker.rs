//! The thread that owns the connection, and the queue in front of it.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use pintle_agent::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::{Fault, failed};
use crate::group::{self, Task, Write};
use crate::open;
use crate::process_lock::ProcessLock;
use crate::record_queue::RecordQueue;

/// How many queued jobs are looked at before the writes among them are committed.
const BATCH: usize = 256;
/// How long records wait for others before they are written together.
const RECORD_DELAY: Duration = Duration::from_millis(100);

enum Job {
    Read(Box<dyn FnOnce(&Connection) + Send>),
    Write(Box<dyn Write>),
    /// Records wait in their queue: write them soon.
    RecordsWait,
    /// Write the waiting records now, and say when done.
    FlushRecords(Option<oneshot::Sender<()>>),
    /// Finish what is queued, close the database, say so, and end.
    Stop(oneshot::Sender<()>),
}

/// The handle of the thread. Dropping it finishes the queued work and waits for the thread.
#[derive(Debug)]
pub(crate) struct Worker {
    path: Arc<Path>,
    records: Arc<RecordQueue>,
    /// Taken on drop: the thread ends when the last sender is gone.
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    /// Created with the first claim. It is dropped after the thread has written that the claims are released.
    process_lock: Mutex<Option<Arc<ProcessLock>>>,
}

impl Worker {
    /// Starts the thread and opens the database on it, so that a slow disk never holds up the caller's runtime.
    pub(crate) async fn start(
        path: PathBuf,
        busy_timeout: Duration,
        records: RecordQueue,
    ) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.into();
        let records = Arc::new(records);
        let (jobs, queue) = mpsc::channel();
        let (opened, ready) = oneshot::channel();
        let thread = thread::Builder::new().name("pintle-store".to_owned()).spawn({
            let (path, records) = (Arc::clone(&path), Arc::clone(&records));
            move || match open::open(&path, busy_timeout) {
                Ok(conn) => {
                    let _ = opened.send(Ok(()));
                    work(conn, &path, &records, &queue);
                }
                Err(error) => {
                    let _ = opened.send(Err(error));
                }
            }
        });
        let thread =
            thread.map_err(|error| failed("starting the database thread", error.to_string()))?;
        let worker = Self {
            path,
            records,
            jobs: Some(jobs),
            thread: Some(thread),
            process_lock: Mutex::default(),
        };
        ready.await.unwrap_or_else(|_| Err(worker.gone("opening the database")))?;
        Ok(worker)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn records(&self) -> &RecordQueue {
        &self.records
    }

    /// Runs a query against one consistent state of the database.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let path = Arc::clone(&self.path);
        let job = move |conn: &Connection| {
            let result = conn
                .unchecked_transaction()
                .map_err(Fault::from)
                .and_then(|snapshot| work(&snapshot));
            let _ = reply.send(result.map_err(|fault| fault.explain(&path, doing)));
        };
        self.send(Job::Read(Box::new(job)));
        answer.await.unwrap_or_else(|_| Err(self.gone(doing)))
    }

    /// Runs a change, all of it or nothing, and returns when it is on the disk. Once queued it is carried out even
    /// if the caller stops waiting.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        self.send(Job::Write(Box::new(Task::new(doing, work, reply))));
        answer.await.unwrap_or_else(|_| Err(self.gone(doing)))
    }

    /// Like [`Worker::write`], without waiting for the result.
    pub(crate) fn write_later(
        &self,
        doing: &'static str,
        work: impl FnOnce(&Connection) -> Result<(), Fault> + Send + 'static,
    ) {
        let (reply, _) = oneshot::channel();
        self.send(Job::Write(Box::new(Task::new(doing, work, reply))));
    }

    /// The lock by which other processes see that this one is alive.
    pub(crate) fn process_lock(&self, folder: &Path) -> std::io::Result<Arc<ProcessLock>> {
        let mut lock = self.process_lock.lock().unwrap_or_else(PoisonError::into_inner);
        match &*lock {
            Some(lock) => Ok(lock.clone()),
            None => Ok(lock.insert(Arc::new(ProcessLock::new(folder)?)).clone()),
        }
    }

    /// Tells the thread that records wait; `urgent` when their queue fills up.
    pub(crate) fn wake_for_records(&self, urgent: bool) {
        self.send(if urgent { Job::FlushRecords(None) } else { Job::RecordsWait });
    }

    /// Returns when every record given so far was written or counted as lost.
    pub(crate) async fn flush_records(&self) {
        let (reply, done) = oneshot::channel();
        self.send(Job::FlushRecords(Some(reply)));
        let _ = done.await;
    }

    /// Finishes the queued work and ends the thread, without blocking the thread of the caller.
    pub(crate) async fn stop(&self) {
        let (reply, done) = oneshot::channel();
        self.send(Job::Stop(reply));
        let _ = done.await;
    }

    fn send(&self, job: Job) {
        // When the thread is gone the job is dropped, and with it the reply: the caller's wait ends with `gone`.
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
    }

    fn gone(&self, doing: &'static str) -> StoreError {
        failed(doing, format!("the store {} is closed. Open it again", self.path.display()))
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The loop of the thread: takes the queued jobs, answers reads at once, and commits the writes together.
///
/// A read may overtake a write that waits beside it; the caller of such a write has no answer yet.
fn work(conn: Connection, path: &Path, records: &RecordQueue, queue: &Receiver<Job>) {
    let mut records_due: Option<Instant> = None;
    let mut stop = None;
    while stop.is_none() {
        let mut next = match wait(queue, records_due) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        let mut writes = Vec::new();
        let mut flush = None;
        let mut taken = 0;
        while let Some(job) = next.take() {
            match job {
                Job::Read(read) => read(&conn),
                Job::Write(write) => writes.push(write),
                Job::RecordsWait => {
                    records_due = records_due.or(Some(Instant::now() + RECORD_DELAY))
                }
                // Jobs queued before these two are done before the two are answered.
                Job::FlushRecords(reply) => {
                    flush = Some(reply);
                    break;
                }
                Job::Stop(reply) => {
                    stop = Some(reply);
                    break;
                }
            }
            taken += 1;
            if taken < BATCH {
                next = queue.try_recv().ok();
            }
        }
        group::commit(&conn, path, writes);
        if flush.is_some() || records_due.is_some_and(|due| due <= Instant::now()) {
            records.write(&conn, path);
            records_due = None;
        }
        if let Some(Some(reply)) = flush {
            let _ = reply.send(());
        }
    }
    records.write(&conn, path);
    // Closing moves the log into the database when no other process has it open; a failure leaves the log for the next one.
    drop(conn);
    if let Some(reply) = stop {
        let _ = reply.send(());
    }
}

fn wait(queue: &Receiver<Job>, due: Option<Instant>) -> Result<Job, RecvTimeoutError> {
    match due {
        Some(due) => queue.recv_timeout(due.saturating_duration_since(Instant::now())),
        None => queue.recv().map_err(|_| RecvTimeoutError::Disconnected),
    }
}
