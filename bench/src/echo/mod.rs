//! The measured tools, written once for each variant.

pub mod bare;
pub mod ours;
pub mod rmcp;

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use callgate_mcp::transport::line::{LineConfig, serve};

    use super::bare::Message;
    use crate::payload::{FIRST_ID, Request};
    use crate::workload::{Era, Shape};

    #[tokio::test]
    async fn the_floor_answers_the_same_bytes_as_callgate() {
        for shape in Shape::ALL {
            let mut request = Request::line(Era::Stateless, shape);
            let line = request.with_id(FIRST_ID);
            let mut floor = Vec::new();
            let Message::Call(call) = Message::parse(line, Era::Stateless).unwrap() else {
                panic!("no call");
            };
            call.answer(&mut floor).unwrap();
            floor.push(b'\n');
            let mut ours = Vec::new();
            let router = Arc::new(super::ours::router());
            serve(router, line, &mut ours, LineConfig::default())
                .await
                .unwrap();
            assert_eq!(String::from_utf8(ours), String::from_utf8(floor));
        }
    }
}
