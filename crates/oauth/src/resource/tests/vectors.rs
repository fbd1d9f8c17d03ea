//! Keys and signatures that another implementation made: the `crypto` module of Node.js.

/// Claims of all signatures.
pub(super) const CLAIMS: &str = "\
     eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJhdWQiOiJodHRwczovL2dhdGUuZXhhbXBsZS9tY3AiLCJleHAiOjQxMDI0NDQ4\
     MDAsInN1YiI6ImFsaWNlIn0";

/// A key of 2048 bits.
pub(super) const RSA: &str = r#"{"kty":"RSA",
    "n":"vuqMDXHsJu5cR2ChJ26g2E2L5j2MALirmpRSwa-fx984zxesOf5wvidkGABGdgANS6j04ax6xs--mr_6fgyZr-VmZ5MyeQqM1xkutP6-8FP88RGvavskDr9f3PAzWVQ8psq29aD0nduTP1X8MhYPsw0m3_VTw_CQ_wjR-rUKue9MHy2mJY9KIOkcdPJx8L-nGnzLLUdfQnvxDhodhliPtEgsl0xUbr2vjWKIS4-vP9-sHYwv8TJLluL8YcO6GQoJRuNUzSU5lUJ2LUeoPnvlNrzMlboKY0cJ4hGd1GGZed_Vf8hxs8M0Vp-nNj1qcbnPzvJAU2r2dViRZkCNKZ2fwQ",
    "e":"AQAB"}"#;

/// A key of 1024 bits, which could be broken.
pub(super) const WEAK_RSA: &str = r#"{"kty":"RSA",
    "n":"zp-ADzr0IP9WLBu5hLdConWWOKuOVUtvnBzLhVxVW0raTohuK3RdzcxaMynMFeivyqfDWQGhA8lb2gBXi-JuxYB4GAHd6SkrH2At1xbZ0zO-PIBxG6NpspEj31elbpLGhsZeNW6jHj96TcreEB_L_aAW2iwv_kQv-cx3fKxYHR0",
    "e":"AQAB"}"#;

/// A key on P-256.
pub(super) const P256: &str = r#"{"kty":"EC",
    "x":"jf_Wqo8rboOlnmijNpVVfsqvQE61_vaLlyz8Ox5AFNM",
    "y":"MKATw_xmLqbFyv2lZ0FjVKQ7xlxj4NxX__VFsGky2-Y",
    "crv":"P-256"}"#;

/// A key on P-384.
pub(super) const P384: &str = r#"{"kty":"EC",
    "x":"Rmp-7okpGtxKd2uzDzeVC6ATOm4o_oM5jykN90yMUqqFoxc5i-fx91kFhqtoRQLH",
    "y":"PyLDZTyQfeWuGqgnzHjoyaXBF7eXwB4ZSjsi7a1ZHkAEd0cGVDaUHNxEACwiQO9e",
    "crv":"P-384"}"#;

/// A key on P-521, which is not supported.
pub(super) const P521: &str = r#"{"kty":"EC",
    "x":"AL4m9b7yPOvgAKe59l3KS2mli2wA6mfoXL9LlZxk6Pg2GKOei5vk8J_ZUqpy-so5RDeaKTVnENUxEIN_zBqzuLes",
    "y":"AblsgfuPcQUppSk_mhPgQwxqnHfrgG4P7AP0BzYKLsk7praJNo4g1ws5oT4TrGK3SNfezMXWxdjy-IcIqpdVKd8i",
    "crv":"P-521"}"#;

/// A key on Ed25519.
pub(super) const ED25519: &str = r#"{"crv":"Ed25519",
    "x":"fflWIeAv_1F7K5moQDFf_weKahKMou3oqHQgaXrFqbI",
    "kty":"OKP"}"#;

