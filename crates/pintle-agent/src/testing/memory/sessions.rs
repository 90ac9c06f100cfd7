//! Conversations in memory.

use futures_util::future::FutureExt;

use super::{Access, MemoryStore, Tables, now};
use crate::{
    Message,
    run::new_id,
    store::{
        Claim, Conversation, NewMessage, NewSession, Session, Sessions, StoreError, Stored,
        StoredMessage, Summary,
    },
};

impl Sessions for MemoryStore {
    fn open(&self, new: NewSession) -> Stored<'_, Session> {
        self.write(|tables| {
            let fits = |it: &&Session| it.key == new.key && it.parent == new.parent;
            let newest = tables.sessions.iter().rev().find(fits).cloned();
            Ok(newest.unwrap_or_else(|| insert(tables, new)))
        })
    }

    fn create(&self, new: NewSession) -> Stored<'_, Session> {
        self.write(|tables| Ok(insert(tables, new)))
    }

    fn session(&self, id: &str) -> Stored<'_, Option<Session>> {
        self.read(|tables| tables.session(id).cloned())
    }

    fn sessions(&self) -> Stored<'_, Vec<Session>> {
        self.read(|tables| tables.sessions.iter().rev().cloned().collect())
    }

    fn history(&self, id: &str) -> Stored<'_, Vec<StoredMessage>> {
        let (delay, id) = (self.delay(Access::History), id.to_owned());
        async move {
            delay.await;
            let tables = self.tables();
            match tables.session(&id) {
                Some(_) => Ok(tables.messages.get(&id).cloned().unwrap_or_default()),
                None => Err(StoreError::NoSuchSession(id)),
            }
        }
        .boxed()
    }

    fn conversation(&self, id: &str) -> Stored<'_, Conversation> {
        let (all, id) = (self.history(id), id.to_owned());
        async move {
            let mut messages = all.await?;
            let summary = self.tables().summaries.get(&id).cloned();
            let covered = summary.as_ref().map_or(0, |summary: &Summary| summary.covers);
            let covered = usize::try_from(covered).unwrap_or(usize::MAX).min(messages.len());
            messages.drain(..covered);
            Ok(Conversation { summary, messages })
        }
        .boxed()
    }

    fn newest_message(&self, id: &str) -> Stored<'_, Option<StoredMessage>> {
        let all = self.history(id);
        async move { Ok(all.await?.pop()) }.boxed()
    }

    fn has_messages_of(&self, id: &str, run_id: &str) -> Stored<'_, bool> {
        self.read(|tables| {
            let mut messages = tables.messages.get(id).into_iter().flatten();
            messages.any(|stored| stored.run_id == run_id)
        })
    }

    fn set_summary(&self, claim: &Claim, summary: Summary) -> Stored<'_, ()> {
        self.fenced(claim, |tables, id| {
            tables.summaries.insert(id.to_owned(), summary);
            Ok(())
        })
    }

    fn append(&self, claim: &Claim, messages: Vec<NewMessage>) -> Stored<'_, ()> {
        let (delay, token) = (self.delay(Access::Append(&messages)), claim.token().clone());
        async move {
            delay.await;
            let mut tables = self.tables();
            tables.fence(&token)?;
            append(&mut tables, &token.session_id, messages);
            Ok(())
        }
        .boxed()
    }

    fn set_personality(&self, claim: &Claim, personality: &str) -> Stored<'_, ()> {
        self.fenced(claim, |tables, id| {
            if let Some(session) = tables.sessions.iter_mut().find(|session| session.id == id) {
                session.personality = Some(personality.to_owned());
            }
            Ok(())
        })
    }

    fn delete(&self, claim: &Claim) -> Stored<'_, ()> {
        self.fenced(claim, |tables, id| {
            tables.sessions.retain(|session| session.id != id);
            tables.messages.remove(id);
            tables.summaries.remove(id);
            tables.claims.remove(id);
            tables.approvals.retain(|approval| approval.session_id != id);
            tables.calls.retain(|row| row.call.session_id != id);
            tables.rules.retain(|(_, rule)| rule.session_id != id);
            tables.runs.retain(|run| run.session_id != id);
            let Tables { runs, events, .. } = tables;
            events.retain(|run_id, _| runs.iter().any(|run| run.run_id == *run_id));
            Ok(())
        })
    }
}

fn append(tables: &mut Tables, id: &str, messages: Vec<NewMessage>) {
    let now = now();
    if messages.iter().any(|new| matches!(new.message, Message::ToolResults { .. })) {
        tables.settle_calls(id);
    }
    if let Some(session) = tables.sessions.iter_mut().find(|session| session.id == id)
        && !messages.is_empty()
    {
        session.message_count += u64::try_from(messages.len()).unwrap_or(u64::MAX);
        session.updated_at = session.updated_at.max(now);
    }
    let stored = |NewMessage { run_id, message }| StoredMessage { run_id, at: now, message };
    tables.messages.entry(id.to_owned()).or_default().extend(messages.into_iter().map(stored));
}

fn insert(tables: &mut Tables, new: NewSession) -> Session {
    let now = now();
    let session = Session {
        id: new_id(),
        key: new.key,
        platform: new.platform,
        personality: new.personality,
        parent: new.parent,
        created_at: now,
        updated_at: now,
        message_count: 0,
    };
    tables.sessions.push(session.clone());
    session
}
