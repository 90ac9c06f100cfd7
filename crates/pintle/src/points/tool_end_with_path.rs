//! `tool_end_with_path`.

use crate::{Void, point};

point! {
    /// After a tool call whose arguments name a path: the first of `path`, `file_path`, `filePath`, `cwd` that is
    /// not empty.
    ///
    /// **Answer**: nothing. It only observes.
    ///
    /// **Failure**: a handler that fails is recorded; the other handlers finish and the fire succeeds. Registered
    /// fail-closed, the others finish and the fire returns an error naming it.
    ///
    /// **Time**: as long as its deadline, if it has one; the fire waits for all of them.
    ///
    /// # Example
    /// ```
    /// use pintle::{Event, Hooks, points::ToolEndWithPath};
    ///
    /// let hooks = Hooks::new();
    /// hooks.register_void(async |e: Event<ToolEndWithPath>| {
    ///     println!("{} touched {}", e.tool_name, e.file_path);
    /// })?;
    /// # Ok::<(), pintle::RegisterError>(())
    /// ```
    pub struct ToolEndWithPath = "tool_end_with_path": Void, tool = tool_name {
        /// The name of the tool.
        pub tool_name: String,
        /// The path, as the arguments name it.
        pub file_path: String,
        /// The folder a relative path starts from.
        pub working_dir: String,
    }
}
