//! A typed server: tools, prompts and resources as plain async functions.
