//! What one plugin may see and do: asked for by its manifest and granted by the operator.

use std::{borrow::Cow, collections::BTreeSet};

use pintle::{DynEvent, Envelope, PointInfo};
use pintle_policy::Zone;
use serde_json::{Map, Value};

use crate::capability::{Capability, Grants, PATCH_RIGHTS};

/// The capabilities that a plugin has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rights {
    has: BTreeSet<Capability>,
}

/// Fields that say that something happened and not what was said. Every other field of a payload of the catalogue is
/// conversation: a field that is new there stays closed until it is listed here.
const OPEN_FIELDS: [&str; 27] = [
    "assignee",
    "autonomyTier",
    "chatId",
    "childSessionId",
    "durationMs",
    "filePath",
    "finishReason",
    "from",
    "messageId",
    "model",
    "ok",
    "outcome",
    "requestId",
    "resumed",
    "successRatio",
    "successfulToolCalls",
    "taskId",
    "to",
    "toolCallId",
    "toolName",
    "toolNames",
    "totalToolCalls",
    "turnCount",
    "turnNumber",
    "usage",
    "workingDir",
    "platform",
];

impl Rights {
    pub(crate) fn new(asked: &[Capability], grants: &Grants) -> Self {
        Self { has: asked.iter().filter(|it| grants.allows(it)).cloned().collect() }
    }

    /// Whether it has a capability.
    #[must_use]
    pub fn has(&self, capability: &Capability) -> bool {
        self.has.contains(capability)
    }

    /// Every capability that it has.
    pub fn iter(&self) -> impl Iterator<Item = &Capability> {
        self.has.iter()
    }

    /// The zone of its process.
    #[must_use]
    pub fn zone(&self) -> Zone {
        let zones = self.has.iter().filter_map(|it| match it {
            Capability::Zone(zone) => Some(*zone),
            _ => None,
        });
        zones.max().unwrap_or(Zone::Safe)
    }

    /// The keys of the patch that it may set at a point.
    pub(crate) fn keys(&self, point: &PointInfo) -> Vec<&'static str> {
        if self.has_patch_right(&format!("amend:{}", point.name)) {
            return point.capabilities.to_vec();
        }
        let rights = PATCH_RIGHTS
            .iter()
            .filter(|it| it.point == point.name && self.has_patch_right(it.name));
        rights.flat_map(|right| right.keys.iter().copied()).collect()
    }

    fn has_patch_right(&self, name: &str) -> bool {
        self.has.iter().any(|it| matches!(it, Capability::Patch(right) if right == name))
    }

    /// Whether it may be bound to a point at all.
    pub(crate) fn reaches(&self, point: &PointInfo) -> bool {
        self.has(&Capability::Observe) || !self.keys(point).is_empty()
    }

    /// What it may see of a point, looked up once for all fires.
    pub(crate) fn view(&self, point: &PointInfo) -> View {
        let is_ours = pintle::Hooks::new().known_points().iter().any(|it| it.name == point.name);
        let keys = self.keys(point);
        let opened = PATCH_RIGHTS
            .iter()
            .filter(|it| it.point == point.name && self.has_patch_right(it.name));
        let opened: Vec<&str> = opened.flat_map(|right| right.opens.iter().copied()).collect();
        let sees_all = self.has(&Capability::ReadConversation) || !is_ours;
        let is_closed = |field: &&&str| !OPEN_FIELDS.contains(field) && !opened.contains(*field);
        let closed = match sees_all {
            true => Vec::new(),
            false => point.fields.iter().filter(is_closed).copied().collect(),
        };
        View { closed, keys }
    }
}

/// What a handler may see of its point.
#[derive(Debug, Clone)]
pub(crate) struct View {
    /// Fields of the payload that it does not get.
    closed: Vec<&'static str>,
    /// Keys of what was merged so far that it gets: those it may set.
    keys: Vec<&'static str>,
}

impl View {
    /// The event as its handler gets it.
    pub(crate) fn of(&self, mut event: DynEvent) -> DynEvent {
        if let Value::Object(merged) = &mut event.merged {
            merged.retain(|key, _| self.keys.contains(&key.as_str()));
        }
        if self.closed.is_empty() {
            return event;
        }
        let Value::Object(fields) = &*event.json else { return event };
        let open = fields.iter().filter(|(key, _)| !self.closed.contains(&key.as_str()));
        let cut: Map<String, Value> = open.map(|(key, it)| (key.clone(), it.clone())).collect();
        event.json = Value::Object(cut).into();
        event
    }
}

/// A request to a plugin that is not the fire of a point.
pub(crate) fn request(name: &'static str, context: Value) -> DynEvent {
    DynEvent::new(name, pintle::ModelKind::Void, Envelope::default(), context)
}

/// A text for an error, without an end.
pub(crate) fn cut(text: &str, most: usize) -> Cow<'_, str> {
    match text.char_indices().nth(most) {
        Some((end, _)) => Cow::Owned(format!("{}…", text.get(..end).unwrap_or_default())),
        None => Cow::Borrowed(text),
    }
}