/// Valid signatures: the algorithm, the key, the signature.
pub(super) const SIGNATURES: [(&str, &str, &str); 9] = [
    (
        "RS256",
        RSA,
        "\
     ZI9DgQRLQ1adjABYNBSnGfiP8ndxgqcrJzrJ4GaKFA2O6uGCYqiSCi3GTQ3Ji717QXDcYVq_weRdCxGkefTUVcOAaiW1HFwzoWyW\
     WYCiko9UldjAFTj-15RtZ3sOuzDJYIEj8I9v6WHsPRiZsl-OT3g-hDJxeOFwidpe5Dd99RZWNiupIg0TBKQUSY35s5L3BmtRJDfL\
     nS1dO8b7tm9FwB1KS3JJZqqpdXSJpCEr_KJ3LyLpfACh9aV46Hl8Z8VtHPiwCHMtGwDwKDr5bwgbymcDVtjEFao3KrkEA1lC4yYA\
     pkKgIPW5Ju_ccfdteX9HkCwm5cLwwqPmzyMMbpodTA",
    ),
    (
        "RS384",
        RSA,
        "\
     vUu6GLM37P07a5rRbtosgrqGS55yQcqlCr5q3VWRCbH9Inh8etgf95Wf9q66jUxyoeAawSiBcqOryxpYkn8KoA0qWFXDw2RB67Lk\
     vJoc3wkYbd6LhrGUJV4DRofi9IKLFiBBNPkjCFV8l6R5IzfcjZ1xkPrWjsuCUcQS3M-01q3xBXgL3zO_uWW687Kci_NZQzwAE24M\
     VmiZszUbPvXSv38msN-z5bbkIRWwhfpw4Mp0sQZTQDL7XEPnU1lGaP-Y_BhIhZvVdA4QM-tvqU-rPGF-XdvVTkKA1N3xys0-cRqs\
     A_oaMzI-E2h4gkbQq2PYRDPHbrO9r1W2NwqFJsKQyg",
    ),
    (
        "RS512",
        RSA,
        "\
     CnoCDhCO8pUEQjTBr5mLXeBBZl1ALP81vm5D51x2mh4l047pob6kuMgraH6jKaDd_SBnq8u8QtLc46FbOLrh5mcYXvPixD6uDQbL\
     Laubar3-0GHoFUa9Q0dHuJQOxyW27gvNqKweJtg3KzPN0TtRfD3j_RisUnT3BHQSWIYyd4-LBVaqYIWqsJccixoXqoNQIgEl6TLB\
     yvN1GF0zybrqMJMOgUulqnt1AtB-GopuA3lPnmvkMjmDmMlvALk8Mz9wbl781xan5zUINBMZQOfvecIi2xQaQyNCv8w0MvI_v7_5\
     xyaHtokzLgzcUT42qUcvSk8byCj2iJBNcovcBaKFOw",
    ),
    (
        "PS256",
        RSA,
        "\
     SUPVcfXxKpQeV6Sr6tP1Pba3_-4TdJeQEiQuiJDEZpfO7rrAfATPcWGhBAnLA5XhEUHxQyndZSciewxzHdAxZ1u6i86TdSPSVCxn\
     xJuhKeQlwbMvl40zKekQkfdwOjBGamy-qNTQm9iWL8xKrBqW8Jknk1GjRLALGa1EQcgbM7ugLXlHMbyv6OgQtoyqr7WmBGhfYMP3\
     X8DSECgbdfo1jsJZqIloostfIqibykjQrUW9zmfhCOM7sQUL9tArbaaWMYPWWnubVHdFSPsXKl6r5cTGI82uiRV8hl4M-PbF-g7W\
     7vNH17lMY51Z2FjUks-ct7lekyuRkyvr-cJ0xkeEbQ",
    ),
    (
        "PS384",
        RSA,
        "\
     caCGqI9T8C19W4kenv3R-K51DRnvSCuupAFbafpTM1JkLBd2bqB9NAyMes19UtX7D_rYeM5Ayr0vPwAINa3Nli7jc1rnY3_gU4kw\
     puiwY_w36skW5N1lys6ySf4K3uVzjupHq27lHzN3MfwD7Wg9q9onVGS5iXYTp3aYYJQZc-dafKAkBhnJxPIUHev3nPDLq99qAHWX\
     NSkdkxlODElqReUUpSZhMTxeK8Om3MnTi2tQYMhg1R5VPDJM8FX6Ic2S4kHZgOjg-fXiRFL8AI6o06lwFB5Sln1-YSfUOY7hgBge\
     Ruy2PqFxZE2ulxDJqI2iLhb5poVuMpdPgO0mYdBF2Q",
    ),
    (
        "PS512",
        RSA,
        "\
     WpH-xaKDxWvGHV2XHE1VqE3yBYe3hKHhHO4J65E4swSec8nHQrqP7BpJOQh-ASIS4zSMfnHNDynVjeN1iz4zz-woeTWRoxhyjKYh\
     OXZVK9yC3-nhVoUrIJbSwSaLRjDH984PNbDla_o8Kt8vrwmcxnIS7k-d1G4kW5AYCxo9ijog5X8C5AVx3YbPeL64-LyGgfKBfvy0\
     KgqpwZFowzUTOPDBgKdHt1oPWGuyGYG1s5Qp8QBJB0hPBqJsggV1BDasXir423z4gGTUR0R4RON0sD9NYgtk8vsBU5EW7TRr97l5\
     f5Gkp2wMvCNE7U4I6aVUp8XFBp1V0107LSmFX_BmyQ",
    ),
    (
        "ES256",
        P256,
        "L3-cF32O2pC_fmABDiy66sqHVnlwprss0u_JiH3Adv4KmJGG7TInWWjZLC3S4adYvQRcmRTTj2OtZ_XzrHnemg",
    ),
    (
        "ES384",
        P384,
        "\
     1QVjbhr_2mqKskNA0nJedD_P3WNMBjC7EkkYqiJq_1UGaR-rvcFXvo6JsS1nYf1neTdVDj42b8cFomUsHqfIka_Q04nEP0Ev9pWy\
     -n30xCvxuMxqSnshznqBRyT_EL9h",
    ),
    (
        "EdDSA",
        ED25519,
        "ZPvQ4sqlBWq91yXg0J4uLEmwfy6mbUf5L1_DzHVy6NPXWgwOCuBHD848SXts4zMkY2rsQjeT3lXh1IkwFf4-Cw",
    ),
];

