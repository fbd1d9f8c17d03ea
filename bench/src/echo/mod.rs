//! The echo tool, written once for each variant.

pub mod bare;
pub mod ours;
pub mod rmcp;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_mcp::transport::line::{LineConfig, serve};

    use crate::payload::{FIRST_ID, Request};

    #[tokio::test]
    async fn the_floor_answers_the_same_bytes_as_callgate() {
        let mut request = Request::line();
        let line = request.with_id(FIRST_ID);
        let mut floor = Vec::new();
        super::bare::Call::parse(line)
            .unwrap()
            .answer(&mut floor)
            .unwrap();
        floor.push(b'\n');
        let mut ours = Vec::new();
        let router = Arc::new(super::ours::router());
        serve(router, line, &mut ours, LineConfig::default())
            .await
            .unwrap();
        assert_eq!(String::from_utf8(ours), String::from_utf8(floor));
    }
}
