use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::{Answer, document, page};

/// Credentials of a request to the MCP server.
#[derive(Debug, Clone, Copy)]
pub(super) struct Credentials<'a> {
    pub(super) authorization: Option<&'a str>,
    pub(super) proof: Option<&'a str>,
}

impl Ledger {
    /// The MCP server.
    pub(super) fn serve(
        &mut self,
        credentials: Credentials<'_>,
        body: &Bytes,
        base: &str,
    ) -> Answer {
        let scheme = if self.traits.binds { "DPoP" } else { "Bearer" };
        let metadata = format!("{base}/.well-known/oauth-protected-resource/mcp");
        let challenge = |error: &str, scope: &str| {
            format!("{scheme} resource_metadata=\"{metadata}\"{error}, scope=\"{scope}\"")
        };
        let granted = self.granted(scheme, credentials.authorization);
        let Some(granted) = granted else {
            return page(401, &[("www-authenticate", &challenge("", "basic"))]);
        };
        if self.traits.binds && !self.is_proven(credentials.proof, base) {
            let challenge = challenge(", error=\"use_dpop_nonce\"", "basic");
            let nonce = self.nonce.to_string();
            return page(
                401,
                &[("www-authenticate", &challenge), ("dpop-nonce", &nonce)],
            );
        }
        if !granted.split(' ').any(|it| it == self.traits.scope) {
            let challenge = challenge(", error=\"insufficient_scope\"", self.traits.scope);
            return page(403, &[("www-authenticate", &challenge)]);
        }
        let request: Value = serde_json::from_slice(body).unwrap();
        let result = json!({ "resultType": "complete", "tools": [] });
        let reply = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
        document(200, &reply)
    }

    /// Scopes of the presented token, if it is valid.
    fn granted(&mut self, scheme: &str, authorization: Option<&str>) -> Option<String> {
        let token = authorization?.strip_prefix(scheme)?.strip_prefix(' ')?;
        let access = self.access.get_mut(token)?;
        if let Some(uses) = &mut access.uses {
            *uses = uses.checked_sub(1)?;
        }
        Some(access.scope.clone())
    }

    /// Checks that the proof is new, for this request, and with the nonce. The signature is not
    /// checked.
    fn is_proven(&mut self, proof: Option<&str>, base: &str) -> bool {
        let claims = proof.and_then(|proof| proof.split('.').nth(1));
        let claims = URL_SAFE_NO_PAD.decode(claims.expect("there is a proof"));
        let claims: Value = serde_json::from_slice(&claims.unwrap()).unwrap();
        assert_eq!(claims["htm"], "POST");
        assert_eq!(claims["htu"], format!("{base}/mcp"));
        assert!(claims["ath"].is_string(), "{claims}");
        let is_new = self.proofs.insert(claims["jti"].to_string());
        assert!(is_new, "{claims}");
        claims["nonce"].as_str() == Some(self.nonce.to_string().as_str())
    }
}