/// A signature with `RS256` and the key that could be broken.
pub(super) const WEAK_SIGNATURE: &str = "\
     POMGve6uiLdkyLKPKnDVEgETFNcoCDrkODcoCV7g_sHa-w8fXq-P4l5xyRKrnWT_UnLqLGD5-MHFnk7R8uppIktc7Q5QMYu8V0jV\
     adU_UA13lmXO_Ccr78TdzXYNQSsMU7sAK70npfidXRh_4Ja0vy9KmQsqXe57yptYSd8e9dc";

/// A signature with `ES256`, in the encoding of certificates instead of that of tokens.
pub(super) const DER_SIGNATURE: &str = "MEUCIBiJN1bKattGjLHtKfEYsyD1mLp-WYxHUvmwBUYdUPm8AiEAiQTibA1HvTNurFKnCvy-lXwpIZS8q8wcU2RwKtxnGHw";

/// A signature with `ES512`, which is not supported.
pub(super) const P521_SIGNATURE: &str = "\
     ANAp65bZHi0Cd6d9Ru-LKEkjFLz7Ki8GXkArXbjArsC2G47upyRGrbq9xkqiWxx9A4SkebbFTctdrp_NT6bEOj08AOYv2LiR4-Sn\
     MhgHvpIolycKFOUEDhdcKtcQVFlh_ls5Cav_Ku25lJKHM8aiS9AY3UCAIIKae6dc8drlGD2g7RMB";
