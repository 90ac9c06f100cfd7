//! From a server's answer to text for the model.

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::capture::{KEPT_HALF, cut};

/// All text in the answer, with a remark where there is something that is not text.
pub(super) fn text(result: &CallToolResult) -> String {
    let parts: Vec<String> = result.content.iter().map(part).collect();
    let text = match (&result.structured_content, parts.is_empty()) {
        // A server that has structured content repeats it as text, as the protocol asks, or sends only it.
        (Some(structured), true) => structured.to_string(),
        _ => parts.join("\n"),
    };
    cut(&text, KEPT_HALF)
}

fn part(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => {
                format!("[resource {uri}]\n{text}")
            }
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                let kind = mime_type.as_deref().unwrap_or("binary");
                format!("[resource {uri}]\n{}", left_out("content", kind, blob))
            }
            _ => "[resource of an unknown kind]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[resource {}: {}]", link.name, link.uri),
        _ => "[content of an unknown kind]".into(),
    }
}

fn left_out(what: &str, kind: &str, base64: &str) -> String {
    format!("[{what} of type {kind}, {} bytes as base64, left out]", base64.len())
}
