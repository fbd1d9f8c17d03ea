//! A typed client over any [`Service`](crate::Service).
