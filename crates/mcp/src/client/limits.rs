/// Limits on what a client accepts from a server, and on what it stores.
///
/// ```
/// # use callgate_mcp::client::ClientLimits;
/// let limits = ClientLimits::default().with_pages(10).with_cache_entries(0);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientLimits {
    /// Maximum pages of one list.
    pub pages: usize,
    /// Maximum bytes of one list, all pages together.
    pub list_bytes: usize,
    /// Maximum rounds in which one call may ask for input.
    pub input_rounds: usize,
    /// Maximum input requests in one round, or of one task.
    pub inputs: usize,
    /// Maximum tools whose output schemas are stored, and so checked; 0 checks none.
    pub output_schemas: usize,
    /// Maximum results in the cache; 0 turns the cache off.
    pub cache_entries: usize,
    /// Maximum bytes of the cached results and their parameters together.
    pub cache_bytes: usize,
}

impl Default for ClientLimits {
    fn default() -> Self {
        Self {
            pages: 1000,
            list_bytes: 64 * 1024 * 1024,
            input_rounds: 10,
            inputs: 32,
            output_schemas: 500,
            cache_entries: 256,
            cache_bytes: 8 * 1024 * 1024,
        }
    }
}

impl ClientLimits {
    /// Sets the maximum pages of one list.
    #[must_use]
    pub fn with_pages(mut self, pages: usize) -> Self {
        self.pages = pages;
        self
    }

    /// Sets the maximum bytes of one list.
    #[must_use]
    pub fn with_list_bytes(mut self, bytes: usize) -> Self {
        self.list_bytes = bytes;
        self
    }

    /// Sets the maximum rounds of input of one call.
    #[must_use]
    pub fn with_input_rounds(mut self, rounds: usize) -> Self {
        self.input_rounds = rounds;
        self
    }

    /// Sets the maximum input requests in one round, or of one task.
    #[must_use]
    pub fn with_inputs(mut self, inputs: usize) -> Self {
        self.inputs = inputs;
        self
    }

    /// Sets the maximum tools whose output is checked.
    #[must_use]
    pub fn with_output_schemas(mut self, tools: usize) -> Self {
        self.output_schemas = tools;
        self
    }

    /// Sets the maximum results in the cache.
    #[must_use]
    pub fn with_cache_entries(mut self, entries: usize) -> Self {
        self.cache_entries = entries;
        self
    }

    /// Sets the maximum bytes of the cache.
    #[must_use]
    pub fn with_cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }
}
