use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::{BufMut, Bytes, BytesMut};
use callgate_wire::legacy::batch::split;
use callgate_wire::{Frame, Id, Limits, RawJson, Version};

use super::client_request::{ClientRequest, Message, MessageKind, MessageSink, RequestOrigin};
use super::handshake::is_handshake;
use super::session::Session;
use crate::error::{Error, Kind};
use crate::mutex::Mutex;
#[cfg(feature = "http-server")]
use crate::server::CallerBudget;
use crate::service::BoxFuture;

/// Runs a JSON array of messages, which only 2025-03-26 has. Returns true if there will be a
/// response.
///
/// Notifications and questions go to `sink` as they come, the responses together at the end in one
/// array; those that exceed its limit become errors.
///
/// # Errors
/// The array is refused as a whole.
pub(crate) fn receive(
    session: &Arc<Session>,
    array: &Bytes,
    limits: &Limits,
    origin: &RequestOrigin,
    sink: Arc<dyn MessageSink>,
) -> Result<bool, Error> {
    let frames = read(session, array, limits)?;
    // Counted before any request runs: one that ends at once must not send the array without the others.
    let expected = frames.iter().filter(is_answered).count();
    let joined = Arc::new(BatchResponse {
        sink,
        state: Mutex::new(BatchState {
            missing: expected,
            responses: Vec::new(),
            bytes: 0,
        }),
    });
    for frame in frames {
        match frame {
            Ok(Frame::Notification(notification)) => {
                session.receive_notification(notification, origin);
            }
            Ok(Frame::Response(response)) => session.questions.answer(response),
            Ok(Frame::Request(request)) if is_handshake(&request) => {
                let message = "a handshake must not be part of a batch";
                let refused = Err(Error::new(Kind::InvalidRequest, message));
                BatchItem::of(&joined, None).push(Message::response(Some(&request.id), &refused));
            }
            Ok(Frame::Request(request)) => {
                let share = BatchItem::of(&joined, Some(request.id.clone()));
                let request = ClientRequest::new(request, origin.clone(), share.clone());
                if let Some(response) = session.start(request) {
                    share.push(response);
                }
            }
            Err(refusal) => BatchItem::of(&joined, None).push(refusal),
        }
    }
    Ok(expected > 0)
}

/// Splits the array into messages; an unreadable message gets a response of its own.
fn read(
    session: &Session,
    array: &Bytes,
    limits: &Limits,
) -> Result<Vec<Result<Frame, Message>>, Error> {
    let refuse = |message: String| Error::new(Kind::InvalidRequest, message);
    let spoken = session.version();
    if spoken != Version::V2025_03_26 {
        return Err(refuse(format!(
            "batches are not part of protocol version {spoken}"
        )));
    }
    let array = RawJson::parse(array.clone(), limits)
        .map_err(|error| Error::new(Kind::Parse, error.to_string()))?;
    let most = session.config.batch;
    let messages =
        split(&array, most).map_err(|_| refuse(format!("a batch may have {most} messages")))?;
    if messages.is_empty() {
        return Err(refuse("a batch must have a message".to_owned()));
    }
    let frame = |message: RawJson| {
        Frame::parse(&message.into_bytes(), limits).map_err(|error| {
            let refused = Error::rpc(
                &Arc::from(""),
                RawJson::encode(&error.to_rpc()).expect("an error is always JSON"),
            );
            Message::response(error.id.as_ref(), &Err(refused))
        })
    };
    Ok(messages.into_iter().map(frame).collect())
}

fn is_answered(frame: &&Result<Frame, Message>) -> bool {
    matches!(frame, Err(_) | Ok(Frame::Request(_)))
}

/// Maximum bytes of the responses of one batch; a single response may have more.
const MAX_BYTES: usize = 2 * 1024 * 1024;

/// Responses of a batch, until all are there.
struct BatchResponse {
    sink: Arc<dyn MessageSink>,
    state: Mutex<BatchState>,
}

struct BatchState {
    /// Number of requests that have neither been answered nor canceled.
    missing: usize,
    responses: Vec<Bytes>,
    bytes: usize,
}

/// Sink of one request of a batch.
struct BatchItem {
    joined: Arc<BatchResponse>,
    /// Id of the request, unless it is refused.
    id: Option<Id>,
    answered: AtomicBool,
}

impl BatchItem {
    fn of(joined: &Arc<BatchResponse>, id: Option<Id>) -> Arc<Self> {
        Arc::new(Self {
            joined: joined.clone(),
            id,
            answered: AtomicBool::new(false),
        })
    }

    /// True the first time: a request may be answered and dropped, but ends once.
    fn ends(&self) -> bool {
        // Relaxed: the first swap wins, and nothing else is ordered by it.
        !self.answered.swap(true, Ordering::Relaxed)
    }
}

impl MessageSink for BatchItem {
    fn push(&self, message: Message) {
        if message.kind != MessageKind::Response {
            return self.joined.sink.push(message);
        }
        if self.ends() {
            self.joined.end(Some((self.id.as_ref(), message.json)));
        }
    }

    fn has_room(&self) -> bool {
        self.joined.sink.has_room()
    }

    fn room(&self) -> BoxFuture<'_, ()> {
        self.joined.sink.room()
    }

    #[cfg(feature = "http-server")]
    fn unsent(&self) -> Option<&CallerBudget> {
        self.joined.sink.unsent()
    }

    fn carries_questions(&self) -> bool {
        self.joined.sink.carries_questions()
    }
}

impl Drop for BatchItem {
    fn drop(&mut self) {
        if self.ends() {
            self.joined.end(None);
        }
    }
}

impl BatchResponse {
    /// Ends one request; the last one sends the responses.
    fn end(&self, response: Option<(Option<&Id>, Bytes)>) {
        let mut state = self.state.lock();
        if let Some((id, json)) = response {
            let json = state.within_limit(id, json);
            state.responses.push(json);
        }
        state.missing = state.missing.saturating_sub(1);
        if state.missing > 0 || state.responses.is_empty() {
            return;
        }
        let responses = std::mem::take(&mut state.responses);
        drop(state);
        let message = Message {
            kind: MessageKind::Response,
            json: array(&responses),
        };
        // Each response was admitted, and all of them are dropped for the array.
        drop(responses);
        self.sink.push(message.counted(&*self.sink));
    }
}

impl BatchState {
    /// The response to the request `id`, or an error if it exceeds the limit.
    fn within_limit(&mut self, id: Option<&Id>, json: Bytes) -> Bytes {
        // Without a limit, one POST could have hundreds of large results wait for the last of them.
        let fits = self.bytes == 0 || self.bytes + json.len() <= MAX_BYTES;
        if id.is_none() || fits {
            self.bytes += json.len();
            return json;
        }
        let text = format!("the results of a batch may have {MAX_BYTES} bytes together");
        Message::response(id, &Err(Error::internal(text))).json
    }
}

fn array(elements: &[Bytes]) -> Bytes {
    let mut array = BytesMut::new();
    for (index, element) in elements.iter().enumerate() {
        array.put_u8(if index == 0 { b'[' } else { b',' });
        array.put_slice(element);
    }
    array.put_u8(b']');
    array.freeze()
}
